"""The DuckDB reference against answers computed by hand, from the drawings.

In the query texts ``4us`` stands for ``4 MICROSECOND``; streams are tuples in the order of their schema.
"""

import datetime
import math
import re
from decimal import Decimal

import duckdb
import pytest

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import LogicalQuery, Source
from joinfold.reference.duck import answers, sql
from joinfold.reference.rows import Row

CATALOG = {
    "A": Source("A", read_schema("k BIGINT, ts TIMESTAMP, v DOUBLE"), True, "ts"),
    "B": Source("B", read_schema("k BIGINT, ts TIMESTAMP, w DOUBLE"), True, "ts"),
    "C": Source("C", read_schema("k BIGINT, ts TIMESTAMP, x DOUBLE"), True, "ts"),
    "P": Source("P", read_schema("k BIGINT, name STRING"), False),
    "untimed": Source("untimed", read_schema("k BIGINT"), True),
    "ticks": Source("ticks", read_schema("k BIGINT, tick INT"), True, "tick"),
    "numbers": Source(
        "numbers",
        read_schema("g STRING, ts TIMESTAMP, i INT, j BIGINT, d DOUBLE, f FLOAT, m DECIMAL(10, 2), s STRING, day DATE"),
        True,
        "ts",
    ),
}


def bound(text: str) -> LogicalQuery:
    return bind(parse(re.sub(r"(\d+)us", r"\1 MICROSECOND", text)), CATALOG)


def ask(text: str, **streams: list[tuple]) -> list[tuple]:
    data: dict[str, list[Row]] = {}
    for name, rows in streams.items():
        names = CATALOG[name].schema.names
        data[name] = [dict(zip(names, row, strict=True)) for row in rows]
    return answers(bound(text), data)


def at(*times: int | None) -> list[tuple]:
    """Rows of A with key 1 and a value equal to their number."""
    return [(1, ts, float(number)) for number, ts in enumerate(times, 1)]


# --- windows, one stream ------------------------------------------------------------------------------------


def test_sliding_window_holds_its_rows_and_costs_one_empty_answer_at_the_end():
    """
    0   4   8   12  16  20
    |   |   |   |   |   |
     1    6                      rows
      [-----)                    8: 6, as 1 < 2
          [-----)                12: 6
              [-----)            16: nothing, but 12 held something
    """
    found = ask("SELECT COUNT(*) AS n, SUM(v) AS s FROM A [6us SLIDE 4us]", A=at(1, 6))
    assert found == [(4, 1, 1.0), (8, 1, 2.0), (12, 1, 2.0), (16, 0, None)]


def test_a_row_at_the_boundary_belongs_to_the_next_window():
    assert ask("SELECT COUNT(*) AS n FROM A [TUMBLE 4us]", A=at(3, 4)) == [(4, 1), (8, 1), (12, 0)]


def test_a_gap_costs_one_empty_answer():
    found = ask("SELECT COUNT(*) AS n FROM A [TUMBLE 4us]", A=at(1, 1000))
    assert found == [(4, 1), (8, 0), (1004, 1), (1008, 0)]


def test_multiples_are_exact_before_the_epoch():
    assert ask("SELECT COUNT(*) AS n FROM A [TUMBLE 4us]", A=at(-5, -4)) == [(-4, 1), (0, 1), (4, 0)]


def test_start_shifts_the_moves():
    text = "SELECT COUNT(*) AS n FROM A [TUMBLE 4us START TIMESTAMP '1970-01-01 00:00:00.000001']"
    assert ask(text, A=at(3, 4, 5)) == [(5, 2), (9, 1), (13, 0)]


def test_rows_between_windows_are_in_none():
    """[2 SLIDE 5] holds [3, 5) and [8, 10); 6 lies between them."""
    assert ask("SELECT COUNT(*) AS n FROM A [2us SLIDE 5us]", A=at(4, 6)) == [(5, 1), (10, 0)]
    assert ask("SELECT k FROM A [2us SLIDE 5us]", A=at(4, 6)) == [(5, 1)]


def test_continuous_window_is_read_every_period():
    """[5, 10) holds 7. [7, 12) would too, but 12 is not a multiple of 5. [10, 15) is empty after a non-empty one."""
    assert ask("SELECT COUNT(*) AS n FROM A [5us] EMIT EVERY 5us", A=at(7)) == [(10, 1), (15, 0)]


