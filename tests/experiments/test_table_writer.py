from __future__ import annotations

import pytest

from calque.experiments import driver
from calque.experiments.driver import TableWriter


class Table:
    """A table whose text a test can change."""

    def __init__(self, text: str) -> None:
        self.text, self.rendered = text, 0

    def report(self) -> Table:
        return self

    def files(self) -> dict[str, str]:
        self.rendered += 1
        return {"table.md": self.text}


@pytest.fixture
def table(monkeypatch) -> Table:
    monkeypatch.setattr(driver, "rendered", Table.files)
    return Table("date: 2026-11-18\n1 of 3")


def test_a_table_is_rewritten_when_what_it_shows_has_changed(tmp_path, table):
    writer, path = TableWriter(tmp_path), tmp_path / "table.md"
    writer.update(table.report)
    first = path.stat().st_mtime_ns
    table.text = table.text.replace("-18", "-19")
    writer.update(table.report, at_once=True)
    TableWriter(tmp_path).update(table.report)
    assert (path.stat().st_mtime_ns, path.read_text()) == (first, "date: 2026-11-18\n1 of 3")
    table.text = table.text.replace("1 of 3", "2 of 3")
    writer.update(table.report)
    assert path.read_text() == "date: 2026-11-19\n2 of 3"


def test_a_table_that_is_slow_to_render_waits_but_for_the_last_time(tmp_path, table, monkeypatch):
    monkeypatch.setattr(driver, "QUICK", -1.0)
    monkeypatch.setattr(driver, "PATIENCE", 1e9)
    writer = TableWriter(tmp_path)
    for text in ("one", "two", "three"):
        table.text = text
        writer.update(table.report)
    assert (table.rendered, (tmp_path / "table.md").read_text()) == (1, "one")
    writer.update(table.report, at_once=True)
    assert (tmp_path / "table.md").read_text() == "three"
