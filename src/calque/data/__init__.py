"""Words, vectors and word pairs, and the files they stand in."""
