"""What follows from a stage: where its rows come from, how they are distributed, and what it gives."""

from dataclasses import replace

import pytest

from joinfold.physical.payload import InputSpec
from joinfold.physical.source import ConstantRow, StreamRows, ViewOf
from joinfold.physical.stage import (
    Body,
    FoldAtInstants,
    LastRowsPerKey,
    NumberRows,
    ToMerge,
    Totals,
    View,
    input_from,
    inputs_of,
    is_distributed,
    is_plain,
    is_replicated,
    makes_view,
)
from tests.planner.known import JOINED, SETS, WINDOW, stage_of

KEYLESS = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.x < b.x"
ALONE = f"SELECT COUNT(*) AS n FROM a {WINDOW}"


def joining(*classes: tuple[int, ...]) -> Body:
    """Inputs with keys of these classes."""
    names = "abcd"
    specs = (
        InputSpec(name=names[n], source=StreamRows(n), keys=tuple(f"{names[n]}.k{c}" for c in own), classes=own)
        for n, own in enumerate(classes)
    )
    return Body(tuple(specs))


@pytest.mark.parametrize(
    ("classes", "by"),
    [
        (((0,), (0,)), {0}),
        (((0, 1), (1, 0)), {0, 1}),
        (((0, 1), (1,)), {1}),
        (((0,), (0, 1), (1,)), {0}),  # none is common: the first of the most common ones
        (((0,), (0, 1), (1, 2), (1,)), {1}),
        (((), ()), set()),
        (((0,), (), (0,)), {0}),
    ],
)
def test_rows_are_distributed_by_the_keys_that_all_have_or_by_the_most_common_one(
    classes: tuple[tuple[int, ...], ...], by: set[int]
) -> None:
    body = joining(*classes)
    assert body.bucket_classes == by
    assert body.has_one_key == (len(set(map(frozenset, classes))) == 1)
    stage = FoldAtInstants(body, ToMerge())
    replicated = [is_replicated(stage, ordinal) for ordinal in range(len(classes))]
    if by:
        assert replicated == [not by <= set(own) for own in classes]
    else:
        assert not any(replicated), "one bucket has all there is"


def test_without_a_key_one_input_goes_to_every_bucket_and_the_other_is_distributed() -> None:
    stage = stage_of(KEYLESS)
    assert is_distributed(stage) and [is_replicated(stage, ordinal) for ordinal in range(2)] == [False, True]
    assert not is_distributed(stage_of(ALONE))


def test_the_constant_row_does_not_decide_where_rows_go() -> None:
    body = joining((0,), (0,))
    alone = replace(body, inputs=(body.inputs[0], InputSpec(name="", source=ConstantRow())))
    assert alone.bucket_classes == {0} and alone.has_constant_row and not body.has_constant_row
    assert stage_of(ALONE).body.has_constant_row


@pytest.mark.parametrize(
    "products", [((0, 0),), ((0, 0, 0), (1, 0)), ((1, 0, 0),)], ids=["too short", "too short", "no count"]
)
def test_products_have_a_column_of_each_place_and_the_first_counts(products: tuple[tuple[int, ...], ...]) -> None:
    assert replace(joining((0,), (0,)), integer_products=((0, 0, 0), (1, 0, 0)))
    with pytest.raises(AssertionError):
        replace(joining((0,), (0,)), integer_products=products)


def test_a_body_joins_at_least_two_inputs() -> None:
    with pytest.raises(AssertionError):
        joining((0,))


def test_groups_are_those_of_the_inputs_in_order_and_of_the_pair_behind_them() -> None:
    body = stage_of(f"SELECT COUNT(*) AS n {JOINED} GROUP BY b.g, a.x + b.x, a.g").body
    assert body.groups == ("a.g", "b.g", "(+ a.x b.x)") and not body.is_global
    assert stage_of(f"SELECT COUNT(*) AS n {JOINED}").body.is_global
    assert body.all_sums == (*body.inputs, body.pair)


def test_totals_have_a_column_for_each_product_and_extreme() -> None:
    body = stage_of(f"SELECT SUM(a.k * b.k) AS s, MAX(b.v) AS top {JOINED} GROUP BY a.g").body
    totals = Totals.of(body)
    assert (totals.groups, totals.integers, totals.reals) == (("a.g",), len(body.integer_products), 1)
    assert totals.extremes == (body.inputs[1].extremes[0],)


def test_who_reads_what_and_what_is_read_again() -> None:
    fold = stage_of(SETS)
    last = LastRowsPerKey(fold.body.inputs[0], ("a.g",), 3)
    view = replace(fold, output=View())  # type: ignore[call-arg]
    assert (inputs_of(NumberRows((0,))), inputs_of(last), inputs_of(fold)) == ((), (last.input,), fold.body.inputs)
    assert [input_from(fold, source) for source in (StreamRows(1), StreamRows(2), ViewOf(1))] == [1, None, None]
    assert [makes_view(stage) for stage in (NumberRows((0,)), last, fold, view)] == [False, True, False, True]
    assert last.stream == 0 and not any(map(is_plain, (last, fold)))
    assert is_plain(stage_of(f"SELECT a.v, b.v AS w {JOINED}"))


def test_views_and_rows_whose_leaving_nobody_knows_are_told() -> None:
    body = joining((0,), (0,))
    viewed = replace(body, inputs=(body.inputs[0], replace(body.inputs[1], source=ViewOf(0), open_ended=True)))
    assert (body.views, body.is_open_ended) == ((), False)
    assert (viewed.views, viewed.is_open_ended) == ((1,), True)
