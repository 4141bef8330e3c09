"""Windows of every kind under every rule of answering, as a timing and as a query for the reference."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import strategies as st

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import LogicalQuery, Source
from joinfold.physical.timing import AsFound, AtCandidates, AtTriggers, EmissionRule, Timing, full_rule, slide_rule
from joinfold.timetext import duration_text
from joinfold.window import Continuous, Grid, Landmark, Sliding, Window, common

SCHEMA = read_schema("ts TIMESTAMP, k INT")
ALIASES = "abcd"
HORIZON = range(-60, 130)

lengths = st.sampled_from([1, 2, 3, 4, 5, 6, 8, 9, 12, 15])
starts = st.none() | st.integers(-20, 20)
slidings = st.builds(Sliding, lengths, lengths, starts)
continuous = st.builds(Continuous, lengths)
landmarks = st.builds(Landmark, starts)
in_time = slidings | slidings | continuous | landmarks
any_windows = st.lists(in_time, min_size=1, max_size=3)


def timing(windows: Sequence[Window], rule: EmissionRule | None = None) -> Timing:
    """The timing of these windows, of streams without a delay; unless given, the rule is that of EMIT ON SLIDE."""
    own = slide_rule(windows) if rule is None else rule
    return Timing(tuple(ALIASES[: len(windows)]), tuple(windows), (0,) * len(windows), own)


def every(period_us: int) -> AtCandidates:
    """The rule of EMIT EVERY."""
    return AtCandidates((Grid(0, period_us),))


def bound(windows: Sequence[Window], clause: str, select: str = "COUNT(*) AS n") -> LogicalQuery:
    """A query over these windows."""
    aliases = ALIASES[: len(windows)]
    inputs = ", ".join(f"s {alias} {window.to_sql()}" for alias, window in zip(aliases, windows, strict=True))
    where = " AND ".join(f"{left}.k = {right}.k" for left, right in pairwise(aliases))
    text = f"SELECT {select} FROM {inputs} {'WHERE ' + where if where else ''} {clause}"
    return bind(parse(text), {"s": Source("s", SCHEMA, True, "ts", 0)})


@st.composite
def timings(draw: st.DrawFn) -> tuple[Timing, LogicalQuery]:
    """Windows in time that are answered at candidates."""
    rule = draw(st.sampled_from(["slide", "slide", "full", "every", "landmarks"]))
    windows: list[Window] = draw(any_windows)
    if rule in ("every", "landmarks"):
        if rule == "landmarks":
            windows = draw(st.lists(landmarks, min_size=1, max_size=3))
        period = draw(lengths)
        return timing(windows, every(period)), bound(windows, f"EMIT EVERY {duration_text(period)}")
    if not any(isinstance(window, Sliding) for window in windows):
        windows[draw(st.integers(0, len(windows) - 1))] = draw(slidings)
    if rule == "full" and common(window.moves for window in windows if isinstance(window, Sliding)) is not None:
        return timing(windows, full_rule(windows)), bound(windows, "SYNC ON FULL")
    return timing(windows), bound(windows, "EMIT ON SLIDE")


@st.composite
def triggered(draw: st.DrawFn) -> tuple[Timing, LogicalQuery]:
    """Windows in time whose instants the watermark chooses."""
    windows: list[Window] = draw(any_windows)
    return timing(windows, AtTriggers()), bound(windows, "EMIT ON TRIGGER")


@st.composite
def plain(draw: st.DrawFn) -> tuple[Timing, LogicalQuery]:
    """Windows in time whose combinations go out as they are found."""
    windows: list[Window] = draw(st.lists(in_time, min_size=2, max_size=3))
    return timing(windows, AsFound()), bound(windows, "", "a.k")


EVERY_KIND = st.tuples(timings(), triggered(), plain())
"""One of each kind."""


def candidates_in_horizon(own: Timing) -> list[int]:
    """The instants at which there may be an answer, of those that tests look at."""
    if own.any_instant:
        return list(HORIZON)
    assert isinstance(own.rule, AtCandidates)
    return sorted({at for grid in own.rule.grids for at in grid.between(HORIZON.start, HORIZON.stop)})
