"""Figures for papers, from what `views` says of a run. Needs the extra `plots`."""
