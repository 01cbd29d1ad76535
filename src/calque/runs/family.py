"""More than two languages: maps of every pair, one map per language into a shared space, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from torch import Tensor

from calque.data.space import Space
from calque.errors import RunError, SettingsError, file_path
from calque.linear.maps import Side, map_space
from calque.runs.alignment import Alignment, Record, side_from
from calque.runs.folder import (
    FAMILY,
    FORMAT,
    naming_damage,
    one_line,
    read_config,
    read_json,
    read_lines,
    read_tensors,
    whole_folder,
    write_json,
    write_lines,
    write_tensors,
    write_text,
)
from calque.runs.model_card import family_card
from calque.verdict import Label, Verdict

Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Relation:
    """Two languages of a family: their maps both ways, and whether these can be trusted."""

    there: tuple[Side, Side]
    back: tuple[Side, Side]
    verdict: Verdict
    found: str
    """direct: by the pair's own search; others: by way of other languages; alone: not connected with the family."""


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
    """The CSLS penalty of each word of the second language when the first one asks."""

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
        labels = {"-".join(pair): relation.verdict.label for pair, relation in self.relations.items()}
        reasons = [f"{name} is left out: no trusted pair connects it with the others" for name in self.left_out]
        for worse in ("failed", "doubtful"):
            pairs = [pair for pair, label in labels.items() if label == worse]
            reasons += [f"{worse}: {', '.join(pairs)}"] if pairs else []
        label: Label = "aligned"
        if self.left_out or "failed" in labels.values():
            label = "failed"
        elif "doubtful" in labels.values():
            label = "doubtful"
        verdict = Verdict(label, tuple(reasons or [f"all {len(labels)} pairs are aligned"]), {"pairs": labels})
        return verdict.after_interruption() if self.record.interrupted else verdict

    def pair(self, source: str, target: str) -> Alignment:
        """Two of the languages as an alignment of their own."""
        for name in (source, target):
            if name not in self.spaces:
                raise SettingsError(f"no language is called {name!r} here; there are: {', '.join(self.names)}")
        if source == target:
            raise SettingsError(f"the pair is {source!r} twice; expected two languages of {', '.join(self.names)}")
        relation = self.relations.get((source, target))
        if relation is None and (target, source) in self.relations:
            turned = self.relations[target, source]
            relation = replace(turned, there=turned.back[::-1], back=turned.there[::-1])
        if relation is None:
            raise RunError(f"{source}-{target} has no maps: the run was interrupted before it came to that pair")
        spaces = self.spaces[source], self.spaces[target]
        alignment = Alignment.of(spaces, relation.there, relation.verdict, self.record, relation.back)
        for back, pair in ((False, (source, target)), (True, (target, source))):
            if pair in self.penalties:
                alignment.penalties["csls", back] = self.penalties[pair]
        return alignment

    def named_pair(self, text: str) -> Pair:
        """'es-en' as two languages of this family, whose names may hold a dash themselves."""
        for place, letter in enumerate(text):
            one, two = text[:place], text[place + 1 :]
            if letter == "-" and one in self.spaces and two in self.spaces:
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
        path = file_path(path)
        pairs = [
            {"languages": list(pair), "found": relation.found, "verdict": relation.verdict.as_json()}
            for pair, relation in self.relations.items()
        ]
        config = {
            "format": FORMAT,
            "kind": FAMILY,
            "languages": list(self.names),
            "into": self.into,
            **self.record.as_json(),
            "verdict": self.verdict.as_json(),
            "pairs": pairs,
            "triangles": [{"languages": list(three), "share": share} for three, share in self.triangles.items()],
        }
        with whole_folder(path, overwrite) as folder:
            write_json(folder / "config.json", config)
            write_tensors(folder / "maps.safetensors", _map_tensors(self))
            write_tensors(folder / "vectors.safetensors", _vector_tensors(self))
            for name, space in self.spaces.items():
                write_lines(folder / f"words.{name}.txt", space.words)
            write_lines(folder / "log.jsonl", map(one_line, self.record.log))
            write_text(folder / "README.md", family_card(config, path.resolve().name))

    @classmethod
    def load(cls, path: str | Path) -> Family:
        """The family in a run folder; a language is read when it is asked for."""
        folder = file_path(path)
        config, maps = read_config(folder, FAMILY), read_tensors(folder / "maps.safetensors")
        relations, shared = {}, {}
        with naming_damage(folder):
            names = [str(name) for name in config["languages"]]
            for pair in config["pairs"]:
                one, two = pair["languages"]
                there, back = (
                    (
                        side_from(maps, f"pairs/{one}/{two}/{way}/source/"),
                        side_from(maps, f"pairs/{one}/{two}/{way}/target/"),
                    )
                    for way in ("there", "back")
                )
                relations[one, two] = Relation(
                    there, back, Verdict.from_json(pair["verdict"], bool(config["interrupted"])), pair["found"]
                )
            for name in names:
                if any(key.startswith(f"shared/{name}/") for key in maps):
                    shared[name] = side_from(maps, f"shared/{name}/")
            triangles = {}
            for triangle in config["triangles"]:
                first, second, third = triangle["languages"]
                triangles[first, second, third] = triangle["share"]
            penalty_names = {f"csls/{one}/{two}": (one, two) for one in names for two in names if one != two}
            kept = read_tensors(folder / "vectors.safetensors", penalty_names)
            penalties = {penalty_names[key]: penalty for key, penalty in kept.items()}
            record = Record.from_json(config)
            return cls(LazySpaces(folder, names), shared, relations, triangles, record, config["into"], penalties)


