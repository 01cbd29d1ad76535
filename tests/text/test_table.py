from __future__ import annotations

import pytest

from calque.errors import FormatError
from calque.text.table import TextTable


def table(tmp_path, content: str, name: str = "t.tsv", **columns) -> TextTable:
    path = tmp_path / name
    path.write_bytes(content.encode())
    return TextTable(path, **columns)


def test_columns_are_named_or_numbered(tmp_path):
    content = "id\tcategory\ttext\n1\tlaw\tone\n\n2\t food \ttwo\n"
    expected = [("one", "law"), ("two", "food")]
    assert list(table(tmp_path, content).labelled()) == expected
    assert list(table(tmp_path, content, text="3", label="2").labelled()) == expected


def test_quotes_are_letters_with_tabs_and_quotes_with_commas(tmp_path):
    assert list(table(tmp_path, 'text\tcategory\n"a\tb\n').labelled()) == [('"a', "b")]
    made = table(tmp_path, 'text,category\r\n"a, ""b""\nc",law\r\n', "t.csv")
    assert list(made.labelled()) == [('a, "b"\nc', "law")]


def test_a_byte_order_mark_is_no_letter(tmp_path):
    assert table(tmp_path, "\ufefftext\tcategory\na\tb\n").check(labelled=True)


def test_a_file_without_labels_is_known(tmp_path):
    made = table(tmp_path, "text\nhello\n")
    assert not made.check(labelled=False)
    assert list(made.unlabelled()) == [("hello", "")]
    with pytest.raises(FormatError, match="no column 'category'; the head has text"):
        made.check(labelled=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"t\.tsv: is empty"),
        ("a\tb\n", r"no column 'text'; the head has a, b; name one of them with --text"),
        ("text\tcategory\na\tb\nalone\n", r"t\.tsv:3: has 1 columns, expected 2 or more"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path, content, message):
    made = table(tmp_path, content)

    def read() -> None:
        made.check(labelled=True)
        list(made.labelled())

    with pytest.raises(FormatError, match=message):
        read()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FormatError, match=r"none\.tsv: cannot be read"):
        TextTable(tmp_path / "none.tsv").check(labelled=True)
