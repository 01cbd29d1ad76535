"""What the paper's tables need: what it is, whether it is there, and fetching it."""

from calque.experiments.sources.catalogue import SHIPPED, Absent, Catalogue, DataError, DataFile, Source, read_catalogue
from calque.experiments.sources.download import Patience
from calque.experiments.sources.fetch import DownloadResult, FetchOptions, fetch
from calque.experiments.sources.state import DiskError, FileState, amount, survey

__all__ = [
    "SHIPPED",
    "Absent",
    "Catalogue",
    "DataError",
    "DataFile",
    "DiskError",
    "DownloadResult",
    "FetchOptions",
    "FileState",
    "Patience",
    "Source",
    "amount",
    "fetch",
    "read_catalogue",
    "survey",
]
