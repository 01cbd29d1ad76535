from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from calque.data.toml_reader import into, read_toml
from calque.errors import SettingsError


@dataclass(frozen=True)
class Ship:
    """A part that stands in a table of its own."""

    sails: int
    flag: Literal["red", "blue"] = "red"


@dataclass(frozen=True)
class Fleet:
    """All kinds of values that a field can have."""

    ships: Mapping[str, Ship]
    speed: float = 1.0
    ports: tuple[str, ...] = ()
    log: Path | None = None
    at_sea: bool = True
    crew: int = field(
        default=1, metadata={"expected": "a whole number, at least 1", "fits": lambda number: number >= 1}
    )


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    return path


def test_a_file_becomes_a_dataclass_with_its_parts(tmp_path):
    values = 'speed = 3\nports = ["a", "b"]\nlog = "log.txt"\n'
    text = f'{values}[ships.one]\nsails = 2\n[ships.two]\nsails = 3\nflag = "blue"\n'
    fleet = into(Fleet, read_toml(file(tmp_path, text)))
    assert fleet == Fleet({"one": Ship(2), "two": Ship(3, "blue")}, 3.0, ("a", "b"), Path("log.txt"))
    assert type(fleet.speed) is float


def test_an_instance_keeps_what_the_table_does_not_name():
    assert into(Ship(2, "blue"), {"sails": 5}) == Ship(5, "blue")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "the file has no 'ships', which must be there"),
        ({"ship": {}}, "unknown key 'ship'; expected ships, speed, ports, log, at_sea, crew"),
        ({"ships": []}, "ships is []; expected a table"),
        ({"ships": {"one": 5}}, "ships.one is 5; expected a table"),
        ({"ships": {"one": {}}}, "ships.one has no 'sails', which must be there"),
        ({"ships": {"one": {"sails": 1, "x": 2}}}, "ships.one has no 'x'; there are: sails, flag"),
        ({"ships": {"one": {"sails": True}}}, "ships.one.sails is True; expected int"),
        ({"ships": {"one": {"sails": 1, "flag": "green"}}}, "ships.one.flag is 'green'; expected one of red, blue"),
        ({"ships": {}, "at_sea": 1}, "at_sea is 1; expected true or false"),
        ({"ships": {}, "log": ""}, "log is ''; expected the path of a file"),
        ({"ships": {}, "crew": "many"}, "crew is 'many'; expected a whole number, at least 1"),
        ({"ships": {}, "crew": 0}, "crew is 0; expected a whole number, at least 1"),
        ({"ships": {}, "speed": "x" * 90}, f"speed is '{'x' * 76}...; expected float"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_fit(table, message):
    with pytest.raises(SettingsError) as caught:
        into(Fleet, table)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["speed = ", "speed = 1\nspeed = 2\n"])
def test_a_file_that_is_not_toml_is_told_in_one_line(tmp_path, text):
    with pytest.raises(SettingsError, match=r"fleet\.toml: cannot be read as TOML: ") as caught:
        read_toml(file(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"none\.toml: cannot be read: No such file.*; expected a file in TOML"):
        read_toml(tmp_path / "none.toml")
