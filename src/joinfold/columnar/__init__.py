"""Expressions over Arrow columns: what the reference says of one row, computed for all rows of a batch at once."""

from joinfold.columnar.evaluate import Key, evaluate, is_true

__all__ = ["Key", "evaluate", "is_true"]