def test_rows_window_moves_after_every_slide_rows():
    """Rows 1 2 | 3 4 | 5: it moves after the 2nd and the 4th, and holds up to 3."""
    found = ask("SELECT COUNT(*) AS n, SUM(v) AS s FROM A [ROWS 3 SLIDE 2]", A=at(10, 20, 30, 40, 50))
    assert found == [(21, 2, 3.0), (41, 3, 9.0)]


def test_rows_of_one_time_move_a_rows_window_once():
    assert ask("SELECT SUM(v) AS s FROM A [ROWS 2]", A=at(5, 5, 5)) == [(6, 5.0)]


def test_rows_are_numbered_by_time_then_by_the_values_read_null_first():
    rows = [(2, 5, 1.0), (None, 5, 2.0), (1, 5, 3.0)]
    assert ask("SELECT k FROM A [ROWS 1] GROUP BY k", A=rows) == [(6, 2)]
    assert ask("SELECT SUM(v) AS s FROM A [ROWS 2]", A=rows) == [(6, 5.0)]


def test_a_rows_window_numbers_before_it_filters():
    assert ask("SELECT COUNT(*) AS n FROM A [ROWS 2] WHERE v <> 2", A=at(1, 2, 3)) == [(2, 1), (3, 1), (4, 1)]


def test_partitioned_rows_keep_the_last_of_each_key_and_null_is_a_key():
    rows = [(1, 1, 1.0), (None, 2, 2.0), (1, 3, 4.0), (None, 4, 8.0)]
    found = ask("SELECT SUM(v) AS s FROM A [PARTITION BY k ROWS 1]", A=rows)
    assert found == [(2, 1.0), (3, 3.0), (4, 6.0), (5, 12.0)]


def test_range_by_rows_stands_still_between_its_moves():
    """
    1  3     7  8     20         the 2nd and the 4th row move it: 4 holds [-1, 4), 9 holds [4, 9)
    """
    found = ask("SELECT SUM(v) AS s FROM A [RANGE 5us SLIDE 2 ROWS] EMIT EVERY 10us", A=at(1, 3, 7, 8, 20))
    assert found == [(10, 7.0)]
    found = ask("SELECT SUM(v) AS s FROM A [RANGE 5us SLIDE 2 ROWS]", A=at(1, 3, 7, 8, 20))
    assert found == [(4, 3.0), (9, 7.0)]


def test_landmarks_answer_where_they_gained_a_row_after_their_mark():
    assert ask("SELECT COUNT(*) AS n FROM A [UNBOUNDED] EMIT EVERY 5us", A=at(1, 2, 16)) == [(5, 2), (20, 3)]
    marked = "SELECT COUNT(*) AS n FROM A [FROM TIMESTAMP '1970-01-01 00:00:00.000002'] EMIT EVERY 5us"
    assert ask(marked, A=at(1, 16)) == [(20, 1)]


def test_a_landmark_beside_another_window_gives_no_instants():
    text = "SELECT COUNT(*) AS n FROM A a [UNBOUNDED], B b [TUMBLE 4us] WHERE a.k = b.k"
    assert ask(text, A=at(1, 100), B=[(1, 5, 0.0)]) == [(8, 1), (12, 0)]


def test_rows_without_a_time_do_not_exist():
    assert ask("SELECT COUNT(*) AS n FROM A [ROWS 2]", A=at(None, 5, None)) == [(6, 1)]


def test_no_rows_no_instants():
    for rule in ("[TUMBLE 4us]", "[ROWS 2]", "[UNBOUNDED]", "[4us] EMIT EVERY 4us", "[4us] EMIT ON ARRIVAL"):
        assert ask(f"SELECT COUNT(*) AS n FROM A {rule}", A=[]) == []


def test_streams_without_a_time_count_and_integers_are_clocks():
    assert ask("SELECT SUM(k) AS s FROM untimed [ROWS 2 SLIDE 2]", untimed=[(8,), (4,), (2,), (1,)]) == [
        (3, 12),
        (5, 3),
    ]
    assert ask("SELECT SUM(k) AS s FROM ticks [TUMBLE 10us]", ticks=[(1, 9), (2, 10)]) == [(10, 1), (20, 2), (30, None)]


# --- joins --------------------------------------------------------------------------------------------------


