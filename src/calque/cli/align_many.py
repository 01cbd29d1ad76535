"""`calque align-many`: three files of vectors or more in, a run folder of the whole family out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from calque.cli.common import Device, Number, Output, Reads, check_files_exist, exit_code, split_name
from calque.cli.terminal import interruptible, print_json, print_table, stage_bars
from calque.errors import SettingsError

if TYPE_CHECKING:
    from calque.data.space import Space
    from calque.runs.family import Family

FOUND = {"direct": "by its own search", "others": "by way of other languages", "alone": "not connected"}
"""How the maps of a pair were found, in words."""


@dataclass(frozen=True, kw_only=True)
class AlignMany(Reads):
    """Align three or more files of word vectors: every pair, each helped by the others, and all in one shared space."""

    files: Annotated[Positional[tuple[str, ...]], arg(metavar="FILE")]
    """Vectors of a language each, most frequent word first; es=wiki.vec names it, else its name is the file's."""
    output: Output
    """Where to write the run folder."""
    into: Annotated[str, arg(metavar="NAME")] = ""
    """The language in whose own space all shall be; its vectors then stay where they are."""
    recipe: str = "default"
    """How pairs are aligned: a name from 'calque recipes', or the path of a .toml file."""
    seed: int = 0
    """The same seed on the same device, with as many threads, gives the same maps."""
    limit: Number = None
    """Read only so many words of each file."""
    device: Device = "auto"
    """auto takes the GPU where there is one."""
    overwrite: bool = False
    """Replace an earlier run of that name."""

    def run(self) -> int:
        """Read all files, align them, write the run folder, print the verdicts."""
        from calque.runs.folder import check_free

        check_free(self.output, self.overwrite)
        named = [split_name(text) for text in self.files]
        check_files_exist(*(path for _, path in named))
        from calque.recipes import find, run_many

        recipe, files = find(self.recipe), files_by_name(named)
        if self.into and self.into not in files:
            raise SettingsError(f"--into is {self.into!r}, which names no file; there are: {', '.join(files)}")
        spaces = {name: read_space(self, name, path) for name, path in files.items()}
        with interruptible() as stopped:
            with stage_bars(not self.quiet) as listen:
                family = run_many(recipe, spaces, self.seed, self.device, listen, stopped, self.into)
            family.save(self.output, self.overwrite)
        if self.json:
            print_json(result_as_json(self.output, family))
        else:
            print_result(self.output, family)
        return exit_code(family)


def files_by_name(named: list[tuple[str, Path]]) -> dict[str, Path]:
    """Each file by the name that was given to it, or by its own."""
    from calque.data.formats import bare_name
    from calque.recipes import check_names

    files: dict[str, Path] = {}
    for given_name, path in named:
        name = given_name or bare_name(path)
        if name in files:
            raise SettingsError(
                f"{path}: is called {name!r}, and so is {files[name]}; name one of them otherwise, as in {name}2={path}"
            )
        files[name] = path
    check_names(list(files))
    return files


def read_space(command: AlignMany, name: str, path: Path) -> Space:
    """The words and vectors of one language."""
    space = command.read(path, limit=command.limit).space
    if command.verbose:
        command.say(f"{name}: {len(space)} words of {space.dimension} dimensions ({path})")
    return space


def result_as_json(output: Path, family: Family) -> dict[str, object]:
    """All verdicts, as `calque align-many --json` prints them."""
    return {
        "run": str(output),
        "verdict": family.verdict.label,
        "languages": list(family.names),
        "left_out": list(family.left_out),
        "pairs": {
            "-".join(pair): {
                "verdict": relation.verdict.label,
                "found": relation.found,
                "reasons": list(relation.verdict.reasons),
            }
            for pair, relation in family.relations.items()
        },
        "triangles": {"-".join(triangle): share for triangle, share in family.triangles.items()},
        "notes": list(family.record.notes),
        "interrupted": family.record.interrupted,
        "seconds": family.record.seconds,
    }


def print_result(output: Path, family: Family) -> None:
    """A line for each pair, then the verdict on the whole."""
    pairs = [
        ["-".join(pair), str(relation.verdict), FOUND[relation.found]] for pair, relation in family.relations.items()
    ]
    print_table([["pair", "verdict", "found"], *pairs])
    print(f"verdict: {family.verdict}")
    for line in (*family.verdict.reasons, *family.record.notes):
        print(f"  {line}")
    print(f"run: {output}")
