"""Files are written a block at a time, and are to the byte what was written from memory as a whole."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from safetensors.torch import save

from calque.data.formats import write
from calque.data.space import Space


@pytest.fixture(params=[1, 7, 23])
def block(request, monkeypatch):
    monkeypatch.setattr("calque.data.formats.block_source.BLOCK_ROWS", request.param)
    return request.param


@pytest.fixture(params=[False, True], ids=["no counts", "counts"])
def space(request):
    words = ["東京", "\udcff\udcfe", "naïve", *(f"w{row}" * (1 + row % 4) for row in range(20))]
    vectors = torch.randn(len(words), 5, generator=torch.Generator().manual_seed(0))
    return Space(tuple(words), vectors, torch.arange(1.0, 24.0, dtype=torch.float64) if request.param else None)


def letters(space: Space) -> list[bytes]:
    return [word.encode("utf-8", "surrogateescape") for word in space.words]


@pytest.mark.usefixtures("block")
class TestBytes:
    def test_npz_is_what_numpy_saves(self, space, tmp_path):
        write(space, tmp_path / "a.npz")
        counts = {} if space.counts is None else {"counts": space.counts.numpy()}
        whole = io.BytesIO()
        np.savez(whole, words=np.array(space.words), vectors=space.vectors.numpy(), **counts)
        assert (tmp_path / "a.npz").read_bytes() == whole.getvalue()

    def test_safetensors_is_what_its_library_saves(self, space, tmp_path):
        write(space, tmp_path / "a.safetensors")
        tensors = {"vectors": space.vectors, "words": torch.tensor(list(b"\n".join(letters(space))), dtype=torch.uint8)}
        tensors |= {} if space.counts is None else {"counts": space.counts}
        assert (tmp_path / "a.safetensors").read_bytes() == save(tensors)

    def test_npy_is_what_numpy_saves(self, space, tmp_path):
        write(space, tmp_path / "a.npy")
        whole = io.BytesIO()
        np.save(whole, space.vectors.numpy())
        assert (tmp_path / "a.npy").read_bytes() == whole.getvalue()
        assert (tmp_path / "a.words").read_bytes() == b"".join(word + b"\n" for word in letters(space))

    def test_text_and_binary(self, space, tmp_path):
        write(space, tmp_path / "a.vec")
        write(space, tmp_path / "a.bin")
        rows = list(zip(letters(space), space.vectors.numpy(), strict=True))
        text = b"".join(word + b"".join(b" %.9g" % value for value in row) + b"\n" for word, row in rows)
        binary = b"".join(word + b" " + row.tobytes() + b"\n" for word, row in rows)
        assert (tmp_path / "a.vec").read_bytes() == b"23 5\n" + text
        assert (tmp_path / "a.bin").read_bytes() == b"23 5\n" + binary
