"""The method as published: Xu, Yang, Otani, Wu 2018, "Unsupervised Cross-lingual Transfer of Word Embedding Spaces"."""
