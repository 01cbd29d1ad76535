"""What the paper's tables need: what it is, whether it is there, and fetching it."""

from calque.experiments.sources.catalogue import SHIPPED, Absent, Catalogue, File, Source, read_catalogue
from calque.experiments.sources.errors import DataError, DiskError
from calque.experiments.sources.fetching import Errand, Outcome, fetch
from calque.experiments.sources.sizes import amount
from calque.experiments.sources.state import Standing, survey
from calque.experiments.sources.transfer import Patience

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
