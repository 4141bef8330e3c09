"""Sums over numbers that are not finite: which kinds of numbers at all places make one that is nan, inf or -inf."""

from itertools import product as every_choice

from joinfold.physical.payload import SpecialKind

Kinds = tuple[SpecialKind | None, ...]  # what is counted at each place; None is any number

_NOT_FINITE: tuple[SpecialKind, ...] = ("nan", "inf", "-inf")
_SIGNS: dict[SpecialKind, int] = {"inf": 1, "-inf": -1, "positive": 1, "negative": -1}
_INFINITE: tuple[SpecialKind, ...] = ("inf", "-inf")


def any_special(places: int) -> list[tuple[SpecialKind, Kinds]]:
    """A statistic is nan as soon as one number at any place is not finite."""
    return [("nan", _only(kind, place, places)) for place in range(places) for kind in _NOT_FINITE]


def special_products(places: int) -> list[tuple[SpecialKind, Kinds]]:
    """Which kinds of numbers at all places make a product that is nan, inf or -inf; None is any number.

    nan × anything = nan     inf × zero = nan     inf × positive = inf     inf × negative = -inf
    """
    if places == 1:
        return [(kind, (kind,)) for kind in _NOT_FINITE]
    found: list[tuple[SpecialKind, Kinds]] = [("nan", _only("nan", place, places)) for place in range(places)]
    for infinite, place, zero in every_choice(_INFINITE, range(places), range(places)):
        if place != zero:
            chosen: list[SpecialKind | None] = ["zero" if other == zero else None for other in range(places)]
            chosen[place] = infinite
            found.append(("nan", tuple(chosen)))
    for kinds in every_choice(_SIGNS, repeat=places):
        if {"inf", "-inf"} & set(kinds):
            negative = sum(_SIGNS[kind] < 0 for kind in kinds) % 2
            found.append(("-inf" if negative else "inf", kinds))
    return found


def _only(kind: SpecialKind, place: int, places: int) -> Kinds:
    return tuple(kind if other == place else None for other in range(places))