def test_windows_of_a_join_may_differ_in_everything():
    """
          0     4     8     12
    A       1     5              [TUMBLE 4]: 4 holds 1, 8 holds 5
    B         2     6            [ROWS 1]: from 3 on 2, from 7 on 6
    """
    text = "SELECT a.v, b.w, COUNT(*) AS n FROM A a [TUMBLE 4us], B b [ROWS 1] WHERE a.k = b.k GROUP BY a.v, b.w"
    assert ask(text, A=at(1, 5), B=[(1, 2, 0.5), (1, 6, 0.25)]) == [
        (4, 1.0, 0.5, 1),
        (7, 1.0, 0.25, 1),
        (8, 2.0, 0.25, 1),
    ]
    counted = "SELECT COUNT(*) AS n FROM A a [TUMBLE 4us], B b [ROWS 1] WHERE a.k = b.k"
    found = ask(counted, A=at(1, 5), B=[(1, 2, 0.5), (1, 6, 0.25)])
    assert found == [(3, 0), (4, 1), (7, 1), (8, 1), (12, 0)]


def test_null_keys_join_nothing_and_are_one_group():
    rows = [(None, 1, 1.0), (None, 2, 2.0), (1, 3, 4.0)]
    text = "SELECT COUNT(*) AS n FROM A a [TUMBLE 4us], A b [TUMBLE 4us] WHERE a.k = b.k"
    assert ask(text, A=rows) == [(4, 1), (8, 0)]
    grouped = ask("SELECT k, SUM(v) AS s FROM A [TUMBLE 4us] GROUP BY k", A=rows)
    assert sorted(grouped, key=str) == [(4, 1, 4.0), (4, None, 3.0)]


def test_a_relation_is_the_same_at_every_instant():
    text = "SELECT p.name, COUNT(*) AS n FROM A a [TUMBLE 4us], P p WHERE a.k = p.k GROUP BY p.name"
    assert ask(text, A=at(1, 5), P=[(1, "one"), (2, "two")]) == [(4, "one", 1), (8, "one", 1)]


def test_three_inputs_and_a_self_join():
    text = (
        "SELECT COUNT(*) AS n, SUM(a.v * b.w * c.x) AS s FROM A a [UNBOUNDED], B b [UNBOUNDED], C c [UNBOUNDED] "
        "WHERE a.k = b.k AND b.k = c.k"
    )
    assert ask(text, A=at(1, 2), B=[(1, 3, 10.0)], C=[(1, 4, 1.0), (1, 5, 2.0), (2, 6, 9.0)]) == [(7, 4, 90.0)]
    self_join = "SELECT COUNT(*) AS n FROM A a [UNBOUNDED], A b [UNBOUNDED] WHERE a.k = b.k AND a.v < b.v"
    assert ask(self_join, A=at(1, 2, 3)) == [(4, 3)]


def test_trigger_is_one_instant_after_the_latest_row_of_any_stream():
    text = "SELECT COUNT(*) AS n FROM A a [4us], B b [4us] WHERE a.k = b.k AND b.w > 5 EMIT ON TRIGGER"
    assert ask(text, A=at(7, 8), B=[(1, 6, 9.0), (1, 10, 1.0)]) == [(11, 0)]
    assert ask(text, A=at(7, 8), B=[(1, 9, 9.0), (1, 10, 1.0)]) == [(11, 2)]
    assert ask(text, A=[], B=[]) == []


def test_arrival_answers_every_row_over_those_not_later():
    """At time 5 the row of A comes before the row of B, which is the second arrival of that instant."""
    text = "SELECT COUNT(*) AS n, SUM(b.w) AS s FROM A a [4us], B b [4us] WHERE a.k = b.k EMIT ON ARRIVAL"
    found = ask(text, A=at(1, 5), B=[(1, 5, 2.0), (None, 6, 4.0)])
    assert found == [(1, 1, 0, None), (5, 1, 0, None), (5, 2, 2, 4.0), (6, 1, 1, 2.0)]


def test_arrival_counts_the_last_rows_in_the_order_of_values():
    assert ask("SELECT SUM(v) AS s FROM A [ROWS 2] EMIT ON ARRIVAL", A=[(1, 5, 4.0), (1, 5, 1.0), (1, 6, 2.0)]) == [
        (5, 1, 1.0),
        (5, 2, 5.0),
        (6, 1, 6.0),
    ]
    self_join = "SELECT COUNT(*) AS n FROM A a [UNBOUNDED], A b [PARTITION BY k ROWS 1] WHERE a.k = b.k EMIT ON ARRIVAL"
    assert ask(self_join, A=at(5)) == [(5, 1, 0), (5, 2, 1)]


