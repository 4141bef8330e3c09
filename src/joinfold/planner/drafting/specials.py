"""Sums over numbers that are not finite: which kinds of factors make a product that is nan, inf or -inf.

A product has one factor for each input, or the pair, that has a number. ``gathered`` is how many these are.
"""

from itertools import product as every_choice

from joinfold.physical.payload import SpecialKind

Kinds = tuple[SpecialKind | None, ...]  # the kind of number that is counted for each factor; None is any number

_NOT_FINITE: tuple[SpecialKind, ...] = ("nan", "inf", "-inf")
_SIGNS: dict[SpecialKind, int] = {"inf": 1, "-inf": -1, "positive": 1, "negative": -1}
_INFINITE: tuple[SpecialKind, ...] = ("inf", "-inf")


def any_special(gathered: int) -> list[tuple[SpecialKind, Kinds]]:
    """For statistics such as variances: the result is nan if any factor is not finite."""
    return [("nan", _only(kind, ordinal, gathered)) for ordinal in range(gathered) for kind in _NOT_FINITE]


def special_products(gathered: int) -> list[tuple[SpecialKind, Kinds]]:
    """For sums of products: which kinds of factors make a product that is nan, inf or -inf.

    nan × anything = nan     inf × zero = nan     inf × positive = inf     inf × negative = -inf
    """
    if gathered == 1:
        return [(kind, (kind,)) for kind in _NOT_FINITE]
    found: list[tuple[SpecialKind, Kinds]] = [("nan", _only("nan", ordinal, gathered)) for ordinal in range(gathered)]
    for infinite, ordinal, zero in every_choice(_INFINITE, range(gathered), range(gathered)):
        if ordinal != zero:
            chosen: list[SpecialKind | None] = ["zero" if other == zero else None for other in range(gathered)]
            chosen[ordinal] = infinite
            found.append(("nan", tuple(chosen)))
    for kinds in every_choice(_SIGNS, repeat=gathered):
        if {"inf", "-inf"} & set(kinds):
            negative = sum(_SIGNS[kind] < 0 for kind in kinds) % 2
            found.append(("-inf" if negative else "inf", kinds))
    return found


def _only(kind: SpecialKind, ordinal: int, gathered: int) -> Kinds:
    return tuple(kind if other == ordinal else None for other in range(gathered))
