"""Linear maps, their closed forms, and the way of each language into the common space."""
