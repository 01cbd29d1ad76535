"""What can be wrong with the data that the tables need."""

from __future__ import annotations

from calque.errors import CalqueError


class DataError(CalqueError):
    """A catalogue that cannot be used, or a file that could not be fetched or is not what was expected."""


class DiskError(DataError):
    """A folder that cannot be written to, or a disk that is full: no other file will fare better."""


class NoConnectionError(DataError):
    """A server that could not even be connected to, so that its other files need not be tried."""
