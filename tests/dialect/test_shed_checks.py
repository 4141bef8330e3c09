"""SHED in bound queries: defaults, names, and queries that are accepted beside those of tests/golden/errors."""

import pytest

from joinfold import QueryError, Session
from joinfold.algebra import AGGREGATES
from joinfold.logical.query import LogicalQuery
from joinfold.logical.shedding import UNSTATED, AllTo, Estimating, Favouring, HoldRows, KeepUp, Process, Shed

SLIDE = "[4 MICROSECOND SLIDE 2 MICROSECOND]"
JOINED = f"FROM s a {SLIDE}, s b {SLIDE} WHERE a.k = b.k"
COUNT, PAIRS = f"SELECT COUNT(*) AS n {JOINED}", f"SELECT a.v, b.v AS w {JOINED}"


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    for name in ("s", "t"):
        session.stream(name, "ts TIMESTAMP, k INT, j INT, v INT, w DOUBLE, f BOOLEAN", time="ts")
    session.table("r", "k INT, j INT, v INT")
    return session


def shed_of(session: Session, text: str) -> Shed:
    shed = session.sql(text).logical.shed
    assert shed is not None
    return shed


@pytest.mark.parametrize(
    ("text", "shed"),
    [
        (f"{COUNT} SHED", Shed(UNSTATED, Estimating(None, 95.0), 0)),
        (f"{PAIRS} SHED", Shed(UNSTATED, Favouring("most pairs", 0, 0), 0)),
        (f"SELECT a.k {JOINED} GROUP BY a.k SHED", Shed(UNSTATED, Estimating(), 0)),
        (f"SELECT 1 AS one {JOINED} HAVING COUNT(*) > 5 SHED", Shed(UNSTATED, Estimating(), 0)),
        (
            f"{COUNT} SHED TO HOLD 5 ROWS AND KEEP UP SEED 7 CONFIDENCE 90 PERCENT SAMPLE BY ROW",
            Shed((KeepUp(), HoldRows(5)), Estimating("row", 90.0), 7),
        ),
        (f"{PAIRS} SHED FAVOUR ALL TO B", Shed(UNSTATED, Favouring(AllTo("b")), 0)),
        (
            f"{PAIRS} SHED TO PROCESS 10 ROWS PER SECOND AT LEAST 5 ROWS PER SECOND OF EACH AT LEAST 99 ROWS OF EACH",
            Shed((Process(10),), Favouring("most pairs", 99, 5), 0),
        ),
    ],
)
def test_parts_that_are_not_written_have_defaults(session: Session, text: str, shed: Shed) -> None:
    assert shed_of(session, text) == shed


def test_the_order_of_budgets_does_not_matter(session: Session) -> None:
    one = session.sql(f"{COUNT} SHED TO KEEP UP AND TO HOLD 5 ROWS").logical
    assert one == session.sql(f"{COUNT} SHED TO HOLD 5 ROWS AND KEEP UP").logical


def test_a_query_and_its_checkpoint_know_shed(session: Session) -> None:
    """OPTION does not change what a query means; SHED does."""
    exact, shed = session.sql(COUNT).logical, session.sql(f"{COUNT} SHED OPTION (adapt = off)").logical
    assert shed.without_options == session.sql(f"{COUNT} SHED").logical != exact
    assert shed.without_options != session.sql(f"{COUNT} SHED SEED 1").logical


