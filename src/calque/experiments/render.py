"""Every format of a table, by the name of its file."""

from __future__ import annotations

import json
from typing import Any

from calque.experiments.render_paper import paper_csv, paper_json, paper_latex, paper_markdown
from calque.experiments.render_sweep import sweep_csv, sweep_json, sweep_markdown
from calque.experiments.render_texts import text_csv, text_figure, text_json, text_markdown
from calque.experiments.report import Report


def as_json(report: Report) -> dict[str, Any]:
    """Everything that is known of a table."""
    if is_of_texts(report):
        return text_json(report)
    return sweep_json(report) if report.plan.paper is None else paper_json(report)


def is_of_texts(report: Report) -> bool:
    """Whether the table is that of texts, and not of words."""
    return any(experiment.texts is not None for experiment in report.plan.experiments)


def file_names(report: Report) -> list[str]:
    """The files of a table."""
    if is_of_texts(report):
        return [f"{report.plan.name}.{suffix}" for suffix in ("md", "csv", "json", "svg")]
    suffixes = ["md", "csv", "json"] if report.plan.paper is None else ["md", "csv", "tex", "json"]
    return [f"{report.plan.name}.{suffix}" for suffix in suffixes]


def rendered(report: Report) -> dict[str, str]:
    """The text of every file of a table."""
    name = report.plan.name
    texts = {f"{name}.json": json.dumps(as_json(report), indent=2, ensure_ascii=True) + "\n"}
    if is_of_texts(report):
        figure = text_figure(report)
        texts |= {f"{name}.csv": text_csv(report), f"{name}.md": text_markdown(report)}
        return texts | ({f"{name}.svg": figure} if figure else {})
    if report.plan.paper is None:
        return texts | {f"{name}.csv": sweep_csv(report), f"{name}.md": sweep_markdown(report)}
    tables = {"md": paper_markdown, "csv": paper_csv, "tex": paper_latex}
    return texts | {f"{name}.{suffix}": write(report) for suffix, write in tables.items()}
