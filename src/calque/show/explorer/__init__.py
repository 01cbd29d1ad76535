"""The explorer: a run as a page on this machine. Needs the extra `web`."""
