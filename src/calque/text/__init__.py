"""Texts in the common space, and classifiers carried from one language to the other. Needs the extra ``sklearn``."""

from calque.text.classifier import TextClassifier, train_classifier
from calque.text.tokens import VocabularyTokenizer
from calque.text.vectorizer import SpaceVectorizer

__all__ = ["SpaceVectorizer", "TextClassifier", "VocabularyTokenizer", "train_classifier"]
