"""The messages for mistakes in queries, as golden files under tests/golden/errors.

`tests/golden_cases.py` describes the files. To add a case, write its first three parts and run `REGENERATE=1 pytest
tests/dialect/test_errors.py`. Then read the message as a user would. The streams that the queries may name are those of
`session` below.
"""

import re
from unicodedata import east_asian_width

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold import JoinfoldError, QueryError, Session
from joinfold.errors import EXCERPT_WIDTH
from joinfold.logical.expressions import Call
from tests.golden_cases import Case, cases_in

CASES = cases_in("errors")


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    session.stream("temperature", "location STRING, ts TIMESTAMP, celsius DOUBLE", time="ts")
    session.stream("smoke", "location STRING, ts TIMESTAMP, strength DOUBLE", time="ts")
    session.stream("bid", "auction BIGINT, bidder BIGINT, price DECIMAL(10, 2), ts TIMESTAMP", time="ts")
    session.table("person", "id BIGINT, name STRING, state STRING")
    return session


def report_of(session: Session, query: str) -> str:
    with pytest.raises(JoinfoldError) as caught:
        session.sql(query)
    assert isinstance(caught.value, QueryError), "a mistake in a query is a QueryError"
    return caught.value.report()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_report_is_the_golden_one(session: Session, case: Case) -> None:
    case.check(report_of(session, case.text))


def test_titles_are_unique() -> None:
    titles = [(case.path, case.title) for case in CASES]
    assert len(titles) == len(set(titles)) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_report_is_for_people(session: Session, case: Case) -> None:
    """Messages name no internals, lines fit, carets point at something, and hints are sentences."""
    report = report_of(session, case.text)
    message, *details = report.split("\n")
    assert message.startswith("QueryError: ") and not message.endswith(".")
    assert not re.search(r"sqlglot|<class|Traceback|None\b", report)
    hints = [line for line in details if line.startswith("Hint: ")]
    assert all(hint.endswith((".", "?", "…")) and not hint.startswith("Hint: The") for hint in hints)
    if len(details) > len(hints):
        line, carets, *rest = details
        assert len(line) <= EXCERPT_WIDTH + 6 and rest == hints
        assert set(carets.strip()) == {"^"}
        assert len(carets) <= sum(1 + (east_asian_width(char) in "WF") for char in line) + 1


@given(st.data())
def test_no_text_makes_anything_but_a_query_or_a_query_error(session: Session, data: st.DataObject) -> None:
    """Queries with words removed, repeated or inserted are bound, or refused with a place."""
    words = re.findall(r"\w+|\s+|.", data.draw(st.sampled_from(CASES)).text)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(words)))
        match data.draw(st.sampled_from(["lose", "end", "throw in"])):
            case "lose":
                words = words[:at] + words[at + 1 :]
            case "end":
                words = words[:at]
            case _:
                thrown = data.draw(st.sampled_from(THROWN_IN) | st.text(max_size=2))
                words = [*words[:at], thrown, *words[at:]]
    text = "".join(words)
    error = refusal_of(session, text)
    if error is None:
        query = session.sql(text)
        assert session.sql(query.to_sql()).logical == query.logical
    else:
        assert error.at is not None or "empty" in error.message
        assert "sqlglot" not in error.report()


def refusal_of(session: Session, text: str) -> QueryError | None:
    try:
        session.sql(text)
    except QueryError as error:
        return error
    return None


THROWN_IN = (
    "( ) [ ] , . ' \" ` * - -- /* ; = :: || -> <=> ? @ $ { } \\ 0 5 1.5 1e5 ² NULL AS SELECT FROM WHERE CASE WHEN END "
    "CAST( DECIMAL( INTERVAL TIMESTAMP DATE X' IN NOT LIKE BETWEEN ROWS SLIDE START PARTITION MOD ON OVER( FILTER( "
    "EXISTS( IF( ANY ALL STRUCT( ARRAY[ MAP LATERAL VALUES COLLATE ESCAPE DISTINCT EMIT SYNC OPTION( CHANGES "
    "SHED TO AND KEEP UP WITHIN PROCESS HOLD PER BYTES SAMPLE BY KEY CONFIDENCE PERCENT FAVOUR "
    "EQUAL AT LEAST OF EACH SEED"
).split()


def test_nesting_has_a_limit_and_long_chains_have_none(session: Session) -> None:
    deep = "(" * 3000 + "1" + ")" * 3000
    with pytest.raises(QueryError, match="nested too deeply"):
        session.sql(f"SELECT COUNT(*) FROM temperature [10 MINUTE] WHERE celsius > {deep}")
    with pytest.raises(QueryError, match="nested too deeply"):
        session.sql(f"SELECT COUNT(*) FROM temperature [10 MINUTE] WHERE celsius > {' + '.join(['1'] * 5000)}")
    chain = " OR ".join(f"celsius = {i}" for i in range(3000))
    (condition,) = session.sql(f"SELECT COUNT(*) FROM temperature [10 MINUTE] WHERE {chain}").logical.where
    assert isinstance(condition, Call) and len(condition.arguments) == 3000
