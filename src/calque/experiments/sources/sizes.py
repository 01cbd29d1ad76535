"""Sizes in words."""

from __future__ import annotations

UNITS = ("bytes", "kB", "MB", "GB", "TB")


def amount(size: int) -> str:
    """'6.6 GB': two figures, in decimal units as publishers count them."""
    number, unit = float(size), 0
    while number >= 999.5 and unit < len(UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.1f} {UNITS[unit]}" if unit and number < 9.95 else f"{number:.0f} {UNITS[unit]}"
