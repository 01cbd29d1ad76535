"""What a finished run is: alignments, families, and the folders that keep them."""
