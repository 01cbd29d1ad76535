"""Linear maps, their closed forms, and how a language gets into the common space."""
