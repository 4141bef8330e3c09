"""Aggregates, and what a set of rows must remember so that they can be computed over a join without building it.

An aggregate is a function of *components*. Most components are *moments*: sums of monomials x^p·y^q of the arguments
over all matching combinations. Within one join key a moment is a product, because every row of A matches every row
of B::

    Σ over A×B of f(a)·g(b)  =  (Σ over A of f)·(Σ over B of g)

So union adds, removal subtracts and join multiplies: a ring (F-IVM; Tran's "coalesced with the count" is its product
with a payload that holds only a count). MIN and MAX cannot remove a row. They form a semilattice whose neutral element
is "absent". The components of an aggregate decide which of the two it uses. A finisher computes the answer::

    AGGREGATES["corr"]   six moments               finishers.correlation
    AGGREGATES["max"]    the largest value         itself

``tests/algebra`` has both algebras in plain Python and tests every entry against their laws.

    >>> import numpy as np
    >>> from joinfold.numbers import ExactNumbers
    >>> rows, total, squares = (ExactNumbers(np.array([number])) for number in (4, 10, 30))  # of 1, 2, 3, 4
    >>> AGGREGATES["var_pop"].finisher(rows, total, squares).doubles()
    array([1.25])
"""

from joinfold.algebra.aggregates import AGGREGATES, ALIASES, AggregateFunction
from joinfold.algebra.components import BitCounts, Component, Extremum, Moment, Summed, TruthCount
from joinfold.algebra.monomial import Argument, Monomial

__all__ = [
    "AGGREGATES",
    "ALIASES",
    "AggregateFunction",
    "Argument",
    "BitCounts",
    "Component",
    "Extremum",
    "Moment",
    "Monomial",
    "Summed",
    "TruthCount",
]
