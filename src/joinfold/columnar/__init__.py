"""Expressions over Arrow columns: for all rows of a batch at once, with the results of the reference row by row."""

from joinfold.columnar.evaluate import Key, evaluate, is_true

__all__ = ["Key", "evaluate", "is_true"]