def test_full_answers_only_where_all_slides_meet():
    """4, 8, 12 … and 6, 12 …: they meet at 12, where A holds [8, 12) and B [6, 12)."""
    text = "SELECT COUNT(*) AS n FROM A a [TUMBLE 4us], B b [TUMBLE 6us] WHERE a.k = b.k SYNC ON FULL"
    assert ask(text, A=at(2, 9, 10), B=[(1, 3, 0.0), (1, 7, 0.0)]) == [(12, 2), (24, 0)]


# --- groups, HAVING, CHANGES --------------------------------------------------------------------------------


def test_having_filter_and_expressions_over_aggregates():
    text = (
        "SELECT k, SUM(v) / COUNT(*) AS mean, COUNT(*) FILTER (WHERE v > 1) AS large FROM A [TUMBLE 10us] "
        "GROUP BY k HAVING COUNT(*) > 1"
    )
    assert ask(text, A=[(1, 1, 1.0), (1, 2, 2.0), (2, 3, 5.0)]) == [(10, 1, 1.5, 1)]


def test_a_query_without_group_by_has_a_row_at_every_instant_unless_having_removes_it():
    text = "SELECT COUNT(*) AS n, MAX(v) AS top, AVG(v) AS mean FROM A [TUMBLE 4us] WHERE v > 9"
    assert ask(text, A=at(1)) == [(4, 0, None, None), (8, 0, None, None)]
    assert ask(f"{text} HAVING COUNT(*) > 0", A=at(1)) == []


def test_changes_show_what_appeared_changed_and_vanished():
    """
    key 1: 4 → 1.0, 8 → 2.0, 12 → gone     key 2: 4 → 5.0, 8 → 5.0 again, 12 → gone
    """
    rows = [(1, 1, 1.0), (1, 5, 2.0), (2, 2, 5.0), (2, 6, 5.0)]
    found = ask("SELECT SUM(v) AS s FROM A [TUMBLE 4us] GROUP BY k CHANGES", A=rows)
    assert sorted(found) == [
        (4, "insert", 1.0),
        (4, "insert", 5.0),
        (8, "update", 2.0),
        (12, "delete", 2.0),
        (12, "delete", 5.0),
    ]


def test_changes_come_after_having_and_are_exact():
    rows = [(1, 1, 1.0), (1, 5, 1.0 + 1e-12), (1, 9, math.inf), (1, 13, math.inf), (1, 17, 1.0)]
    found = ask("SELECT MAX(v) AS top FROM A [TUMBLE 4us] HAVING MAX(v) > 0 CHANGES", A=rows)
    updates = [(8, "update", 1.0 + 1e-12), (12, "update", math.inf), (20, "update", 1.0)]
    assert found == [(4, "insert", 1.0), *updates, (24, "delete", 1.0)]


# --- window ids ---------------------------------------------------------------------------------------------


def test_window_ids_join_windows_of_one_number():
    """
    A [4 SLIDE 4] from 4:  0: [4, 8)  1: [8, 12)  2: [12, 16), the last that begins at or before 13
    B [ROWS 2 SLIDE 1]:    0: rows 1-2  1: rows 2-3
    """
    text = "SELECT COUNT(*) AS n, SUM(b.w) AS s FROM A a [TUMBLE 4us], B b [ROWS 2] WHERE a.k = b.k SYNC ON WINDOW ID"
    found = ask(text, A=at(5, 6, 13), B=[(1, 70, 1.0), (1, 80, 2.0), (1, 90, 4.0)])
    assert found == [(0, 4, 8, 1, 2, 4, 6.0), (1, 8, 12, 2, 3, 0, None)]


