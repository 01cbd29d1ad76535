"""Training state on disk, so that a run that was killed can go on."""

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

from calque.data.files import replacing
from calque.errors import RunError
from calque.methods.task import Checkpoint

SECONDS = 20.0
"""The state is saved this often, so a kill costs no more work than that."""
STATE = ".state"
"""The suffix of its files, which are safetensors."""


class FileCheckpoint(Checkpoint):
    """A folder with one file a stage. Each holds the key of its task, so that no other task goes on from it."""

    def __init__(self, folder: Path, key: str, seconds: float = SECONDS) -> None:
        self.folder, self.key, self.seconds = folder, key, seconds
        self.last = time.monotonic()

    def load(self, stage: str) -> dict[str, Tensor] | None:
        """What an earlier run of the same task saved; None where the file is another's, or damaged."""
        try:
            with safe_open(self.folder / f"{stage}{STATE}", "pt") as file:
                metadata = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a mapping)
        except (SafetensorError, OSError):
            return None
        valid = metadata.get("key") == self.key and metadata.get("digest") == _digest(tensors)
        return tensors if valid else None

    def save(self, stage: str, tensors: Callable[[], dict[str, Tensor]], finished: bool = False) -> None:
        """Save the state whole or not at all, unless it was saved a moment ago and is not ``finished``."""
        if not finished and time.monotonic() - self.last < self.seconds:
            return
        path = self.folder / f"{stage}{STATE}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            copies = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors().items()}
            with replacing(path) as temporary:
                save_file(copies, temporary, {"key": self.key, "digest": _digest(copies)})
        except (SafetensorError, OSError) as error:
            raise RunError(f"{path}: the state of the training cannot be written: {error}") from error
        self.last = time.monotonic()


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """Of names and bytes: a run must not go on from a state in which the disk changed a bit."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def forget(folder: Path) -> None:
    """Remove the saved states, also half-written ones. A folder with anything else in it stays."""
    with suppress(OSError):
        for path in (*folder.glob(f"*{STATE}"), *folder.glob(f".*{STATE}.*.part")):
            path.unlink(missing_ok=True)
        folder.rmdir()
