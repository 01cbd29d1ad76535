"""The commands that make many runs."""
