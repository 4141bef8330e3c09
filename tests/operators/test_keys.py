"""Keys and groups of every type, NULLs among them, and the extremes of types that have no numbers."""

import datetime
import math
import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.inprocess.frames import frame_batch
from joinfold.operators.identities import RowIds
from joinfold.operators.stages.fold import Fold
from joinfold.operators.values import identity_codes, in_utc, stable_hash
from joinfold.physical.plan import Pipeline
from joinfold.planner.planned_query import PlannedQuery
from tests.operators.runs import Data, answer, check, check_stream, feed, plan_of, tables_of

WINDOW = "[20 MICROSECOND SLIDE 3 MICROSECOND]"

VALUES: dict[str, list[Any]] = {
    "STRING": ["a", "é", "e\u0301", "日本", "😀", "\x00", "x" * 10_000, "x" * 9_999 + "y", "", None, "a"],
    "BINARY": [b"", b"\x00", b"\xff", b"a" * 10_000, b"\x00\x00", None, b"\xff"],
    "BOOLEAN": [True, False, None, True],
    "TINYINT": [127, -128, 0, None],
    "SMALLINT": [2**15 - 1, -(2**15), 0, None],
    "INT": [2**31 - 1, -(2**31), 0, None],
    "BIGINT": [2**63 - 1, -(2**63), 0, -1, None, 2**63 - 1],
    "FLOAT": [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, None, math.nan],
    "DOUBLE": [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1.5, None, math.nan],
    "DECIMAL(38, 10)": [Decimal("1.5"), Decimal("-1.5"), Decimal("9" * 28 + "." + "9" * 10), Decimal(0), None],
    "DECIMAL(5, 2)": [Decimal("1.5"), Decimal("-1.5"), Decimal(0), None, Decimal("1.50")],
    "DATE": [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(1969, 12, 31), None],
    "TIMESTAMP": [0, -1, 253_402_300_799_999_999, -62_135_596_800_000_000, None],
    "TIMESTAMP_NTZ": [0, -1, 253_402_300_799_999_999, None],
}


def data_of(type_: str) -> Data:
    def rows(values: list[Any]) -> list[dict[str, Any]]:
        found = []
        for ordinal, value in enumerate(values):
            group = None if ordinal % 3 == 0 else "x" * (ordinal % 2)
            found.append({"ts": ordinal, "k": value, "v": ordinal, "g": group})
        return found

    return {"a": rows(VALUES[type_]), "b": rows(VALUES[type_][::-1] + VALUES[type_])}


@pytest.mark.parametrize("type_", sorted(VALUES))
@pytest.mark.parametrize(
    ("select", "groups"),
    [
        ("COUNT(*) AS n, SUM(a.v) AS s", ""),
        ("a.k, COUNT(*) AS n", " GROUP BY a.k"),
        ("MIN(a.k) AS low, MAX(b.k) AS high", ""),
        ("a.g, MIN(a.k) AS low, MAX(b.k) AS high", " GROUP BY a.g"),
        ("a.g, b.g AS h, MAX(a.g) AS m, COUNT(a.g) AS c", " GROUP BY a.g, b.g"),
        ("a.k, b.v, COUNT(*) AS n", " GROUP BY a.k, b.v"),
    ],
)
def test_keys_and_groups_of_every_type(type_: str, select: str, groups: str) -> None:
    data, schema = data_of(type_), f"k {type_}, v BIGINT, g STRING"
    check(f"SELECT {select} FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k{groups}", schema, data)
    check(f"SELECT {select}".replace("b.", "a.") + f" FROM a {WINDOW}{groups.replace('b.', 'a.')}", schema, data)


def test_keys_of_several_columns_with_nulls_in_each() -> None:
    rows = [
        {"ts": at, "k": k, "j": j, "v": at}
        for at, (k, j) in enumerate((k, j) for k in ("", "p", None) for j in (b"", b"p", None))
    ]
    data = {"a": rows, "b": rows[::-1]}
    text = f"SELECT a.k, a.j, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k AND a.j = b.j GROUP BY a.k, a.j"
    check(text, "k STRING, j BINARY, v BIGINT", data)


