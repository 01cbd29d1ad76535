"""The model card that stands in every run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def model_card(config: Mapping[str, Any], name: str) -> str:
    """What was aligned, from what, how good by its own evidence, and how to load it."""
    verdict = config["verdict"]
    parts = [
        f"# {name}: an alignment of two word-vector spaces",
        _sentence(config),
        f"## Verdict: {verdict['label']}\n\n" + "\n".join(f"- {reason}" for reason in verdict["reasons"]),
        _inputs(config["inputs"]),
    ]
    if config["notes"]:
        parts.append("## Notes\n\n" + "\n".join(f"- {note}" for note in config["notes"]))
    parts += [_USE.format(name=name), _LIMITS]
    return "\n\n".join(parts) + "\n"


def family_card(config: Mapping[str, Any], name: str) -> str:
    """The same for several languages in one space."""
    verdict, languages = config["verdict"], config["languages"]
    parts = [
        f"# {name}: {len(languages)} word-vector spaces in one",
        _sentence(config),
        f"## Verdict: {verdict['label']}\n\n" + "\n".join(f"- {reason}" for reason in verdict["reasons"]),
        _pairs(config["pairs"]),
        _inputs(config["inputs"]),
    ]
    if config["notes"]:
        parts.append("## Notes\n\n" + "\n".join(f"- {note}" for note in config["notes"]))
    return "\n\n".join([*parts, _FAMILY_USE.format(name=name, one=languages[0], two=languages[1]), _LIMITS]) + "\n"


def _pairs(pairs: Sequence[Mapping[str, Any]]) -> str:
    rows = [f"| {'-'.join(each['languages'])} | {each['verdict']['label']} | {each['found']} |" for each in pairs]
    return "## Pairs\n\n| pair | verdict | found |\n|---|---|---|\n" + "\n".join(rows)


def _sentence(config: Mapping[str, Any]) -> str:
    seconds = sum(config["seconds"].values())
    return (
        f"Made by calque {config['versions'].get('calque', '')} with the recipe `{config['recipe'].get('name', '')}`, "
        f"seed {config['seed']}, on {config['device']}, in {seconds:.1f} s."
    )


def _inputs(inputs: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        f"| {side} | {each.get('name', '')} | {each.get('words', '')} | {each.get('dimension', '')} "
        f"| {'yes' if each.get('counts') else 'no'} | {str(each.get('sha256', ''))[:16]} |"
        for side, each in inputs.items()
    ]
    head = "| side | file | words | dimensions | counts | sha256 of words and vectors |\n|---|---|---|---|---|---|\n"
    return "## Inputs\n\n" + head + "\n".join(rows)


_USE = """## Use

```
calque translate {name} WORD
calque export {name} -o shared-space
```

```python
import calque

alignment = calque.Alignment.load("{name}")
alignment.translate(["word"], k=5)
```"""

_FAMILY_USE = """## Use

```
calque translate {name} --pair {one}-{two} WORD
calque export {name} -o shared-space
```

```python
import calque

family = calque.Family.load("{name}")
family.pair("{one}", "{two}").translate(["word"], k=5)
family.shared("{one}")
```"""

_LIMITS = """## Limits

The verdict is a judgement without labels: it says whether the two spaces were matched, not that every word is right.
Rare words, words of several meanings and words without a counterpart are translated worst. The confidences of
`calque lexicon` rank pairs; they are not calibrated probabilities."""
