"""Which words of a run are each other's translations."""

from __future__ import annotations

from collections.abc import Sequence

from calque.alignment import Alignment


def translations(alignment: Alignment, rows: Sequence[int], retrieval: str = "csls") -> dict[int, int]:
    """The target row of every source row here that is its best translation's best translation."""
    if not rows:
        return {}
    there = alignment.neighbours(alignment.spaces()[0].vectors[list(rows)], 1, False, retrieval).indices[:, 0]
    back = alignment.neighbours(alignment.spaces(True)[0].vectors[there], 1, True, retrieval).indices[:, 0]
    chosen = zip(rows, there.tolist(), back.tolist(), strict=True)
    return {row: target for row, target, returned in chosen if returned == row}
