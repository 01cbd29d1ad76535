"""Training state on disk, so that what was killed can go on."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from calque.errors import RunError
from calque.methods.task import Checkpoint

SECONDS = 20.0
"""How much work may be lost, at most."""
STATE, BESIDE = ".state", ".part"
"""How the names of its files end, and of those that are being written; they are safetensors."""


class FileCheckpoint(Checkpoint):
    """A folder with one file a stage, each marked with the key of its task: no other task takes it for its own."""

    def __init__(self, folder: Path, key: str, seconds: float = SECONDS) -> None:
        self.folder, self.key, self.seconds = folder, key, seconds
        self.last = time.monotonic()

    def load(self, stage: str) -> dict[str, Tensor] | None:
        """What an earlier run of the same task left; nothing where the file is another's, or damaged."""
        try:
            with safe_open(self._path(stage), "pt") as file:
                told = file.metadata() or {}
                kept = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a mapping)
        except (SafetensorError, OSError):
            return None
        return kept if told.get("key") == self.key and told.get("digest") == _digest(kept) else None

    def save(self, stage: str, tensors: Callable[[], dict[str, Tensor]], finished: bool = False) -> None:
        """Written beside and renamed, so that being killed while writing costs nothing."""
        if not finished and time.monotonic() - self.last < self.seconds:
            return
        beside = self.folder / f"{stage}{STATE}{BESIDE}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            kept = {name: each.detach().cpu().contiguous().clone() for name, each in tensors().items()}
            save_file(kept, beside, {"key": self.key, "digest": _digest(kept)})
            beside.replace(self._path(stage))
        except (SafetensorError, OSError) as error:
            raise RunError(f"{beside}: the state of the training cannot be written: {error}") from error
        self.last = time.monotonic()

    def _path(self, stage: str) -> Path:
        return self.folder / f"{stage}{STATE}"


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """Of names and bytes: a disk that flipped one bit must not steer what goes on from it."""
    found = hashlib.sha256()
    for name, each in sorted(tensors.items()):
        found.update(f"{name} {each.dtype} {tuple(each.shape)};".encode())
        found.update(each.reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def forget(folder: Path) -> None:
    """Remove what was kept: there is nothing left to go on with. A folder with anything else in it stays."""
    with suppress(OSError):
        for each in (*folder.glob(f"*{STATE}"), *folder.glob(f"*{STATE}{BESIDE}")):
            each.unlink(missing_ok=True)
        folder.rmdir()