def test_window_ids_begin_at_start_and_number_the_moves_of_range_by_rows():
    text = (
        "SELECT COUNT(*) AS n FROM A a [TUMBLE 4us START TIMESTAMP '1970-01-01 00:00:00.000006'], "
        "B b [RANGE 5us SLIDE 2 ROWS] WHERE a.k = b.k SYNC ON WINDOW ID"
    )
    found = ask(text, A=at(5, 6, 13), B=[(1, 1, 0.0), (1, 3, 0.0), (1, 8, 0.0), (1, 9, 0.0), (1, 30, 0.0)])
    assert found == [(0, 6, 10, -1, 4, 2), (1, 10, 14, 5, 10, 2)]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (1, [(0, 4, 8, 1, 1, 1), (1, 4, 8, 2, 2, 1), (2, 4, 8, 3, 3, 1)]),
        (2, [(0, 4, 8, 1, 1, 1), (1, 8, 12, 2, 2, 2), (2, 4, 8, 3, 3, 1)]),
        (3, [(0, 4, 8, 1, 1, 1), (1, 8, 12, 2, 2, 2)]),
    ],
)
def test_window_ids_modulo_repeat_the_first_windows_of_the_first_input(kept, expected):
    """With MOD 3 the answer ends at wid 2, for which the first input, with two windows, has none."""
    text = f"SELECT COUNT(*) AS n FROM A a [TUMBLE 4us], B b [ROWS 1] WHERE a.k = b.k SYNC ON WINDOW ID MOD {kept}"
    assert ask(text, A=at(5, 9, 10), B=[(1, 1, 0.0), (1, 2, 0.0), (1, 3, 0.0)]) == expected


def test_window_ids_with_changes():
    text = "SELECT COUNT(*) AS n FROM A [TUMBLE 4us] SYNC ON WINDOW ID CHANGES"
    assert ask(text, A=at(1, 5, 9, 10)) == [(0, 0, 4, "insert", 1), (2, 8, 12, "update", 2)]


def test_an_empty_stream_has_no_windows():
    text = "SELECT COUNT(*) AS n FROM A a [TUMBLE 4us], B b [TUMBLE 4us] WHERE a.k = b.k SYNC ON WINDOW ID"
    assert ask(text, A=at(1), B=[]) == []


# --- plain joins --------------------------------------------------------------------------------------------


def test_a_pair_is_emitted_once_at_the_later_entry_if_it_ever_shares_an_instant():
    """
    0   4   8   12
      2                  stays in A [4 SLIDE 4) during [4, 8)
         5               stays in B [UNBOUNDED] from 6 on: meets 2 at 6
              9          from 10 on: too late
    """
    text = "SELECT a.v, b.w FROM A a [TUMBLE 4us], B b [UNBOUNDED] WHERE a.k = b.k"
    assert ask(text, A=at(2), B=[(1, 5, 5.0), (1, 9, 9.0)]) == [(6, 1.0, 5.0)]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("[TUMBLE 4us]", [(4, 1.0), (4, 2.0), (8, 3.0)]),
        ("[4us]", [(2, 1.0), (4, 2.0), (8, 3.0)]),
        ("[ROWS 2 SLIDE 2]", [(4, 1.0), (4, 2.0)]),
        ("[ROWS 1 SLIDE 2]", [(4, 2.0)]),
        ("[PARTITION BY k ROWS 1]", [(2, 1.0), (4, 2.0), (8, 3.0)]),
        ("[RANGE 2us SLIDE 2 ROWS]", [(4, 2.0)]),
        ("[UNBOUNDED]", [(2, 1.0), (4, 2.0), (8, 3.0)]),
        ("[FROM TIMESTAMP '1970-01-01 00:00:00.000003']", [(4, 2.0), (8, 3.0)]),
    ],
)
def test_a_row_enters_with_the_first_instant_that_holds_it(window, expected):
    assert ask(f"SELECT v FROM A {window}", A=at(1, 3, 7)) == expected


def test_rows_of_one_time_may_pass_a_rows_window_unseen():
    assert ask("SELECT v FROM A [ROWS 1]", A=at(5, 5)) == [(6, 2.0)]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("[4us]", [(4, 1.0, 2.0), (4, 2.0, 2.0), (6, 2.0, 4.0)]),  # 1 leaves at 6, when 5 enters
        ("[ROWS 1]", [(4, 2.0, 2.0), (6, 2.0, 4.0)]),  # 1 leaves at 4, when 3 enters
        ("[PARTITION BY k ROWS 1]", [(4, 2.0, 2.0), (6, 2.0, 4.0)]),
        ("[RANGE 5us SLIDE 1 ROWS]", [(4, 1.0, 2.0), (4, 2.0, 2.0), (6, 1.0, 4.0), (6, 2.0, 4.0)]),
    ],
)
def test_a_pair_that_never_meets_is_not_emitted(window, expected):
    """A at 1 and 3, B at 3 and 5."""
    text = f"SELECT a.v, b.w FROM A a {window}, B b {window} WHERE a.k = b.k"
    found = ask(text, A=at(1, 3), B=[(1, 3, 2.0), (1, 5, 4.0)])
    assert sorted(found) == expected


