"""Published ways to align two spaces, each of the signature (task, settings) -> outcome."""
