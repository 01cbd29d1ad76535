"""The table of texts as rows for a terminal, Markdown, CSV, JSON, and a figure."""

from __future__ import annotations

import datetime
import io
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from statistics import fmean, stdev
from typing import Any

from calque.experiments.plan import Entrant
from calque.experiments.report import Report
from calque.experiments.results import FinishedRun
from calque.experiments.wording import csv_text, markdown_row, rounded
from calque.experiments.worker import machine
from calque.recipes.running import versions

COLUMNS = ["from", "to", "method", "accuracy", "deviation", "macro_f1", "topline", "share_of_topline", "home"]
COLUMNS += [
    "majority",
    "texts",
    "unknown",
    "coverage",
    "retrieval_accuracy",
    "mrr",
    "runs",
    "failed",
    "expected",
    "verdicts",
]
HEAD = ["from → to", "method", "carried", "macro-F1", "trained there", "share", "at home", "found@1", "MRR", "runs"]
LEGEND = (
    "Carried: accuracy of a classifier that has learned in the first language, on test texts of the second one, in per "
    "cent: mean ± deviation over seeds. Trained there: the same with training texts of the second language. At home: "
    "tested in the first language. Found@1 and MRR: test sentences that find their translation."
)


def text_values(report: Report) -> Iterator[dict[str, Any]]:
    """A row for each direction and method, with figures from 0 to 1; None where there is no run yet."""
    for pair in report.plan.pairs:
        for way in (pair.back, pair.name):  # what is asked first: from English
            for entrant in report.plan.entrants:
                yield _values(report, pair.name, way, entrant)


def _values(report: Report, pair: str, way: str, entrant: Entrant) -> dict[str, Any]:
    asked = [run.key for run in report.plan.experiments if (run.key.pair, run.key.method) == (pair, entrant.name)]
    runs = [report.runs[key] for key in asked if key in report.runs]
    classified = [
        run.score.texts[f"classification {way}"] for run in runs if f"classification {way}" in run.score.texts
    ]
    retrieved = [run.score.texts[f"retrieval {way}"] for run in runs if f"retrieval {way}" in run.score.texts]

    def mean(name: str) -> float | None:
        return fmean(score[name] for score in classified) if classified else None

    accuracy, topline = mean("accuracy"), mean("topline")
    verdicts = Counter(run.provenance.verdict.split()[0] for run in runs if run.provenance.verdict)
    source, target = way.split("-")
    return {
        "from": source,
        "to": target,
        "method": entrant.name,
        "accuracy": accuracy,
        "deviation": stdev(score["accuracy"] for score in classified) if len(classified) > 1 else None,
        "macro_f1": mean("macro_f1"),
        "topline": topline,
        "share_of_topline": accuracy / topline if accuracy is not None and topline else None,
        "home": mean("home"),
        "majority": mean("majority"),
        "texts": mean("texts"),
        "unknown": mean("unknown"),
        "coverage": mean("coverage"),
        "retrieval_accuracy": fmean(score["accuracy"] for score in retrieved) if retrieved else None,
        "mrr": fmean(score["mrr"] for score in retrieved) if retrieved else None,
        "runs": len(runs),
        "failed": len(runs) - len(classified),
        "expected": len(asked),
        "verdicts": ", ".join(f"{count} {name}" for name, count in verdicts.items()),
    }


def text_rows(report: Report) -> list[list[str]]:
    """The rows in words, with their head."""
    labels = {entrant.name: entrant.label for entrant in report.plan.entrants}
    rows = [HEAD]
    for values in text_values(report):
        deviation = "" if values["deviation"] is None else f" ± {100 * values['deviation']:.1f}"
        shown = {
            name: "-" if values[name] is None else f"{100 * values[name]:.1f}"
            for name in ("accuracy", "macro_f1", "topline", "home", "retrieval_accuracy")
        }
        shares = ["-" if values[name] is None else f"{values[name]:.2f}" for name in ("share_of_topline", "mrr")]
        failed = f", {values['failed']} failed" if values["failed"] else ""
        rows.append(
            [
                f"{values['from']} → {values['to']}",
                labels[values["method"]],
                shown["accuracy"] + deviation,
                *(shown["macro_f1"], shown["topline"], shares[0], shown["home"]),
                *(shown["retrieval_accuracy"], shares[1]),
                f"{values['runs']} of {values['expected']}{failed}",
            ]
        )
    return rows


