"""More than two languages: maps of every pair, one map per language into a shared space, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from calque.data.space import Space
from calque.errors import RunError, SettingsError, SpaceError
from calque.linear.side import Side, map_space
from calque.runs import folder as store
from calque.runs.alignment import Alignment, Record, record_from
from calque.runs.model_card import family_card
from calque.verdict import Label, Verdict, verdict_from

Pair = tuple[str, str]
KIND = "family"
"""What config.json calls such a folder; that of a pair has no kind."""


@dataclass(frozen=True, eq=False)
class Relation:
    """Two languages of a family: how they are carried to each other, and whether that can be trusted."""

    there: tuple[Side, Side]
    back: tuple[Side, Side]
    verdict: Verdict
    found: str
    """direct: by the pair's own search; others: by way of other languages; alone: not connected with the family."""

    def turned(self) -> Relation:
        """The same with the second language as the source."""
        return replace(self, there=self.back[::-1], back=self.there[::-1])


@dataclass(frozen=True, eq=False)
class Family:
    """Several languages, every two of which translate each other, and which share one space."""

    spaces: Mapping[str, Space]
    """By name, as they were read."""
    shared_sides: Mapping[str, Side]
    """One map per language into the shared space; none for a language that nothing connects with the others."""
    relations: Mapping[Pair, Relation]
    """By pair, in the order in which the languages were given."""
    triangles: Mapping[tuple[str, str, str], float]
    """The share of words that find their way round, by three languages."""
    record: Record
    into: str = ""
    """The language whose own space the shared space is, where one was chosen."""
    penalties: dict[tuple[str, str], Tensor] = field(default_factory=dict, repr=False)
    """What CSLS holds against each word of the second language when the first one asks."""

    @property
    def names(self) -> tuple[str, ...]:
        """The languages, in the order in which they were given."""
        return tuple(self.spaces)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Languages that nothing connects with the others."""
        return tuple(name for name in self.names if name not in self.shared_sides)

    @cached_property
    def verdict(self) -> Verdict:
        """aligned: every pair is; failed: some language is left out, or some pair failed; else doubtful."""
        labels = {"-".join(pair): each.verdict.label for pair, each in self.relations.items()}
        reasons = [f"{name} is left out: no trusted pair connects it with the others" for name in self.left_out]
        for worse in ("failed", "doubtful"):
            some = [pair for pair, each in labels.items() if each == worse]
            reasons += [f"{worse}: {', '.join(some)}"] if some else []
        label: Label = "aligned"
        if self.left_out or "failed" in labels.values():
            label = "failed"
        elif "doubtful" in labels.values():
            label = "doubtful"
        return Verdict(label, tuple(reasons or [f"all {len(labels)} pairs are aligned"]), {"pairs": labels})

    def pair(self, source: str, target: str) -> Alignment:
        """Two of the languages as an alignment of their own."""
        relation = self._relation(source, target)
        made = Alignment.of(
            (self.spaces[source], self.spaces[target]), relation.there, relation.verdict, self.record, relation.back
        )
        for back, asked in ((False, (source, target)), (True, (target, source))):
            if asked in self.penalties:
                made.penalties["csls", back] = self.penalties[asked]
        return made

    def _relation(self, source: str, target: str) -> Relation:
        for name in (source, target):
            if name not in self.spaces:
                raise SettingsError(f"no language is called {name!r} here; there are: {', '.join(self.names)}")
        if source == target:
            raise SettingsError(f"the pair is {source!r} twice; expected two languages of {', '.join(self.names)}")
        if (source, target) in self.relations:
            return self.relations[source, target]
        if (target, source) in self.relations:
            return self.relations[target, source].turned()
        raise RunError(f"{source}-{target} has no maps: the run was interrupted before it came to that pair")

    def named_pair(self, text: str) -> Pair:
        """'es-en' as two languages of this family, whose names may hold a dash themselves."""
        places = [place for place, letter in enumerate(text) if letter == "-"]
        for one, two in ((text[:place], text[place + 1 :]) for place in places):
            if one in self.spaces and two in self.spaces:
                return one, two
        raise SettingsError(
            f"the pair is {text!r}; expected two of the languages {', '.join(self.names)} joined by a dash, "
            f"such as {'-'.join(self.names[:2])}"
        )

    def shared(self, name: str) -> Space:
        """A language in the shared space."""
        return map_space(self.spaces[name], self.shared_side(name))

    def shared_side(self, name: str) -> Side:
        """How a language gets into the shared space."""
        if name not in self.spaces:
            raise SettingsError(f"no language is called {name!r} here; there are: {', '.join(self.names)}")
        if name not in self.shared_sides:
            raise RunError(f"{name} is not in the shared space: no trusted pair connects it with the others")
        return self.shared_sides[name]

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write a run folder, whole or not at all."""
        with store.whole_folder(Path(path), overwrite) as folder:
            config = _config(self)
            store.write_json(folder / "config.json", config)
            store.write_tensors(folder / "maps.safetensors", _map_tensors(self))
            store.write_tensors(folder / "vectors.safetensors", _vector_tensors(self))
            for name, space in self.spaces.items():
                store.write_lines(folder / words_file(name), space.words)
            store.write_lines(folder / "log.jsonl", [store.one_line(event) for event in self.record.log])
            store.write_text(folder / "README.md", family_card(config, Path(path).resolve().name))

    @classmethod
    def load(cls, path: str | Path) -> Family:
        """The family in a run folder; a language is read when it is asked for."""
        folder = Path(path)
        config = store.read_json(folder / "config.json")
        store.check_format(folder, config)
        if config.get("kind") != KIND:
            raise RunError(f"{folder}: holds one pair, not a family of languages; open it as an alignment")
        maps = store.read_tensors(folder / "maps.safetensors")
        try:
            return _from_files(folder, config, maps)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(f"{folder}: the run folder is damaged or of another version: {error}") from error