def is_family(folder: Path) -> bool:
    """Whether a run folder holds a family of languages."""
    config = read_json(folder / "config.json")
    return isinstance(config, dict) and config.get("kind") == FAMILY


def open_pair(folder: Path, pair: str = "") -> Alignment:
    """The alignment in a run folder: the only one, or that of two languages of a family, such as 'fr-en'."""
    if not is_family(folder):
        if pair:
            raise RunError(f"{folder}: holds one pair already; leave --pair out")
        return Alignment.load(folder)
    family = Family.load(folder)
    if not pair:
        raise SettingsError(
            f"{folder}: holds {', '.join(family.names)}; name two of them, such as --pair {'-'.join(family.names[:2])}"
        )
    return family.pair(*family.named_pair(pair))


def _map_tensors(family: Family) -> dict[str, Tensor]:
    sides = {f"shared/{name}": side for name, side in family.shared_sides.items()}
    for (one, two), relation in family.relations.items():
        for way, (source, target) in (("there", relation.there), ("back", relation.back)):
            sides |= {f"pairs/{one}/{two}/{way}/source": source, f"pairs/{one}/{two}/{way}/target": target}
    return {f"{prefix}/{key}": tensor for prefix, side in sides.items() for key, tensor in side.tensors().items()}


def _vector_tensors(family: Family) -> dict[str, Tensor]:
    tensors = {f"vectors/{name}": space.vectors for name, space in family.spaces.items()}
    tensors |= {f"counts/{name}": space.counts for name, space in family.spaces.items() if space.counts is not None}
    return tensors | {f"csls/{one}/{two}": penalty for (one, two), penalty in family.penalties.items()}


class LazySpaces(Mapping[str, Space]):
    """The languages of a folder. Each is read when it is first asked for, since a pair needs two of perhaps fifty."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder, self.names = folder, list(names)
        self.read: dict[str, Space] = {}

    def __getitem__(self, name: str) -> Space:
        if name not in self.names:
            raise KeyError(name)
        if name not in self.read:
            tensors = read_tensors(self.folder / "vectors.safetensors", (f"vectors/{name}", f"counts/{name}"))
            words = tuple(read_lines(self.folder / f"words.{name}.txt"))
            with naming_damage(self.folder):
                self.read[name] = Space(words, tensors[f"vectors/{name}"], tensors.get(f"counts/{name}"), name)
        return self.read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
