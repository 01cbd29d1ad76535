"""Every format of a table, by the name of its file."""

from __future__ import annotations

import json
from typing import Any

from calque.experiments.render_paper import paper_csv, paper_json, paper_latex, paper_markdown
from calque.experiments.render_sweep import sweep_csv, sweep_json, sweep_markdown
from calque.experiments.report import Report


def as_json(report: Report) -> dict[str, Any]:
    """Everything that is known of a table."""
    return sweep_json(report) if report.plan.paper is None else paper_json(report)


def file_names(report: Report) -> list[str]:
    """The files of a table."""
    suffixes = ["md", "csv", "json"] if report.plan.paper is None else ["md", "csv", "tex", "json"]
    return [f"{report.plan.name}.{suffix}" for suffix in suffixes]


def rendered(report: Report) -> dict[str, str]:
    """The text of every file of a table."""
    name = report.plan.name
    texts = {f"{name}.json": json.dumps(as_json(report), indent=2, ensure_ascii=True) + "\n"}
    if report.plan.paper is None:
        return texts | {f"{name}.csv": sweep_csv(report), f"{name}.md": sweep_markdown(report)}
    tables = {"md": paper_markdown, "csv": paper_csv, "tex": paper_latex}
    return texts | {f"{name}.{suffix}": write(report) for suffix, write in tables.items()}