def is_family(folder: Path) -> bool:
    """Whether a run folder holds a family."""
    config = store.read_json(folder / "config.json")
    return isinstance(config, dict) and config.get("kind") == KIND


def words_file(name: str) -> str:
    """Where the words of a language stand in the folder."""
    return f"words.{name}.txt"


def _config(family: Family) -> dict[str, Any]:
    return {
        "format": store.FORMAT,
        "kind": KIND,
        "languages": list(family.names),
        "into": family.into,
        **family.record.as_json(),
        "verdict": family.verdict.as_json(),
        "pairs": [
            {"languages": list(pair), "found": each.found, "verdict": each.verdict.as_json()}
            for pair, each in family.relations.items()
        ],
        "triangles": [{"languages": list(each), "share": share} for each, share in family.triangles.items()],
    }


def _shared_key(name: str) -> str:
    return f"shared/{name}"


def _prefixed(prefix: str, side: Side) -> dict[str, Tensor]:
    return {f"{prefix}/{key}": value for key, value in side.tensors().items()}


def _map_tensors(family: Family) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for name, side in family.shared_sides.items():
        tensors |= _prefixed(_shared_key(name), side)
    for (one, two), relation in family.relations.items():
        for way, sides in (("there", relation.there), ("back", relation.back)):
            for which, side in zip(("source", "target"), sides, strict=True):
                tensors |= _prefixed(f"pairs/{one}/{two}/{way}/{which}", side)
    return tensors


def _vector_tensors(family: Family) -> dict[str, Tensor]:
    tensors = {f"vectors/{name}": space.vectors for name, space in family.spaces.items()}
    tensors |= {f"counts/{name}": space.counts for name, space in family.spaces.items() if space.counts is not None}
    return tensors | {f"csls/{one}/{two}": each for (one, two), each in family.penalties.items()}


def _side(maps: Mapping[str, Tensor], prefix: str) -> Side:
    found = {key.removeprefix(f"{prefix}/"): each for key, each in maps.items() if key.startswith(f"{prefix}/")}
    if not found:
        raise ValueError(f"no map of {prefix!r} in it")
    return Side.from_tensors(found)


def _from_files(folder: Path, config: dict[str, Any], maps: dict[str, Tensor]) -> Family:
    names = [str(name) for name in config["languages"]]
    relations = {}
    for told in config["pairs"]:
        one, two = told["languages"]
        sides = {
            way: (_side(maps, f"pairs/{one}/{two}/{way}/source"), _side(maps, f"pairs/{one}/{two}/{way}/target"))
            for way in ("there", "back")
        }
        relations[one, two] = Relation(sides["there"], sides["back"], verdict_from(told["verdict"]), told["found"])
    kept = _Kept(folder, names)
    return Family(
        kept,
        {
            name: _side(maps, _shared_key(name))
            for name in names
            if any(key.startswith(f"{_shared_key(name)}/") for key in maps)
        },
        relations,
        {_three(each["languages"]): each["share"] for each in config["triangles"]},
        record_from(config),
        config["into"],
        kept.penalties(),
    )


def _three(names: Sequence[str]) -> tuple[str, str, str]:
    one, two, three = names
    return one, two, three


class _Kept(Mapping[str, Space]):
    """The languages of a folder, each read when it is first asked for: a pair needs two of fifty."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder, self.order = folder, list(names)
        self.read: dict[str, Space] = {}

    def __getitem__(self, name: str) -> Space:
        if name not in self.order:
            raise KeyError(name)
        if name not in self.read:
            some = store.read_some_tensors(self.folder / "vectors.safetensors", (f"vectors/{name}", f"counts/{name}"))
            words = tuple(store.read_lines(self.folder / words_file(name)))
            try:
                self.read[name] = Space(words, some[f"vectors/{name}"], some.get(f"counts/{name}"), name)
            except (KeyError, SpaceError) as error:
                raise RunError(f"{self.folder}: the run folder is damaged or of another version: {error}") from error
        return self.read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.order)

    def __len__(self) -> int:
        return len(self.order)

    def penalties(self) -> dict[Pair, Tensor]:
        """Those that were kept, by who asks whom."""
        wanted = {f"csls/{one}/{two}": (one, two) for one in self.order for two in self.order if one != two}
        found = store.read_some_tensors(self.folder / "vectors.safetensors", tuple(wanted))
        return {wanted[key]: each for key, each in found.items()}
