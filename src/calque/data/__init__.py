"""What the paper's tables need: what it is, whether it is there, and fetching it."""

from calque.data.catalogue import SHIPPED, Absent, Catalogue, File, Source, read_catalogue
from calque.data.errors import DataError, DiskError
from calque.data.fetching import Errand, Outcome, fetch
from calque.data.sizes import amount
from calque.data.state import Standing, survey
from calque.data.transfer import Patience

__all__ = [
    "SHIPPED",
    "Absent",
    "Catalogue",
    "DataError",
    "DiskError",
    "Errand",
    "File",
    "Outcome",
    "Patience",
    "Source",
    "Standing",
    "amount",
    "fetch",
    "read_catalogue",
    "survey",
]
