"""Words, vectors, word pairs and files of them."""
