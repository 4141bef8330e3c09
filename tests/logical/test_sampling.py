"""By what a query may be sampled: two laws, and examples for which they hold or fail.

A sampler is allowed where a law holds for all rows. For every example that is refused, some rows break the law;
otherwise the refusal would be needless.
"""

import random
import re
from collections import defaultdict
from itertools import combinations, product
from operator import eq
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.graph import KeyClass
from joinfold.logical.query import LogicalQuery, Source
from joinfold.logical.sampling import (
    allows_row_sampling,
    divided_partitions,
    every_pair_matches,
    sampling_keys,
    shared_keys,
)
from joinfold.reference.evaluate import Context, evaluate, is_true
from joinfold.window import PartitionedRows

Row = dict[str, Any]
STREAMS, RELATIONS = "abc", "rs"
SCHEMA = read_schema("ts TIMESTAMP, k INT, j INT, v INT")
CATALOG = {name: Source(name, SCHEMA, name in STREAMS, "ts" if name in STREAMS else None) for name in "abcrs"}
VALUES = st.sampled_from([0, 1, 2, None])
ROWS = st.lists(st.fixed_dictionaries({"k": VALUES, "j": VALUES, "v": VALUES}), min_size=1, max_size=4)


def query_of(where: str, **windows: str) -> LogicalQuery:
    """COUNT(*) over the inputs that the condition names, a to c streams, r and s relations."""
    aliases = sorted(set(re.findall(r"\b([abcrs])\.", where)))
    inputs = [f"{alias} {windows.get(alias, '[UNBOUNDED]')}" if alias in STREAMS else alias for alias in aliases]
    return bind(parse(f"SELECT COUNT(*) AS n FROM {', '.join(inputs)} WHERE {where}"), CATALOG)


def data_for(query: LogicalQuery) -> st.SearchStrategy[dict[str, list[Row]]]:
    return st.fixed_dictionaries({input_.alias: ROWS for input_ in query.inputs})


def some_rows(seed: int) -> list[Row]:
    """Four rows, without NULL."""
    values = random.Random(seed)
    return [{column: values.randrange(3) for column in "kjv"} for _ in range(4)]


# --- rows -----------------------------------------------------------------------------------------------------


def pairs_of_a_key_match(query: LogicalQuery, data: dict[str, list[Row]]) -> bool:
    """Whether the number of matches is a product of one factor per row, among all rows that matches connect.

    If it is, two combinations can exchange rows, and the product of their numbers of matches stays.
    """
    streams = [input_.alias for input_ in query.streams]
    matches: dict[tuple[int, ...], int] = defaultdict(int)
    for rows in product(*(enumerate(data[input_.alias]) for input_ in query.inputs)):
        chosen = dict(zip((input_.alias for input_ in query.inputs), rows, strict=True))
        context = Context({alias: row for alias, (_, row) in chosen.items()})
        if all(is_true(condition, context) for condition in query.where):
            matches[tuple(chosen[alias][0] for alias in streams)] += 1
    for connected in blocks(list(matches)):
        for one, other in combinations(connected, 2):
            for place in range(len(streams)):
                first = (*one[:place], other[place], *one[place + 1 :])
                second = (*other[:place], one[place], *other[place + 1 :])
                if matches.get(first, 0) * matches.get(second, 0) != matches[one] * matches[other]:
                    return False
    return True


