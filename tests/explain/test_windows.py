"""Drawings of windows, exact on their scale. `REGENERATE=1` writes the golden files; read them as a user would."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold import Session
from joinfold.explain.windows import MARGIN, SHOWN, window_drawing
from joinfold.window import Sliding, common, merge
from tests.strategies import Case, cases

GOLDEN = Path(__file__).parent.parent / "golden" / "windows"
KEYS = "WHERE a.location = b.location"
MARKED = "FROM TIMESTAMP '2025-01-01 00:10:00'"
SHIFTED = "2 SECOND SLIDE 5 SECOND START TIMESTAMP '2025-01-01 00:00:03'"

QUERIES = {
    "sliding_and_tumbling": f"FROM smoke a [10 MINUTE SLIDE 4 MINUTE], heat b [TUMBLE 6 MINUTE] {KEYS}",
    "full": f"FROM smoke a [10 MINUTE SLIDE 4 MINUTE], heat b [TUMBLE 6 MINUTE] {KEYS} SYNC ON FULL",
    "rounded": f"FROM smoke a [1 HOUR SLIDE 1 SECOND], heat b [20 MINUTE SLIDE 3 MINUTE] {KEYS}",
    "continuous_and_landmark": f"FROM smoke a [1 HOUR], heat b [{MARKED}] {KEYS} EMIT EVERY 30 MINUTE",
    "gaps": f"FROM smoke a [{SHIFTED}], heat b [TUMBLE 10 SECOND] {KEYS}",
    "rows": f"FROM smoke a [ROWS 5000 SLIDE 1000], heat b [5 MINUTE SLIDE 1 MINUTE] {KEYS}",
    "range_by_rows": f"FROM smoke a [ROWS 5 SLIDE 2], heat b [RANGE 5 MINUTE SLIDE 1000 ROWS], room r {KEYS} "
    "AND r.location = a.location",
    "last_rows": f"FROM smoke a [PARTITION BY floor ROWS 3], heat b [TUMBLE 1 HOUR], room r {KEYS} "
    "AND r.location = a.location",
    "arrivals": f"FROM smoke a [10 MINUTE], heat b [UNBOUNDED] {KEYS} EMIT ON ARRIVAL",
    "window_ids": f"FROM smoke a [{SHIFTED}], tick b [6 MICROSECOND SLIDE 4 MICROSECOND], "
    "heat c [RANGE 5 MINUTE SLIDE 1000 ROWS], room r "
    f"{KEYS} AND b.location = c.location AND r.location = a.location SYNC ON WINDOW ID",
    "window_ids_mod": f"FROM smoke a [ROWS 5000 SLIDE 1000], heat b [TUMBLE 1 MINUTE] {KEYS} SYNC ON WINDOW ID MOD 2",
    "integers": "FROM tick [6 MICROSECOND SLIDE 4 MICROSECOND]",
}


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    for name in ("smoke", "heat"):
        session.stream(name, "location STRING, floor INT, ts TIMESTAMP", time="ts")
    session.stream("tick", "location STRING, seq BIGINT", time="seq", unit="ticks")
    session.table("room", "location STRING, wing INT")
    return session


@pytest.mark.parametrize("name", QUERIES)
def test_pictures(session: Session, name: str) -> None:
    query = session.sql(f"SELECT COUNT(*) AS n {QUERIES[name]}")
    drawn = query.explain("windows") + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("REGENERATE"):
        path.write_text(drawn, encoding="utf-8")
    assert drawn == path.read_text(encoding="utf-8")


def test_every_golden_file_has_its_query() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(QUERIES)


def sections_of(drawn: str) -> list[list[str]]:
    return [section.splitlines() for section in drawn.split("\n\n")]


@given(case=cases())
def test_any_query_is_drawn_within_80_columns_of_ascii(case: Case) -> None:
    query = case.bind()
    drawn = window_drawing(query)
    assert drawn.isascii()
    assert all(len(line) <= 80 for line in drawn.splitlines() if line.startswith((" ", "0", "1", "2")))
    headings = [line for line in drawn.splitlines() if line.split(" ")[0] in case.catalog]
    assert len(headings) == len(query.inputs)


windows = st.builds(Sliding, st.integers(1, 12), st.integers(1, 9), st.none() | st.integers(-9, 9))


@given(one=windows, two=windows)
def test_windows_and_instants_are_drawn_at_their_times(one: Sliding, two: Sliding) -> None:
    """Reads columns back as times. Every bar is the content of its window at a move, and every point is an instant."""
    session = Session()
    for name in "ab":
        session.stream(name, "k INT, seq BIGINT", time="seq", unit="ticks")
    text = f"SELECT COUNT(*) AS n FROM a {one.to_sql()}, b {two.to_sql()} WHERE a.k = b.k"
    _, axis, *inputs, points = sections_of(window_drawing(session.sql(text).logical))
    if "rounded" in axis[0]:
        return
    labels, ticks = axis[-2][MARGIN:].split(), [ordinal for ordinal, char in enumerate(axis[-1]) if char == "|"]
    origin, first = int(labels[0]), ticks[0]
    chars, per = ticks[1] - first, int(labels[1]) - origin

    def time_of(column: int) -> int:
        whole, part = divmod((column - first) * per, chars)
        assert part == 0
        return origin + whole

    last = time_of(ticks[-1])
    for window, lines in zip((one, two), inputs, strict=True):
        last = max(last, time_of(len(lines[-1]) - 1))
        bars = [line for line in lines if line.strip().startswith("[")]
        assert len(bars) == SHOWN
        moves = [time_of(bar.index(")")) for bar in bars]
        assert moves == list(window.moves.between(moves[0], moves[-1] + 1))
        assert [time_of(bar.index("[")) for bar in bars] == [window.bounds(move)[0] for move in moves]
    marked = {time_of(ordinal): char for ordinal, char in enumerate(points[1]) if char != " "}
    last, both = max(last, *marked), common((one.moves, two.moves))
    assert set(marked) == set(merge((one.moves, two.moves), origin, last + 1))
    assert {at for at, char in marked.items() if char == "#"} == set(both.between(origin, last + 1) if both else ())
