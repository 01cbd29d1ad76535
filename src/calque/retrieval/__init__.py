"""Nearest neighbours: exact, approximate, and the lexicon that they imply."""
