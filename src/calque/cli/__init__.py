"""The command. Parse, call the library, print."""

from calque.cli.main import main

__all__ = ["main"]