def test_a_plain_join_under_window_ids_repeats_in_every_result_window():
    text = "SELECT a.v, b.w FROM A a [8us SLIDE 4us], B b [8us SLIDE 4us] WHERE a.k = b.k SYNC ON WINDOW ID"
    found = ask(text, A=at(1, 5), B=[(1, 6, 6.0)])
    assert sorted(found) == [(0, 0, 8, 4, 12, 1.0, 6.0), (0, 0, 8, 4, 12, 2.0, 6.0)]
    wide = ask(text, A=at(1, 5), B=[(1, 2, 2.0), (1, 6, 6.0)])
    assert sorted(row for row in wide if row[0] == 1) == [(1, 4, 12, 4, 12, 2.0, 6.0)]


# --- values -------------------------------------------------------------------------------------------------


def value(expression: str, **columns: object) -> object:
    """The value of an expression over one row."""
    names = CATALOG["numbers"].schema.names
    row = tuple({"ts": 0, **columns}.get(name) for name in names)
    ((_, found),) = ask(f"SELECT {expression} AS x FROM numbers [UNBOUNDED]", numbers=[row])
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("7 / 2", 3.5),
        ("i / 0", None),
        ("i % 0", None),
        ("-7 % 4", -3),
        ("m / 3", Decimal("4.116667")),
        ("m / 0", None),
        ("m % 5", Decimal("2.35")),
        ("m * 1.5", Decimal("18.525")),
        ("CEIL(m)", Decimal(13)),
        ("FLOOR(d)", -3),
        ("CAST(d AS INT)", -2),
        ("CAST(m AS INT)", 12),
        ("CAST(m AS DECIMAL(5, 1))", Decimal("12.4")),
        ("CAST(1e10 AS STRING)", "1.0E10"),
        ("CAST(1.25e-5 AS STRING)", "1.25E-5"),
        ("CAST(d AS STRING)", "-2.5"),
        ("LN(0)", None),
        ("GREATEST(i, NULL, 9)", 9),
        ("NULLIF(i, 7)", None),
        ("SUBSTRING(s, 0, 2)", "hé"),
        ("SUBSTRING(s, -3, 2)", "ll"),
        ("SUBSTRING(s, -7, 4)", "hé"),
        ("SUBSTRING(s, 2, -1)", ""),
        ("LEFT(s, -1)", ""),
        ("RIGHT(s, 2)", "lo"),
        ("REVERSE(s)", "olléh"),
        ("s || NULL", None),
        ("s LIKE 'h_l%'", True),
        ("'a_b' LIKE 'a\\\\_b'", True),
        ("'axb' LIKE 'a\\\\_b'", False),
        ("i IN (1, NULL)", None),
        ("i IN (7, NULL)", True),
        ("i > 5 OR NULL", True),
        ("i < 5 OR NULL", None),
        ("ts + INTERVAL 2 SECONDS", 2_000_000),
        ("DATE_TRUNC('WEEK', ts)", -3 * 86_400_000_000),
        ("HOUR(ts - INTERVAL 1 MICROSECOND)", 23),
        ("CAST(ts AS DATE)", datetime.date(1970, 1, 1)),
        ("CAST(ts AS STRING)", "1970-01-01 00:00:00"),
        ("CAST(day AS TIMESTAMP)", 86_400_000_000),
        ("TIMESTAMP '1970-01-01 00:00:01' - ts", 1_000_000),
        ("CASE WHEN i > 9 THEN 1 WHEN i > 5 THEN 2.5 END", Decimal("2.5")),
    ],
)
def test_expressions_have_sparks_meaning(expression, expected):
    row = {"i": 7, "d": -2.5, "m": Decimal("12.35"), "s": "héllo", "day": datetime.date(1970, 1, 2)}
    found = value(expression, **row)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("column", ["d", "f"])
def test_nan_is_the_largest_and_equals_itself(column):
    assert value(f"{column} = {column}", **{column: math.nan}) is True
    assert value(f"{column} > 1e300", **{column: math.nan}) is True
    assert value(f"{column} = 0", **{column: -0.0}) is True


