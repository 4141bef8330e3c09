"""Ids and codes of a bucket: what was put in comes back, and another vocabulary takes it over."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.entries import Entries
from joinfold.operators.vocabulary import ExtremeLabels, Vocabulary, sums_of
from tests.operators.runs import Row, packed_entries, plan_of

WINDOW = "[TUMBLE 9 MICROSECOND]"
PLAN = plan_of(
    "SELECT a.g, COUNT(*) AS n, SUM(a.d) AS s, MAX(a.g) AS x, MIN(b.d) AS y, MAX(CONCAT(a.g, b.g)) AS z "
    f"FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k AND a.v < b.v GROUP BY a.g",
    "k STRING, g STRING, v INT, d DOUBLE",
)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 20),
            "k": st.sampled_from("pqr"),
            "g": st.none() | st.sampled_from(["", "x", "y"]),
            "v": st.none() | st.integers(0, 2),
            "d": st.sampled_from([0.0, 0.5, -2.0]),
        }
    ),
    min_size=1,
    max_size=6,
)


def shown(vocabulary: Vocabulary, ordinal: int, entries: Entries, batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """All that the entries of a batch are said to be, but for their keys, with the values of codes and ids."""
    columns = {"cells": entries.cells.tolist(), "ints": entries.payload.ints[:, 0].tolist()}
    columns |= {name: own.to_pylist() for name, own in vocabulary.carried_columns(ordinal, entries.carried).items()}
    if ordinal == 0:
        (groups,) = vocabulary.group_columns({0: entries.group})
        columns["group"] = groups.to_pylist()
    for number, labels in enumerate(vocabulary.extremes[:2]):
        codes, has = entries.payload.codes[:, number], entries.payload.has[:, number]
        columns[f"extreme {number}"] = labels.values(codes, has).to_pylist()
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("by_class", [False, True])
@given(left=rows, right=rows)
def test_keys_of_all_inputs_have_the_same_ids(by_class: bool, left: list[Row], right: list[Row]) -> None:
    vocabulary, id_of = Vocabulary(PLAN.body, by_class), dict[str, int]()
    for ordinal, values in enumerate((left, right)):
        batch = packed_entries(PLAN, ordinal, values)
        entries = vocabulary.entries_of(ordinal, batch)
        assert entries.parts.shape == (batch.num_rows, 1 if by_class else 0)
        ids = (entries.parts[:, 0] if by_class else entries.key).tolist()
        for key, own in zip(batch.column(PLAN.body.inputs[ordinal].keys[0]).to_pylist(), ids, strict=True):
            assert id_of.setdefault(key, own) == own
    assert len(set(id_of.values())) == len(id_of) <= vocabulary.given


@given(before=rows, values=rows, ordinal=st.sampled_from([0, 1]), by_class=st.booleans())
def test_another_vocabulary_says_the_same_of_what_it_adopts(
    before: list[Row], values: list[Row], ordinal: int, by_class: bool
) -> None:
    """In pieces as they were, whatever ids it has given before."""
    old, new, batch = (
        Vocabulary(PLAN.body, by_class),
        Vocabulary(PLAN.body, by_class),
        packed_entries(PLAN, ordinal, values),
    )
    new.entries_of(ordinal, packed_entries(PLAN, ordinal, before))
    entries = old.entries_of(ordinal, batch)
    pieces = [entries.take(slice(0, 1)), entries.take(slice(1, None))]
    adopted = new.adopt(old, ordinal, pieces)
    assert list(map(len, adopted)) == list(map(len, pieces))
    for was, now in zip(pieces, adopted, strict=True):
        assert shown(new, ordinal, now, batch) == shown(old, ordinal, was, batch)
        assert now.payload.ints.tolist() == was.payload.ints.tolist()
        assert now.payload.reals.tolist() == was.payload.reals.tolist()
    again = new.entries_of(ordinal, batch)
    keys = [now.parts.tolist() if by_class else now.key.tolist() for now in adopted]
    assert keys[0] + keys[1] == (again.parts.tolist() if by_class else again.key.tolist())
    assert new.adopt(old, ordinal, []) == []


@given(values=rows)
def test_entries_are_known_by_their_values(values: list[Row]) -> None:
    batch, vocabulary = packed_entries(PLAN, 0, values), Vocabulary(PLAN.body, by_class=True)
    spec = PLAN.body.inputs[0]
    found = shown(vocabulary, 0, vocabulary.entries_of(0, batch), batch)
    expected = {"cells": "cell", "ints": "count", "group": spec.groups[0], "extreme 0": spec.extreme_names[0]}
    for name, column in (expected | {name: name for name in spec.carried}).items():
        assert [row[name] for row in found] == batch.column(column).to_pylist()
    assert [row["extreme 1"] for row in found] == [None] * len(found)  # it is the other input's


@given(values=rows)
def test_a_sum_is_counted_where_it_is_not_zero(values: list[Row]) -> None:
    spec, batch = PLAN.body.inputs[0], packed_entries(PLAN, 0, values)
    integers, reals = sums_of(spec, batch)
    assert integers.shape[1] == spec.integer_columns and reals.shape[1] == 2 * len(spec.reals) == 2
    counts = batch.column("count").to_pylist()
    assert integers[:, -1].tolist() == [
        count if high else 0 for count, high in zip(counts, reals[:, 0].tolist(), strict=True)
    ]


def test_a_view_that_has_no_value_yet_has_no_code() -> None:
    labels = ExtremeLabels(is_largest=True)
    codes, has = labels.codes(pa.nulls(2))
    assert not has.any() and labels.values(codes, has).to_pylist() == [None, None] and len(labels) == 0


@pytest.mark.parametrize("is_largest", [False, True])
def test_the_largest_code_is_that_of_the_value_that_is_wanted(is_largest: bool) -> None:
    labels = ExtremeLabels(is_largest)
    codes, has = labels.codes(pa.array(["b", None, "c", "a"]))
    assert has.tolist() == [True, False, True, True]
    best = np.argmax(np.where(has, codes, np.iinfo(np.int64).min))
    assert best == (2 if is_largest else 3)


def test_values_of_combinations_are_labelled_at_once_with_room_between_them() -> None:
    """Only they are: those of inputs come with the entries."""
    old, new = Vocabulary(PLAN.body, by_class=True), Vocabulary(PLAN.body, by_class=True)
    for number, texts in ((0, ["a", "b"]), (2, ["a", "c"]), (2, ["b"])):
        old.extremes[number].codes(pa.array(texts))
    new.label_pairs_of(old)
    assert [len(labels) for labels in new.extremes] == [0, 0, 3]
    labels = new.extremes[2].labels
    assert labels is not None and labels.labelled().to_pylist() == ["a", "b", "c"]
    codes, _ = labels.codes(pa.array(["a", "b", "c"]))
    assert codes[1] - codes[0] == codes[2] - codes[1]
