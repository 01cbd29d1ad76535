"""Run folders: written whole or not at all, with nothing in them that runs when read."""

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

from calque.errors import CalqueError, RunError

if TYPE_CHECKING:  # torch is imported where tensors are read or written: a look-up does neither
    from torch import Tensor

MARK = "config.json"
"""The file by which a run folder is known."""
FORMAT = 1
"""How a run folder is laid out; another number, another layout."""


def check_free(path: Path, overwrite: bool, mark: str = MARK) -> None:
    """Raise RunError where a run cannot be written to ``path``; asked before the work, not after it."""
    try:
        _check_free(path, overwrite, mark)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}; choose another name") from error


def _check_free(path: Path, overwrite: bool, mark: str) -> None:
    if path.is_symlink() and not path.exists():
        raise RunError(f"{path}: is a link to nothing; remove it, or choose another name")
    if path.exists():
        if not overwrite:
            raise RunError(f"{path}: is already there; choose another name, or pass --overwrite to replace it")
        if not (path / mark).is_file():
            raise RunError(
                f"{path}: has no {mark}, so it was not made by calque and is not replaced; choose another name"
            )
    parent = path.absolute().parent
    existing = next(each for each in (parent, *parent.parents) if each.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise RunError(f"{path}: cannot be written, because {existing} is not a folder one may write to")


@contextmanager
def whole_folder(path: Path, overwrite: bool = False, mark: str = MARK) -> Iterator[Path]:
    """A fresh folder to write into, which becomes ``path`` if all goes well and vanishes otherwise."""
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
    """Rename; an older run is moved aside first and comes back if that fails, so that there is always one."""
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


def write_text(path: Path, text: str) -> None:
    """A text file that appears whole."""
    _write_pieces(path, [text])


def _write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Written beside, then renamed. Bytes that were not UTF-8 stay as they were."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
            stream.writelines(pieces)
        beside.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """A file of any kind that appears whole."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Readable JSON."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=True) + "\n")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """One string a line, as they come; a line feed within one is refused, since it would come back as two."""
    _write_pieces(path, (_line(path, line) for line in lines))


def _line(path: Path, line: str) -> str:
    if "\n" in line:
        raise RunError(f"{path}: {line!r} holds a line feed, and cannot stand on one line; rename or remove it")
    return f"{line}\n"


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """A safetensors file."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file(_apart(tensors), path)
        path.chmod(0o644)
    except (SafetensorError, OSError) as error:
        raise RunError(f"{path}: cannot be written: {error}") from error


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Plain tensors that share no memory, which the format does not allow; copied only where they do."""
    apart: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        storage = plain.untyped_storage()
        if storage.data_ptr() in seen or storage.nbytes() != plain.nbytes:
            plain = plain.clone()
        seen.add(plain.untyped_storage().data_ptr())
        apart[name] = plain
    return apart


def read_json(path: Path) -> Any:
    """The value in a JSON file of a run folder."""
    try:
        return json.loads(_read(path))
    except json.JSONDecodeError as error:
        raise RunError(f"{path}:{error.lineno}: is not JSON ({error.msg}); the run folder is damaged") from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path}: is not JSON to be read ({error}); the run folder is damaged") from error


def check_format(folder: Path, config: Any) -> None:
    """Refuse a run folder that is laid out otherwise."""
    if not isinstance(config, dict) or "format" not in config:
        raise RunError(f"{folder}: the run folder is damaged or of another version: no 'format' in its config.json")
    if config["format"] != FORMAT:
        raise RunError(
            f"{folder}: run folder of format {config['format']}, expected {FORMAT}; use the calque that wrote it"
        )


def check_is_pair(folder: Path, config: Any) -> None:
    """Refuse a folder of several languages where one of two is expected."""
    if isinstance(config, dict) and config.get("kind"):
        names = config.get("languages")
        told = "-".join(map(str, names[:2])) if isinstance(names, list) else "es-en"
        raise RunError(f"{folder}: holds a family of languages, expected one pair; name one, such as --pair {told}")


def read_log(path: Path) -> tuple[Any, ...]:
    """The events of a log, one JSON object a line."""
    try:
        events = tuple(json.loads(line) for line in read_lines(path))
    except ValueError as error:
        raise RunError(f"{path}: is not JSON a line ({error}); the run folder is damaged") from error
    odd = next((number for number, each in enumerate(events, 1) if not _is_event(each)), None)
    if odd is not None:
        raise RunError(f"{path}:{odd}: is no step of a run; the run folder is damaged")
    return events


def _is_event(told: Any) -> bool:
    """Names with values: of numbers only finite ones, in lists as well."""
    if not isinstance(told, dict):
        return False
    values = [part for each in told.values() for part in (each if isinstance(each, list) else [each])]
    plain = all(isinstance(each, (str, int, float)) for each in values)
    return plain and all(math.isfinite(each) for each in values if isinstance(each, float)) and _has_path(told)


def _has_path(told: dict[str, Any]) -> bool:
    path = told.get("path", [])
    return isinstance(path, list) and all(isinstance(each, (int, float)) for each in path)


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; only a line feed ends a line, since words may hold any other separator."""
    return _read(path).split("\n")[:-1]


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise RunError(f"{path}: is missing; expected a run folder made by 'calque align'")
    try:
        return dict(load_file(path))
    except (SafetensorError, OSError) as error:
        raise RunError(f"{path}: cannot be read ({error}); the run folder is damaged") from error


def read_some_tensors(path: Path, names: Iterable[str]) -> dict[str, Tensor]:
    """Those of these tensors that a safetensors file holds, and no other is read."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise RunError(f"{path}: is missing; expected a run folder made by calque")
    try:
        with safe_open(path, framework="pt") as opened:
            held = set(opened.keys())
            return {name: opened.get_tensor(name) for name in names if name in held}
    except (SafetensorError, OSError) as error:
        raise RunError(f"{path}: cannot be read ({error}); the run folder is damaged") from error


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise RunError(
            f"{path}: cannot be read ({error.strerror}); expected a run folder made by 'calque align'"
        ) from error


def one_line(value: Any) -> str:
    """JSON on one line, for logs."""
    return json.dumps(value, ensure_ascii=True)