def blocks(found: list[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
    """The combinations in groups: those that share a row are in one group."""
    groups: list[list[tuple[int, ...]]] = []
    for one in found:
        touched = [group for group in groups if any(any(map(eq, one, other)) for other in group)]
        groups = [group for group in groups if group not in touched]
        groups.append([one, *(other for group in touched for other in group)])
    return groups


@pytest.mark.parametrize(
    "where",
    [
        "a.k = b.k",
        "a.k = b.k AND a.j = b.j",
        "a.k = b.k AND a.j = b.k",
        "a.k + a.j = b.k",
        "a.k = b.k AND a.v > 0 AND b.v < 2",
        "a.k = b.k AND b.k = c.k",
        "a.k = b.k AND b.j = r.j",
        "a.k = b.k AND b.v < r.v AND r.j = s.j",
        "a.k = b.k AND a.v < r.v AND b.v < s.v",
        "a.k = r.k AND r.k = b.k",
    ],
)
def test_rows_may_be_sampled_where_every_pair_of_a_key_matches(where: str) -> None:
    query = query_of(where)
    assert every_pair_matches(query) and allows_row_sampling(query)

    @given(data_for(query))
    def the_law_holds(data: dict[str, list[Row]]) -> None:
        assert pairs_of_a_key_match(query, data)

    the_law_holds()


@pytest.mark.parametrize(
    "where",
    [
        "a.k = b.k AND a.v < b.v",
        "a.k = b.k AND a.v BETWEEN b.v - 1 AND b.v",
        "a.k = b.k AND a.v + b.v > 2",
        "a.k = b.k AND b.j = c.j",
        "a.k = b.k AND b.k = c.k AND b.j = c.j",
        "a.k < b.k",
        "a.k = r.k AND r.j = b.j",
        "a.k = b.k AND a.j = r.j AND r.v < b.v",
        "a.k = b.k AND a.j = r.j AND r.k = s.k AND s.v = b.v",
    ],
)
def test_rows_may_not_be_sampled_where_some_pairs_do_not_match(where: str) -> None:
    query = query_of(where)
    assert not every_pair_matches(query) and not allows_row_sampling(query)
    tried = ({input_.alias: some_rows(9 * seed + i) for i, input_ in enumerate(query.inputs)} for seed in range(999))
    assert any(not pairs_of_a_key_match(query, data) for data in tried), "nothing shows that the refusal is needed"


def test_rows_of_a_partition_are_not_sampled() -> None:
    query = query_of("a.k = b.k", a="[PARTITION BY k ROWS 2]")
    assert every_pair_matches(query) and not allows_row_sampling(query)


# --- keys -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "members"),
    [
        ("a.k = b.k", ["a.k = b.k"]),
        ("a.k = b.k AND a.j = r.j", ["a.k = b.k"]),
        ("a.k = r.k AND r.k = b.k", ["a.k = r.k = b.k"]),
        ("a.k = b.k AND b.j = c.j", ["a.k = b.k", "b.j = c.j"]),
        ("a.k = r.k AND a.v < b.v", []),
        ("a.k = r.k", []),
        ("a.k < b.k", []),
    ],
)
def test_a_key_is_shared_if_two_streams_have_it(where: str, members: list[str]) -> None:
    keys = shared_keys(query_of(where))
    assert [" = ".join(f"{member.input}.{member.name}" for member in key.members) for key in keys] == members  # type: ignore[union-attr]
    assert sampling_keys(query_of(where)) == keys


def sampling_before_is_sampling_after(
    query: LogicalQuery, key: KeyClass, alias: str, rows: list[Row], kept: set[object]
) -> bool:
    """Whether a window of the kept rows holds the kept rows of the window; the last row of each partition is in it."""
    window = next(input_.window for input_ in query.inputs if input_.alias == alias)
    assert isinstance(window, PartitionedRows)
    numbered = list(enumerate(rows))

    def is_kept(row: Row) -> bool:
        values = {evaluate(member, Context({alias: row})) for member in key.of(alias)}
        return len(values) == 1 and values <= kept  # a row whose members differ joins nothing

    def last(rows: list[tuple[int, Row]]) -> set[int]:
        return set({tuple(row[column] for column in window.by): number for number, row in rows}.values())

    before = last([(number, row) for number, row in numbered if is_kept(row)])
    return before == {number for number in last(numbered) if is_kept(rows[number])}


PARTITIONS = [
    # PARTITION BY of a, WHERE, and which of the shared keys may be sampled
    ("k", "a.k = b.k", [True]),
    ("j", "a.k = b.k", [False]),
    ("v, k", "a.k = b.k", [True]),
    ("k, j", "a.k + a.j = b.k", [True]),
    ("k", "a.k + a.j = b.k", [False]),
    ("k", "a.k = b.k AND a.j = b.k", [False]),
    ("k, j", "a.k = b.k AND a.j = b.k", [True]),
    ("j", "a.k = b.k AND a.j = b.j", [False, True]),
    ("v", "a.k = b.k AND b.j = c.j", [False, True]),
    ("k", "b.k = c.k AND a.k = b.j", [True, True]),
]


@pytest.mark.parametrize(("by", "where", "allowed"), PARTITIONS)
def test_a_partition_is_kept_or_shed_as_a_whole(by: str, where: str, allowed: list[bool]) -> None:
    query = query_of(where, a=f"[PARTITION BY {by} ROWS 1]")
    keys = shared_keys(query)
    assert [key in sampling_keys(query) for key in keys] == allowed
    assert [not divided_partitions(query, key) for key in keys] == allowed
    for key, is_allowed in zip(keys, allowed, strict=True):
        if not key.of("a"):
            assert is_allowed, "the sample does not touch the stream"
        elif is_allowed:
            assert_whole(query, key)
        else:
            assert divided_partitions(query, key) == ("a",)
            tried = ((some_rows(seed), {seed % 3}) for seed in range(99))
            assert not all(sampling_before_is_sampling_after(query, key, "a", *drawn) for drawn in tried)


def assert_whole(query: LogicalQuery, key: KeyClass) -> None:
    @given(ROWS, st.sets(st.sampled_from([0, 1, 2, 3, 4])))
    def the_law_holds(rows: list[Row], kept: set[object]) -> None:
        assert sampling_before_is_sampling_after(query, key, "a", rows, kept)

    the_law_holds()


def test_one_key_must_serve_all_partitions() -> None:
    where = "a.k = b.k AND a.j = b.j"
    assert sampling_keys(query_of(where, a="[PARTITION BY k ROWS 1]", b="[PARTITION BY j ROWS 1]")) == ()
    (key,) = sampling_keys(query_of(where, a="[PARTITION BY k ROWS 1]", b="[PARTITION BY j, k ROWS 1]"))
    assert {member.name for member in key.members} == {"k"}  # type: ignore[union-attr]
