"""The default method: search, lift, alternate, refine, contrast."""
