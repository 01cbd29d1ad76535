"""Vector files in and out: every format by one name, one reader and one writer."""

from calque.data.formats.block_source import Sheet
from calque.data.formats.reading import Reading, load, read
from calque.data.formats.registry import FORMATS, bare_name, sniff, write

__all__ = ["FORMATS", "Reading", "Sheet", "bare_name", "load", "read", "sniff", "write"]
