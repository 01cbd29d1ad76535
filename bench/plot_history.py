"""The stored figures over time, as one picture: `python bench/plot_history.py [OUTPUT]`, docs/pictures/history.svg.

Of the figures in history.jsonl it shows those of the accuracy benchmark: accuracy by CSLS, the seconds of the whole
command, and its memory, pair by pair. Seconds and memory are only joined by a line where the machine is the same.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from common import HISTORY

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "history.svg"
PANELS = {
    "accuracy forward csls": "accuracy@1 in %, source → target, CSLS",
    "seconds (longest)": "seconds, whole command",
    "memory, MiB": "MiB, peak",
}
"""What a figure's name ends in, and the title of its panel."""
STYLES = ("o-", "s--", "^-.", "D:", "v-", "P--", "X-.", "<:")
"""A stroke and a mark for each pair, so that colours are not needed."""


def main(picture: Path) -> None:
    """Draw."""
    lines = [json.loads(line) for line in HISTORY.read_text(encoding="utf-8").splitlines()]
    figures = [line for line in lines if line["benchmark"] == "accuracy"]
    times = list(dict.fromkeys(time(figure) for figure in figures))
    pairs = list(dict.fromkeys(figure["figure"].partition(", ")[0] for figure in figures))
    from matplotlib import pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "calque", "svg.fonttype": "none", "font.size": 8})
    drawing, axes = plt.subplots(1, len(PANELS), figsize=(10, 3), layout="constrained")
    for axis, (ending, title) in zip(axes, PANELS.items(), strict=True):
        for number, pair in enumerate(pairs):
            for part in series(figures, f"{pair}, {ending}"):
                places = [times.index(time(figure)) for figure in part]
                values = [figure["value"] for figure in part]
                axis.plot(places, values, STYLES[number % len(STYLES)], color=f"C{number}", label=pair, markersize=4)
        axis.set_xticks(range(len(times)), times, fontsize=6)
        axis.set_xlim(-0.5, len(times) - 0.5)
        axis.set_title(title, fontsize=8)
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    names = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    drawing.legend(names.values(), names.keys(), loc="outside right center", fontsize=7, frameon=False)
    drawing.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else {})
    print(picture)


def time(figure: dict[str, Any]) -> str:
    """When a figure was stored, and of which code."""
    return f"{figure['date']}\n{figure['commit']}"


def series(figures: list[dict[str, Any]], name: str) -> list[list[dict[str, Any]]]:
    """The figures of one name, in the order in which they were stored; apart where machines would not compare."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for figure in figures:
        if figure["figure"] == name:
            parts.setdefault("" if figure["unit"] == "%" else figure["machine"], []).append(figure)
    return list(parts.values())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
