"""Vector files in and out: every format by one name, one reader and one writer."""

from calque.formats.reading import Reading, load, read
from calque.formats.registry import FORMATS, bare_name, sniff, write
from calque.formats.sheet import Sheet

__all__ = ["FORMATS", "Reading", "Sheet", "bare_name", "load", "read", "sniff", "write"]
