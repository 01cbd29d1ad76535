"""What a run was made on and with."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata

import torch


def machine(device: str) -> str:
    """'cpu, 2 cores' or 'NVIDIA H200, 16 cores', for a device as torch calls it."""
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") and torch.cuda.is_available() else "cpu"
    return f"{name}, {cores()} cores"


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def versions() -> dict[str, str]:
    """Of what the figures depend on."""
    return {name: metadata.version(name) for name in ("calque", "torch", "numpy")} | {
        "python": platform.python_version()
    }
