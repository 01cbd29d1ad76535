"""Whose neighbour is whose: exact, approximate, and as a dictionary."""
