"""`python -m calque`: the command, where the installed script is not on the path."""

from __future__ import annotations

from calque.cli.main import entry

if __name__ == "__main__":
    entry()
