"""Published ways to align two spaces, one file each, each of the signature (task, settings) -> outcome."""
