"""Vector files in and out: every format by one name, one reader and one writer."""

from calque.data.formats.block_source import BlockSource
from calque.data.formats.reading import FORMATS, SpaceReading, bare_name, load, read, sniff, write

__all__ = ["FORMATS", "BlockSource", "SpaceReading", "bare_name", "load", "read", "sniff", "write"]
