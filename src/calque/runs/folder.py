"""The files of a run folder: written whole or not at all, and read with errors that name the file."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calque.data.files import written_whole
from calque.errors import CalqueError, RunError, SpaceError

if TYPE_CHECKING:  # torch is imported where tensors are read or written: a look-up does neither
    from torch import Tensor

MARK = "config.json"
"""Only a folder with this file is taken for a run folder and may be replaced."""
FORMAT = 1
"""The number of this layout of a run folder."""
FAMILY = "family"
"""The ``kind`` in the config.json of several languages; that of a pair has no kind."""


def check_free(path: Path, overwrite: bool, mark: str = MARK) -> None:
    """Raise RunError where a run cannot be written to ``path``; called before the work starts."""
    try:
        if path.is_symlink() and not path.exists():
            raise RunError(f"{path}: is a link to nothing; remove it, or choose another name")
        if path.exists() and not overwrite:
            raise RunError(f"{path}: is already there; choose another name, or pass --overwrite to replace it")
        if path.exists() and not (path / mark).is_file():
            raise RunError(
                f"{path}: has no {mark}, so it was not made by calque and is not replaced; choose another name"
            )
        parent = path.absolute().parent
        existing = next(folder for folder in (parent, *parent.parents) if folder.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK):
            raise RunError(f"{path}: cannot be written, because {existing} is not a folder one may write to")
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}; choose another name") from error


@contextmanager
def whole_folder(path: Path, overwrite: bool = False, mark: str = MARK) -> Iterator[Path]:
    """A new folder to write into. It becomes ``path`` at the end; if anything fails, it is removed."""
    check_free(path, overwrite, mark)
    try:
        place = path.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        yield fresh
        fresh.chmod(0o755)
        check_free(path, overwrite, mark)
        _put_in_place(fresh, path.resolve())
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from error
    except CalqueError as error:
        if str(fresh) not in str(error):
            raise
        raise type(error)(str(error).replace(str(fresh), str(path))) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _put_in_place(fresh: Path, path: Path) -> None:
    """Rename. An older run is moved aside first, and comes back if the renaming fails."""
    if not path.exists():
        fresh.rename(path)
        return
    aside = fresh.with_name(f"{fresh.name}.old")
    path.rename(aside)
    try:
        fresh.rename(path)
    except OSError:
        aside.rename(path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def write_bytes(path: Path, data: bytes) -> None:
    """A file of any kind that appears whole."""
    _write_pieces(path, [data])


def write_text(path: Path, text: str) -> None:
    """A text file that appears whole. Bytes that were not UTF-8 stay as they were."""
    _write_pieces(path, [text.encode("utf-8", "surrogateescape")])


def write_json(path: Path, value: Any) -> None:
    """Readable JSON."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=True) + "\n")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """One string a line, written as they come. RunError where one holds a line feed: it would come back as two."""

    def pieces() -> Iterator[bytes]:
        for line in lines:
            if "\n" in line:
                raise RunError(f"{path}: {line!r} holds a line feed, and cannot stand on one line; rename or remove it")
            yield f"{line}\n".encode("utf-8", "surrogateescape")

    _write_pieces(path, pieces())


def _write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    try:
        with written_whole(path) as stream:
            stream.writelines(pieces)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from error


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """A safetensors file. The format allows no shared memory, so tensors that share some are copied, and no others."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    separate: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        storage = plain.untyped_storage()
        if storage.data_ptr() in seen or storage.nbytes() != plain.nbytes:
            plain = plain.clone()
        seen.add(plain.untyped_storage().data_ptr())
        separate[name] = plain
    try:
        save_file(separate, path)
        path.chmod(0o644)
    except (SafetensorError, OSError) as error:
        raise RunError(f"{path}: cannot be written: {error}") from error


def damaged(folder: Path, why: object) -> RunError:
    """The error for a folder that is not as it was written."""
    return RunError(f"{folder}: the run folder is damaged or of another version: {why}")


@contextmanager
def naming_damage(folder: Path) -> Iterator[None]:
    """Whatever goes wrong while values are taken from the files of a folder means that it is damaged."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, SpaceError) as error:
        raise damaged(folder, error) from error


def read_config(folder: Path, kind: str = "") -> dict[str, Any]:
    """The config.json of a run: of one pair, or of a family where ``kind`` is FAMILY; RunError where it is another."""
    config = read_json(folder / MARK)
    if not isinstance(config, dict) or "format" not in config:
        raise damaged(folder, "no 'format' in its config.json")
    if config["format"] != FORMAT:
        raise RunError(
            f"{folder}: run folder of format {config['format']}, expected {FORMAT}; use the calque that wrote it"
        )
    if kind == FAMILY and config.get("kind") != FAMILY:
        raise RunError(f"{folder}: holds one pair, not a family of languages; open it as an alignment")
    if not kind and config.get("kind"):
        names = config.get("languages")
        pair = "-".join(map(str, names[:2])) if isinstance(names, list) else "es-en"
        raise RunError(f"{folder}: holds a family of languages, expected one pair; name one, such as --pair {pair}")
    return config


def read_json(path: Path) -> Any:
    """The value in a JSON file."""
    try:
        return json.loads(_read(path))
    except json.JSONDecodeError as error:
        raise RunError(f"{path}:{error.lineno}: is not JSON ({error.msg}); the run folder is damaged") from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path}: is not JSON to be read ({error}); the run folder is damaged") from error


def read_log(path: Path) -> tuple[Any, ...]:
    """The events of a log: one JSON object a line, of texts, finite numbers and lists of them."""
    try:
        events = tuple(json.loads(line) for line in read_lines(path))
    except ValueError as error:
        raise RunError(f"{path}: is not JSON a line ({error}); the run folder is damaged") from error
    for number, event in enumerate(events, 1):
        if not _is_event(event):
            raise RunError(f"{path}:{number}: is no step of a run; the run folder is damaged")
    return events


def _is_event(event: Any) -> bool:
    if not isinstance(event, dict):
        return False
    path = event.get("path", [])
    if not isinstance(path, list) or not all(isinstance(cost, (int, float)) for cost in path):
        return False
    values = [item for value in event.values() for item in (value if isinstance(value, list) else [value])]
    return all(isinstance(item, (str, int)) or (isinstance(item, float) and math.isfinite(item)) for item in values)


def read_lines(path: Path) -> list[str]:
    """The lines of a text file. Only a line feed ends a line, since words may hold any other separator."""
    return _read(path).split("\n")[:-1]


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise RunError(
            f"{path}: cannot be read ({error.strerror}); expected a run folder made by 'calque align'"
        ) from error


def read_tensors(path: Path, names: Iterable[str] | None = None) -> dict[str, Tensor]:
    """The tensors of a safetensors file; with ``names``, only those of them that it has."""
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import load_file

    if not path.is_file():
        raise RunError(f"{path}: is missing; expected a run folder made by 'calque align'")
    try:
        if names is None:
            return dict(load_file(path))
        with safe_open(path, framework="pt") as file:
            present = set(file.keys())
            return {name: file.get_tensor(name) for name in names if name in present}
    except (SafetensorError, OSError) as error:
        raise RunError(f"{path}: cannot be read ({error}); the run folder is damaged") from error


def one_line(value: Any) -> str:
    """JSON on one line, for logs."""
    return json.dumps(value, ensure_ascii=True)