def aggregated(expression: str, column: str, *values: object) -> object:
    """The value of an aggregate over rows that differ in one column."""
    names = CATALOG["numbers"].schema.names
    rows = [tuple({"ts": 0, column: value}.get(name) for name in names) for value in values]
    ((_, found),) = ask(f"SELECT {expression} AS x FROM numbers [UNBOUNDED]", numbers=rows)
    return found


def test_sums_are_exact_and_must_fit_only_in_the_end():
    large = 2**63 - 1
    assert aggregated("SUM(j)", "j", large, large, -large) == large
    assert aggregated("SUM(i * i)", "i", 100_000, 100_000) == 2 * 10**10
    with pytest.raises(duckdb.ConversionException):
        aggregated("SUM(j)", "j", large, 1)
    assert aggregated("SUM(m)", "m", Decimal("0.10"), None, Decimal("0.20")) == Decimal("0.30")
    assert aggregated("SUM(d)", "d", 1e16, 1.0, 1.0, -1e16) == 2.0
    assert aggregated("SUM(d)", "d", math.inf, 1.0) == math.inf
    assert aggregated("SUM(d)", "d", None) is None


def test_an_average_of_decimals_is_rounded_half_up_once():
    assert aggregated("AVG(m)", "m", Decimal("0.01"), Decimal("0.01"), Decimal("0.03")) == Decimal("0.016667")
    assert aggregated("AVG(m)", "m", Decimal("-0.01"), Decimal("-0.01"), Decimal("-0.03")) == Decimal("-0.016667")
    sixteenth = [Decimal("0.01"), *[Decimal("0.00")] * 31]  # 0.0003125
    assert aggregated("AVG(m)", "m", *sixteenth) == Decimal("0.000313")
    assert aggregated("AVG(m)", "m", None) is None
    assert aggregated("AVG(i)", "i", 1, 2) == 1.5


def test_extremes_and_statistics_at_their_edges():
    assert math.isnan(aggregated("MAX(d)", "d", math.nan, math.inf))
    assert aggregated("MIN(d)", "d", math.nan, None, 3.0) == 3.0
    assert aggregated("MAX(s)", "s", "Z", "a", "é") == "é"
    assert aggregated("VAR_SAMP(d)", "d", 1.0) is None
    assert aggregated("VAR_POP(d)", "d", 1.0) == 0.0
    assert math.isnan(aggregated("VAR_POP(d)", "d", 1.0, math.inf))
    assert aggregated("CORR(d, 1)", "d", 1.0, 2.0) is None
    assert aggregated("REGR_SLOPE(1, d)", "d", 0.1, 0.1, 0.1) is None
    assert aggregated("REGR_SLOPE(d, d)", "d", 1.0, 2.0, None) == pytest.approx(1.0)


def test_nan_and_negative_zero_are_keys():
    rows = [(1, 1, math.nan), (2, 1, math.nan), (3, 1, 0.0), (4, 1, -0.0)]
    found = ask("SELECT COUNT(*) AS n FROM A [UNBOUNDED] GROUP BY v", A=rows)
    assert found == [(2, 2), (2, 2)]
    pairs = ask("SELECT COUNT(*) AS n FROM A a [UNBOUNDED], A b [UNBOUNDED] WHERE a.v = b.v", A=rows)
    assert pairs == [(2, 8)]


def test_names_that_sql_would_mistake_are_quoted():
    source = Source("groups", read_schema("`order` BIGINT, ts TIMESTAMP"), True, "ts")
    query = bind(parse("SELECT MAX(`order`) AS `select` FROM groups `instants` [ROWS 1]"), {"groups": source})
    assert answers(query, {"groups": [{"order": 3, "ts": 1}]}) == [(2, 3)]


def test_the_statement_reads_from_rows_to_answers():
    text = sql(
        bound("SELECT a.k, COUNT(*) AS n FROM A a [TUMBLE 4us], B b [ROWS 1] WHERE a.k = b.k GROUP BY a.k CHANGES")
    )
    assert re.findall(r'^(?:WITH )?"?(\w+)"? AS \($', text, flags=re.MULTILINE) == [
        *("a_rows", "b_rows", "b_moves", "moved", "candidates", "holding", "instants", "steps"),
        *("a_window", "b_window", "combinations", "groups", "answers", "changes"),
    ]
