"""The steps of windows, the warnings about many, and the refusal of too many."""

import pytest

from joinfold import QueryError, Session
from joinfold.logical.steps import MANY_STEPS, MOST_STEPS, most_steps


def session() -> Session:
    made = Session()
    for name in "ab":
        made.stream(name, "k INT, ts TIMESTAMP", time="ts")
        made.stream(f"n{name}", "k INT, seq BIGINT", time="seq", unit="ticks")
    return made


COUNTED = {
    "a [1 HOUR SLIDE 1 SECOND]": "3,600 steps of 1 SECOND in a window of 1 HOUR",
    "a [10 SECOND SLIDE 3 SECOND]": "4 steps of 3 SECOND in a window of 10 SECOND",
    "a [TUMBLE 1 DAY]": "1 steps of 1 DAY in a window of 1 DAY",
    "a [1 HOUR] EMIT EVERY 1 SECOND": "3,600 steps of 1 SECOND in a window of 1 HOUR",
    "a [1 HOUR SLIDE 1 SECOND] EMIT EVERY 1 MINUTE": "60 steps of 1 MINUTE in a window of 1 HOUR",
    "a [1 HOUR SLIDE 1 SECOND] SYNC ON WINDOW ID": "3,600 steps of 1 SECOND in a window of 1 HOUR",
    "a [ROWS 10000000 SLIDE 1] SYNC ON WINDOW ID": None,
    "a [1 HOUR] EMIT ON TRIGGER": None,
    "a [1 HOUR] EMIT ON ARRIVAL": None,
    "a [UNBOUNDED] EMIT EVERY 1 MICROSECOND": None,
    "a [ROWS 10000000]": None,
    "a [1 HOUR SLIDE 1 MINUTE], b [1 SECOND SLIDE 1 SECOND] WHERE a.k = b.k": (
        "3,600 steps of 1 SECOND in a window of 1 HOUR"
    ),
    "a [1 HOUR SLIDE 4 SECOND], b [TUMBLE 6 SECOND] WHERE a.k = b.k SYNC ON FULL": (
        "300 steps of 12 SECOND in a window of 1 HOUR"
    ),
    "a [1 DAY SLIDE 1 DAY], b [1 HOUR SLIDE 1 SECOND] WHERE a.k = b.k SYNC ON WINDOW ID": (
        "3,600 steps of 1 SECOND in a window of 1 HOUR"
    ),
    "na [3000 MICROSECOND SLIDE 2 MICROSECOND]": "1,500 steps of 2 in a window of 3000",
}


@pytest.mark.parametrize(("written", "expected"), COUNTED.items())
def test_steps_are_counted(written: str, expected: str | None) -> None:
    steps = most_steps(session().sql(f"SELECT COUNT(*) AS n FROM {written}").logical)
    assert (None if steps is None else str(steps)) == expected


def test_a_plain_join_has_no_steps() -> None:
    text = "SELECT a.k, b.k AS j FROM a [1 DAY SLIDE 1 MICROSECOND], b [1 DAY SLIDE 1 MICROSECOND] WHERE a.k = b.k"
    assert most_steps(session().sql(text).logical) is None


@pytest.mark.parametrize("written", ["a [{} SECOND SLIDE 1 SECOND]", "a [{} SECOND] EMIT EVERY 1 SECOND"])
def test_many_steps_are_warned_of_and_too_many_are_refused(written: str) -> None:
    def warnings(seconds: int) -> tuple[str, ...]:
        return session().sql(f"SELECT COUNT(*) AS n FROM {written.format(seconds)}").warnings

    assert warnings(MANY_STEPS) == ()
    (warning,) = warnings(MANY_STEPS + 1)
    counted = "10,001 steps of 1 SECOND in a window of 10001 SECOND"
    assert warning == f"a row of 'a' is in up to 10,001 answers: there are {counted}"
    assert len(warnings(MOST_STEPS)) == 1
    with pytest.raises(QueryError, match="too many steps: 1,000,001 steps of 1 SECOND in a window of 1000001 SECOND"):
        warnings(MOST_STEPS + 1)


def test_the_builder_refuses_too_many_steps_too() -> None:
    built = session()["a"].window("1 hour", slide="1 microsecond").agg(n="COUNT(*)")
    with pytest.raises(QueryError, match="3,600,000,000 steps of 1 MICROSECOND in a window of 1 HOUR"):
        built.logical  # noqa: B018
