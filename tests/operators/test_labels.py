"""Codes in the order of values: labels with gaps between them, which are used up seldom."""

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.labels import GapUsedUp, Labels, OrderLabels, PairLabels
from joinfold.operators.stages.fold import Fold
from joinfold.operators.values import ordered_pairs
from tests.operators.runs import check_stream
from tests.operators.typed import FEW, columns, order, same

things = st.lists(st.integers(-20, 20), max_size=6, unique=True)


@given(batches=st.lists(things, max_size=8), stride=st.sampled_from([1, 3, 2**40]))
def test_labels_are_in_the_order_of_things_and_never_change(batches: list[list[int]], stride: int) -> None:
    """Or there is no room for one between two others, and then there is for all of them at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("joinfold.operators.labels.STRIDE", stride)
        labels, given_to = Labels[int](), dict[int, int]()
        for items in batches:
            try:
                found = labels.of(items)
            except GapUsedUp:
                assert stride < 2**40
                labels, given_to = Labels[int](), {}
                found = labels.of(items)
            for item, label in zip(items, found, strict=True):
                assert given_to.setdefault(item, label) == label
            in_order = [given_to[item] for item in sorted(given_to)]
            assert in_order == sorted(set(in_order))
            assert len(labels) == len(given_to) and labels.sorted == sorted(given_to)
            assert {labels.item_of[label]: label for label in in_order} == given_to


@pytest.mark.parametrize("towards", [0, 1])
def test_a_gap_is_halved_some_forty_times_before_it_is_used_up(towards: int) -> None:
    labels, between = Labels[Fraction](), [Fraction(0), Fraction(1)]
    everything = set(between)
    labels.of(between)
    with suppress(GapUsedUp):
        while len(everything) < 100:
            between[1 - towards] = sum(between, Fraction(0)) / 2
            everything.add(between[1 - towards])
            labels.of([between[1 - towards]])
    assert 35 <= len(everything) <= 45
    assert len(Labels[Fraction]().of(sorted(everything))) == len(everything)  # at once there is room for all


@pytest.mark.parametrize("type_", FEW, ids=str)
@given(data=st.data(), complement=st.booleans())
def test_codes_are_in_the_order_of_values_or_turned_round(
    data: st.DataObject, type_: pa.DataType, complement: bool
) -> None:
    labels, code_of = OrderLabels(type_, complement), dict[Any, int]()
    for values in data.draw(st.lists(columns(type_), max_size=3)):
        column = pa.array(values, type_)
        codes, has = labels.codes(column)
        assert has.tolist() == [value is not None for value in values]
        code_of |= {same(value): code for value, code in zip(values, codes.tolist(), strict=True) if value is not None}
        again = labels.values(codes, has)
        assert again.type == type_ and list(map(same, again.to_pylist())) == list(map(same, column.to_pylist()))
    known = sorted((value for value in FEW[type_] if same(value) in code_of), key=order, reverse=complement)
    in_order = list(dict.fromkeys(code_of[same(value)] for value in known))
    assert in_order == sorted(set(code_of.values()))
    assert len(labels) == len(labels.labelled()) <= len(code_of)


pairs = st.tuples(st.none() | st.integers(0, 2), st.none() | st.sampled_from("abc"))


@given(batches=st.lists(st.lists(pairs, max_size=6), max_size=3), complement=st.booleans())
def test_pairs_are_in_order_of_what_they_are_ordered_by_then_of_their_values(
    batches: list[list[tuple[int | None, str | None]]], complement: bool
) -> None:
    """Whichever end is wanted, NULL is chosen last of values that are ordered by equal ones."""

    def place(pair: tuple[int, str | None]) -> tuple[int, bool, str]:
        return pair[0], (pair[1] is None) == complement, pair[1] or ""

    labels, code_of = PairLabels(pa.struct({"by": pa.int64(), "value": pa.string()}), complement), dict[Any, int]()
    for some in batches:
        by, values = pa.array([by for by, _ in some], pa.int64()), pa.array([own for _, own in some], pa.string())
        column = ordered_pairs(by, values)
        codes, has = labels.codes(column)
        assert has.tolist() == [by is not None for by, _ in some]
        code_of |= {pair: code for pair, code in zip(some, codes.tolist(), strict=True) if pair[0] is not None}
        assert labels.values(codes, has).to_pylist() == column.to_pylist()
    in_order = [code_of[pair] for pair in sorted(code_of, key=place, reverse=complement)]
    assert in_order == sorted(set(in_order))
    known = [(pair["by"], pair["value"]) for pair in labels.labelled().to_pylist()]
    assert known == sorted(code_of, key=place)


def test_where_there_is_no_value_there_is_no_code() -> None:
    labels = OrderLabels(pa.string(), complement=False)
    nothing = labels.values(np.zeros(2, np.int64), np.zeros(2, np.bool_))
    assert nothing.to_pylist() == [None, None] and len(labels) == 0


# --- what a bucket does where labels are used up --------------------------------------------------------------------

EXTREMES = "SELECT MIN(a.k) AS low, MAX(a.k) AS high FROM a [6 MICROSECOND SLIDE 1 MICROSECOND]"


@pytest.mark.parametrize("towards", ["low", "high", "middle"])
def test_values_that_keep_falling_into_one_gap(towards: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch halves the gap of the one before, so labels are used up again and again."""
    rebuilt = []
    rebuild = Fold.rebuild
    monkeypatch.setattr(Fold, "rebuild", lambda fold: (rebuilt.append(fold), rebuild(fold)))
    low, high = Decimal(0), Decimal(2) ** 100
    batches = [{"a": [{"ts": 0, "k": low}, {"ts": 0, "k": high}]}]
    for ts in range(1, 96):
        middle = (low + high) / 2
        if towards == "low" or (towards == "middle" and ts % 2):
            high = middle
        else:
            low = middle
        batches.append({"a": [{"ts": ts // 4, "k": middle.to_integral_value()}]})
    check_stream(EXTREMES, "k DECIMAL(38, 0)", batches)
    assert rebuilt


@given(
    values=st.lists(st.lists(st.text(max_size=3), max_size=4), min_size=1, max_size=12),
    stride=st.sampled_from([1, 2, 8, 2**40]),
)
def test_extremes_of_strings_in_any_order(values: list[list[str]], stride: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("joinfold.operators.labels.STRIDE", 16 * stride)
        batches = [{"a": [{"ts": ts, "k": value} for value in batch]} for ts, batch in enumerate(values)]
        check_stream(EXTREMES, "k STRING", batches)