@pytest.mark.parametrize("type_", sorted(VALUES))
def test_a_hash_is_the_same_in_every_batch(type_: str) -> None:
    """It decides the bucket, so −0.0 and 0.0, and values in other batches, must agree; NULL is a group too."""
    plan = keyed(type_)
    columns = [frame_batch(plan.frames[0], tables_of(plan, data_of(type_))["a"]).column(plan.body.inputs[0].keys[0])]
    together = stable_hash(columns)
    alone = [stable_hash([columns[0].slice(ordinal, 1)])[0] for ordinal in range(len(together))]
    assert together.tolist() == alone
    assert len(set(alone)) > 1
    if type_ in ("FLOAT", "DOUBLE"):
        assert alone[0] == alone[1] and alone[2] == alone[-1]  # −0.0 and NaN


def keyed(type_: str) -> PlannedQuery:
    return plan_of(
        f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k", f"k {type_}, v BIGINT, g STRING"
    )


def test_nested_values_are_keys() -> None:
    column = pa.array([[{"x": 0.0}], [{"x": -0.0}], None, [{"x": None}], []])
    assert len(set(stable_hash([column]).tolist())) == 4
    ids = RowIds()
    assert ids.intern([column], 5).tolist() == [1, 1, 0, 2, 3]
    assert ids.intern([column[3:]], 2).tolist() == [2, 3]
    (code,) = identity_codes(column)
    assert len(set(code.tolist())) == 4


def test_timestamps_are_the_same_in_every_zone() -> None:
    zones = [None, "UTC", "Asia/Tokyo", "+05:30"]
    batches = [pa.RecordBatch.from_pydict({"t": pa.array([1, None], pa.timestamp("us", tz=zone))}) for zone in zones]
    assert [str(in_utc(batch).schema.field("t").type) for batch in batches] == ["timestamp[us]"] + 3 * [
        "timestamp[us, tz=UTC]"
    ]


# --- labels: the order of values without numbers ------------------------------------------------------------------

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


# --- ids that nobody uses any more --------------------------------------------------------------------------------


def test_a_bucket_does_not_remember_keys_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """New keys, groups and strings in every batch: what is kept follows the window, not the history."""
    monkeypatch.setattr("joinfold.operators.windows.live.MANY", 100)
    window = "[20 MICROSECOND SLIDE 10 MICROSECOND]"
    text = (
        f"SELECT a.g, b.g AS h, COUNT(*) AS n, MAX(a.g) AS m, SUM(b.v) AS s FROM a {window}, b {window} "
        "WHERE a.k = b.k GROUP BY a.g, b.g"
    )
    rows = [{"ts": ts, "k": ts // 3, "g": f"g{ts}", "v": ts} for ts in range(1500)]
    batches = [dict.fromkeys(("a", "b"), rows[start : start + 30]) for start in range(0, 1500, 30)]
    plan = plan_of(text, "k BIGINT, g STRING, v INT")
    machine = InProcess(plan)
    for batch in batches:
        feed(machine, batch)
        answer(machine)
    live = machine.buckets[0].live
    assert max(live.vocabulary.given, live.windows.totals.given, live.windows.totals.totals.groups) < 800
    check_stream(text, "k BIGINT, g STRING, v INT", batches[:8])


@pytest.mark.parametrize("emit", ["", "EMIT ON ARRIVAL"])
def test_a_bucket_that_is_made_anew_all_the_time_answers_the_same(emit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joinfold.operators.windows.fused.FusedWindows.has_drifted", True)
    monkeypatch.setattr("joinfold.operators.windows.live.Live.is_outgrown", lambda live, *held: True)
    window = "[9 MICROSECOND]" if emit else "[9 MICROSECOND SLIDE 2 MICROSECOND]"
    text = (
        f"SELECT a.g, COUNT(*) AS n, MIN(b.g) AS m, SUM(a.d * b.d) AS s FROM a {window}, b {window} "
        f"WHERE a.k = b.k GROUP BY a.g {emit} CHANGES"
    )
    rows = [{"ts": ts, "k": ts % 3, "g": None if ts % 5 == 0 else f"g{ts % 7}", "d": ts / 4} for ts in range(30)]
    batches = [dict.fromkeys(("a", "b"), rows[start : start + 10]) for start in range(0, 30, 10)]
    check_stream(text, "k BIGINT, g STRING, d DOUBLE", batches)


def test_pipelines_are_picklable() -> None:
    pipeline = plan_of(EXTREMES, "k STRING").pipeline
    again = pickle.loads(pickle.dumps(pipeline))
    assert isinstance(again, Pipeline) and again == pipeline