ACCEPTED = [
    f"{COUNT} AND a.v < b.v AND a.w + b.w > 3 SHED TO KEEP UP SAMPLE BY KEY",
    f"{COUNT} AND a.v < b.v SHED",
    f"{COUNT} AND a.j = b.j SHED SAMPLE BY ROW",
    f"SELECT COUNT(*) AS n FROM s a {SLIDE}, s b {SLIDE}, r WHERE a.k = b.k AND b.v < r.v SHED SAMPLE BY ROW",
    f"SELECT COUNT(*) AS n FROM s a {SLIDE}, s b {SLIDE}, t c {SLIDE} WHERE a.k = b.k AND b.j = c.j SHED SAMPLE BY KEY",
    f"SELECT COUNT(*) AS n FROM s a [PARTITION BY k ROWS 2], s b {SLIDE} WHERE a.k = b.k SHED SAMPLE BY KEY",
    f"SELECT COUNT(*) AS n FROM s a [PARTITION BY v ROWS 2], s b {SLIDE}, t c {SLIDE} "
    "WHERE a.k = b.k AND b.j = c.j SHED",
    f"{COUNT} SYNC ON WINDOW ID SHED",
    f"{COUNT} EMIT ON TRIGGER CHANGES SHED",
    "SELECT COUNT(*) AS n FROM s a [5 MICROSECOND], s b [ROWS 2] WHERE a.k = b.k EMIT ON ARRIVAL SHED TO HOLD 5 ROWS",
    f"SELECT a.v FROM s a {SLIDE}, s b {SLIDE} WHERE a.v < b.v SHED",
    "SELECT a.v FROM s a [PARTITION BY v ROWS 2], s b [ROWS 5] WHERE a.k = b.k SHED TO PROCESS 5 ROWS PER SECOND",
    f"{PAIRS} SHED TO HOLD 20 ROWS AT LEAST 10 ROWS OF EACH",
    f"{PAIRS} SHED TO HOLD 5 BYTES AT LEAST 10 ROWS OF EACH",
    f"SELECT a.k AS low, COUNT(*) AS n, a.j AS k_low {JOINED} GROUP BY a.k, a.j SHED",
    f"SELECT a.v AS kept, b.v AS kept_low {JOINED} SHED",
    f"SELECT COUNT(*) AS n, a.j AS n_low {JOINED} GROUP BY a.j",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_the_nearest_queries_to_those_refused_are_accepted(session: Session, text: str) -> None:
    query = session.sql(text)
    assert (query.logical.shed is not None) == ("SHED" in text)
    assert session.sql(query.to_sql()).logical == query.logical


ARGUMENTS = {"bool_and": "a.f", "bool_or": "a.f", "count": "*"}
UNKNOWABLE = {"bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "min_by", "max_by"}


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_aggregate_is_estimated_or_refused(session: Session, name: str) -> None:
    arguments = ARGUMENTS.get(name, ", ".join(["a.v"] * AGGREGATES[name].arities[-1]))
    text = f"SELECT {name.upper()}({arguments}) AS x {JOINED} SHED"
    assert AGGREGATES[name].is_estimable == (name not in UNKNOWABLE)
    if name in UNKNOWABLE:
        with pytest.raises(QueryError, match=f"^{name.upper()} cannot be estimated: the sample says nothing"):
            session.sql(text)
    else:
        assert session.sql(text).schema.names == ("instant", "x", "x_low", "x_high", "kept")


def names_of(query: LogicalQuery) -> list[str]:
    return [f"{field.name} {field.type}" for field in query.schema]


def test_bounds_follow_numbers_of_aggregates_and_extremes_of_any_type(session: Session) -> None:
    select = (
        "a.k, COUNT(*) AS n, MAX(a.ts) AS t, COUNT(*) > 5 AS many, 2 * SUM(b.w) AS w, MIN(a.f) AS f, a.k + 1 AS next"
    )
    query = session.sql(f"SELECT {select} {JOINED} GROUP BY a.k CHANGES SHED").logical
    assert names_of(query) == [
        "instant TIMESTAMP", "change STRING", "k INT", "n BIGINT", "n_low BIGINT", "n_high BIGINT",
        "t TIMESTAMP", "t_low TIMESTAMP", "t_high TIMESTAMP", "many BOOLEAN",
        "w DOUBLE", "w_low DOUBLE", "w_high DOUBLE",
        "f BOOLEAN", "f_low BOOLEAN", "f_high BOOLEAN", "next INT", "kept DOUBLE",
    ]  # fmt: skip
    assert names_of(session.sql(f"{PAIRS} SHED").logical) == ["instant TIMESTAMP", "v INT", "w INT"]


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("COUNT(*) AS n, a.k AS n_low", "'n_low' is already the name of a bound of 'n', which SHED estimates"),
        ("a.k AS N_HIGH, COUNT(*) AS n", "'N_HIGH' is already the name of a bound of 'n', which SHED estimates"),
        ("COUNT(*), a.k AS count_low", "'count_low' is already the name of a bound of 'count', which SHED estimates"),
        ("COUNT(*) AS n_low, MAX(a.v) AS n", "'n_low' is already the name of a bound of 'n', which SHED estimates"),
        ("a.k AS Kept", "the answer already has a column 'Kept'"),
        ("COUNT(*) AS instant", "the answer already has a column 'instant'"),
        ("COUNT(*) AS n, MAX(a.v) AS n", "two outputs are called 'n'"),
    ],
)
def test_names_that_clash(session: Session, select: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        session.sql(f"SELECT {select} {JOINED} GROUP BY a.k SHED")
    assert caught.value.message == message
    assert caught.value.at is not None and caught.value.at.words == message.split("'")[1]
