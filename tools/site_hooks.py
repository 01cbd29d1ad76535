"""What mkdocs runs while it builds the site: the command reference, made from the commands themselves.

A page that holds the line COMMANDS_HERE gets every command there, with every argument, its default and its sentence.
Nothing of it is kept in a file that could grow old.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tyro.conf import Positional, arg

from calque.cli.main import COMMANDS

COMMANDS_HERE = "<!-- every command, made from the code -->"
_POSITIONAL = get_args(Positional[int])[1]
_ARG = type(arg(name="some"))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs with the text of every page."""
    return markdown.replace(COMMANDS_HERE, reference()) if COMMANDS_HERE in markdown else markdown


def reference() -> str:
    """Every command, in the order of `calque --help`."""
    return "\n\n".join(_section(name, command) for name, command in commands())


def commands() -> Iterator[tuple[str, type]]:
    """The name and the dataclass of every command."""
    for entry in get_args(COMMANDS):
        command, named = get_args(entry)
        yield named.name, command


@dataclasses.dataclass(frozen=True)
class Argument:
    """What the command line makes of a field."""

    spelling: tuple[str, ...]
    """The flags, long one first; of a positional argument its metavar."""
    positional: bool
    takes: str
    default: str
    sentence: str


def arguments(command: type) -> list[Argument]:
    """Those of one command, positional ones first, those that every command has last."""
    hints, sentences = get_type_hints(command, include_extras=True), _sentences(command)
    fields = dataclasses.fields(command)
    listed = [_argument(field, hints[field.name], sentences[field.name]) for field in fields]
    own = set(vars(command).get("__annotations__", {}))
    order = [(not argument.positional, field.name not in own) for field, argument in zip(fields, listed, strict=True)]
    return [listed[place] for place in sorted(range(len(listed)), key=lambda place: order[place])]


def _section(name: str, command: type) -> str:
    listed = arguments(command)
    positional = " ".join(argument.spelling[0] for argument in listed if argument.positional)
    summary = " ".join((command.__doc__ or "").split())
    rows = [
        f"| {', '.join(f'`{spelling}`' for spelling in argument.spelling)} | {argument.takes} | {argument.default} "
        f"| {_cell(argument.sentence)} |"
        for argument in listed
    ]
    head = "| argument | takes | without it | |\n|---|---|---|---|\n"
    typed = f"calque {name} {positional}".strip()
    return f"## calque {name} {{ #{name} }}\n\n{summary}\n\n`{typed}`\n\n{head}" + "\n".join(rows)


def _argument(field: dataclasses.Field[Any], hint: Any, sentence: str) -> Argument:
    bare, notes = (get_args(hint)[0], get_args(hint)[1:]) if hasattr(hint, "__metadata__") else (hint, ())
    config = next((note for note in notes if isinstance(note, _ARG)), None)
    metavar = getattr(config, "metavar", None)
    default = _default(field)
    if _POSITIONAL in notes:
        name = metavar or field.name.upper()
        spelled = f"{name}…" if get_origin(bare) is tuple else name
        return Argument((spelled,), True, _takes(bare, None), default, sentence)
    aliases = tuple(getattr(config, "aliases", None) or ())
    name = getattr(config, "name", None) or field.name.replace("_", "-")
    return Argument((f"--{name}", *aliases), False, _takes(bare, metavar), default, sentence)


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        return "needed"
    if field.default is None or field.default is False or field.default in ("", ()):
        return ""
    return f"`{field.default}`"


def _takes(kind: Any, metavar: str | None) -> str:
    if metavar:
        return f"`{metavar}`"
    if get_origin(kind) is Literal:
        return " ".join(f"`{choice}`" for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return "one or more"
    kinds = [option for option in (get_args(kind) or (kind,)) if option is not type(None)]
    return {bool: "", int: "a number", Path: "a path", str: "text"}.get(kinds[0], "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _sentences(command: type) -> dict[str, str]:
    """The sentence under every field, those of the classes above it included."""
    sentences: dict[str, str] = {}
    for owner in reversed([owner for owner in command.__mro__ if dataclasses.is_dataclass(owner)]):
        body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, after in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
                sentences[field.target.id] = " ".join(str(ast.literal_eval(after.value)).split())
    return sentences
