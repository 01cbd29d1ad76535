"""What the paper's tables need: what it is, whether it is there, and fetching it."""
