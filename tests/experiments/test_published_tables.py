from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from calque.errors import SettingsError
from calque.experiments.paper_tables import (
    ABLATION,
    LEX_C_FAR,
    LEX_C_NEAR,
    LEX_Z,
    METHODS,
    SIMILARITY,
    TABLES,
    VARIANTS,
    entrants_of,
    find_table,
    turned,
)
from calque.recipes import RECIPES, into

DATA = Path(os.environ.get("CALQUE_DATA", Path(__file__).parents[3] / "shared" / "data"))
PAPER = DATA.parent / "paper.tex"
CITED = {
    "mikolov2013efficient": "mikolov2013",
    "zhang2016ten": "zhang2016",
    "xing2015normalized": "xing2015",
    "shigeto2015ridge": "shigeto2015",
    "artetxe2016learning": "artetxe2016",
    "artetxe2017learning": "artetxe2017",
    "conneau2017word": "conneau2017",
    "zhang2017adversarial": "zhang2017",
    "Ours": "paper",
}


def printed(label: str) -> tuple[list[str], dict[str, list[float | None]]]:
    """Columns and rows of a table of the paper's source."""
    before = PAPER.read_text(encoding="utf-8").split(rf"\label{{{label}}}")[0]
    body = before[before.rindex(r"\toprule") :]
    head, *lines = [line for line in body.split("\n") if "&" in line]
    rows = {}
    for line in lines:
        name = re.search(r"\\citet\{(\w+)\}|(Ours)", line)
        assert name
        cells = line.split("&")[2:]
        rows[CITED[name[1] or name[2]]] = [_number(cell) for cell in cells]
    return re.findall(r"\b[a-z]{2}-[a-z]{2}\b", head), rows


def _number(cell: str) -> float | None:
    found = re.search(r"\d+\.\d+", cell)
    return float(found[0]) if found else None


@pytest.mark.skipif(not PAPER.is_file(), reason="no source of the paper beside $CALQUE_DATA")
@pytest.mark.parametrize(
    ("block", "label"),
    [
        (LEX_Z, "tab:UnBiLex"),
        (LEX_C_FAR, "tab:MUSE-low"),
        (LEX_C_NEAR, "tab:MUSE-high"),
        (SIMILARITY, "tab:MUSE-corr"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_every_figure_is_the_one_that_the_paper_prints(block, label):
    columns, rows = printed(label)
    assert list(block.directions) == columns
    assert {method: list(figures) for method, figures in block.figures.items()} == rows
    assert list(block.figures) == list(rows)


def test_a_figure_a_dash_and_no_cell_are_three_things():
    assert LEX_Z.figure("paper", "es-en") == (73.05,)
    assert LEX_C_FAR.figure("conneau2017", "lv-en") == (None,)
    assert LEX_Z.figure("default", "es-en") == ()
    assert LEX_Z.figure("paper", "de-en") == ()
    assert ABLATION.figure("paper", "es-en") == ()


def test_fewer_columns_keep_their_figures():
    few = LEX_Z.only(["en-it", "es-en"])
    assert few.directions == ("es-en", "en-it")
    assert few.figures["zhang2017"] == (63.41, 37.17)


@pytest.mark.parametrize(
    ("table", "pairs"),
    [
        ("lex-z", "tr-en es-en zh-en it-en"),
        ("lex-c", "bg-en ca-en sv-en lv-en de-en es-en fr-en it-en"),
        ("similarity", "de-en es-en fa-en it-en"),
        ("ablation", "es-en zh-en it-en"),
    ],
)
def test_pairs_and_their_columns(table, pairs):
    assert TABLES[table].pairs == tuple(pairs.split())
    columns = {direction for block in TABLES[table].blocks for direction in block.directions}
    assert {direction for pair in TABLES[table].pairs for direction in TABLES[table].directions(pair)} == columns


def test_turning_twice_changes_nothing():
    assert turned("es-en") == "en-es"
    assert turned(turned("es-en")) == "es-en"


def test_twelve_methods_of_which_the_paper_has_nine_in_its_order():
    assert len({method.name for method in METHODS}) == len(METHODS) == 12
    assert [method.name for method in METHODS if method.published] == list(LEX_Z.figures)
    assert {method.name for method in METHODS if not method.published} == {"joulin2018", "artetxe2018", "default"}
    assert [method.supervised for method in METHODS] == sorted((method.supervised for method in METHODS), reverse=True)


@pytest.mark.parametrize("method", METHODS, ids=lambda each: each.name)
def test_methods_are_supervised_where_their_recipes_are(method):
    if method.name not in RECIPES:
        pytest.skip(f"no recipe {method.name} yet")
    assert RECIPES[method.name].supervised == method.supervised


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.name)
def test_every_variant_changes_a_setting_that_there_is(variant):
    if "paper" not in RECIPES:
        pytest.skip("no recipe paper yet")
    settings = RECIPES["paper"].settings
    made = into(settings, variant.changes, "settings")
    assert (made == settings) == (variant.name == "paper")


def test_a_miss_lists_the_choices():
    with pytest.raises(SettingsError, match="no table is called 'lex'; there are: lex-z, lex-c, similarity, ablation"):
        find_table("lex")
    with pytest.raises(SettingsError, match="lex-z has no method called 'mikolov'; there are: mikolov2013, "):
        entrants_of("lex-z", ["paper", "mikolov"])
    with pytest.raises(SettingsError, match="ablation has no method called 'default'; there are: paper, without-"):
        entrants_of("ablation", ["default"])
    assert [entrant.name for entrant in entrants_of("lex-z", ["default", "paper"])] == ["paper", "default"]
