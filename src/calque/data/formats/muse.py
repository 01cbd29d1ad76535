"""MUSE ``.pth``: vectors and a pickled dictionary object. No pickled code is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from calque.data.formats.format import FileContent, Format, Head, ReadOptions, in_one_line, open_raw
from calque.data.formats.numpy_files import ZIP_MAGIC, check_vectors, zip_names
from calque.data.formats.text import RowCollector
from calque.errors import FormatError

# How torch wrote its files before 1.6: not an archive, but a pickled magic number and more pickles.
LEGACY_MAGIC = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")

# torch knows the classes it may build by module and name. This one has the name of MUSE's class and does nothing.
_Dictionary = type("Dictionary", (), {"__module__": "src.dictionary"})


def recognise(head: Head) -> bool:
    """A stream or a zip archive that ``torch.save`` wrote."""
    return head.raw.startswith(LEGACY_MAGIC) or any(name.endswith("/data.pkl") for name in zip_names(head.path))


def read(path: Path, options: ReadOptions) -> FileContent:
    """Read ``{"dico": Dictionary, "vectors": tensor}`` as MUSE exports it, or the same with a list of ``words``."""
    content = _load_inert(path)
    words = _word_list(content) if isinstance(content, dict) else None
    if words is None or not all(isinstance(word, str) for word in words):
        keys = sorted(map(str, content))[:8] if isinstance(content, dict) else type(content).__name__
        raise FormatError(
            f"{path}: holds {keys}, expected 'dico' (or a list 'words') and 'vectors' as MUSE exports them"
        )
    vectors = content.get("vectors")
    if not isinstance(vectors, torch.Tensor):
        raise FormatError(
            f"{path}: 'vectors' is {type(vectors).__name__}, expected a tensor; export it from MUSE again"
        )
    array = vectors.detach().to(torch.float32).numpy()
    check_vectors(array, len(words), path)
    rows = RowCollector(options.limit)
    rows.add(words, array)
    return rows.content(path)


def _load_inert(path: Path) -> Any:
    """The saved value, if it consists of tensors, plain containers and the stand-in for MUSE's class only."""
    with open_raw(path) as stream:
        try:
            with torch.serialization.safe_globals([_Dictionary]):
                return torch.load(stream, map_location="cpu", weights_only=True)
        except Exception as error:  # a damaged or hostile pickle can fail in any way, and none of them may pass
            raise FormatError(
                f"{path}: refused, because only tensors and a MUSE dictionary are read from pickled files "
                f"({in_one_line(error)}); export the vectors as text"
            ) from error


def _word_list(content: dict[Any, Any]) -> list[Any] | None:
    """The words in order: MUSE keeps them as a dictionary from row to word."""
    if isinstance(content.get("words"), list):
        return list(content["words"])
    rows = getattr(content.get("dico"), "id2word", None)
    if not isinstance(rows, dict) or set(rows) != set(range(len(rows))):
        return None
    return [rows[row] for row in range(len(rows))]


MUSE = Format("muse", (".pth", ".pt"), read, magic=(LEGACY_MAGIC, ZIP_MAGIC), recognise=recognise)
