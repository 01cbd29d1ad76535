"""Ways to align two spaces, one file each."""