def text_markdown(report: Report) -> str:
    """How the table was made, the figures, and what went wrong."""
    head, *rows = text_rows(report)
    about = [f"- {name}: {text}" for name, text in _about(report).items()]
    wrong = [f"- {run.key}: {line}" for run, line in report.failures()]
    wrong += [f"- {key}: {lost}" for key, lost in report.lost.items()]
    parts = [
        ["# Texts carried from language to language", "", *about],
        [markdown_row(head), markdown_row(["---"] * len(head)), *map(markdown_row, rows)],
        [LEGEND],
        ["What went wrong:", "", *wrong] if wrong else [],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def text_csv(report: Report) -> str:
    """A line for each direction and method."""
    return csv_text(COLUMNS, ({name: _plain(value) for name, value in row.items()} for row in text_values(report)))


def text_json(report: Report) -> dict[str, Any]:
    """Everything that is known."""
    return {
        "table": report.plan.name,
        **_about(report),
        "versions": versions(),
        "seeds": list(report.plan.seeds),
        "done": len(report.runs),
        "total": len(report.plan.experiments),
        "rows": [{name: _plain(value) for name, value in row.items()} for row in text_values(report)],
        "failures": [{"run": run.key.name, "error": line} for run, line in report.failures()],
    }


def text_figure(report: Report) -> str:
    """A picture in SVG: accuracy from English into each language, a bar for each method; empty without matplotlib."""
    if find_spec("matplotlib") is None:
        return ""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows = [row for row in text_values(report) if row["from"] == "en"]
    languages, methods = (list(dict.fromkeys(row[name] for row in rows)) for name in ("to", "method"))
    labels = {entrant.name: entrant.label for entrant in report.plan.entrants}
    figure = Figure(figsize=(6 + len(languages), 4), layout="constrained")
    axes, width = figure.subplots(), 0.8 / len(methods)
    for place, method in enumerate(methods):
        bars = [100 * (row["accuracy"] or 0) for row in rows if row["method"] == method]
        spread = [100 * (row["deviation"] or 0) for row in rows if row["method"] == method]
        left = [column - 0.4 + (place + 0.5) * width for column in range(len(languages))]
        axes.bar(left, bars, width, yerr=spread, label=labels[method])
    for column, language in enumerate(languages):
        toplines = [row["topline"] for row in rows if row["to"] == language and row["topline"] is not None]
        if toplines:
            label = "trained in that language" if column == 0 else ""
            axes.hlines(
                100 * fmean(toplines), column - 0.42, column + 0.42, colors="black", linestyles=":", label=label
            )
    axes.set_xticks(range(len(languages)), [f"en → {language}" for language in languages])
    axes.set(ylabel="accuracy, %", ylim=(0, 100))
    axes.legend(fontsize="small", ncols=2)
    stream = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "calque"}):  # the same file for the same figures
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def text_outcome(run: FinishedRun) -> list[str]:
    """What came out of a run, for a line on a terminal."""
    scores = run.score.texts.items()
    return [f"{way.split()[1]} {100 * score['accuracy']:.1f} %" for way, score in scores if way.startswith("class")]


def _about(report: Report) -> dict[str, str]:
    devices = Counter(run.provenance.device for run in report.runs.values() if run.provenance.device)
    return {
        "command": report.plan.command,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": machine(""),
        "made": "; ".join(f"{count} on {name}" for name, count in devices.most_common()) or "none yet",
    }


def _plain(value: Any) -> Any:
    return rounded(value) if isinstance(value, float) else value
