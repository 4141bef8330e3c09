"""The table of a session's streams and relations."""

from joinfold import ARRIVAL, Session
from joinfold.explain.inputs import inputs_table


def test_streams_have_a_time_and_a_delay_and_relations_do_not() -> None:
    session = Session()
    session.stream("a", "k INT, ts TIMESTAMP", delay="1 minute")
    session.stream("b", "k INT, ts TIMESTAMP", time=ARRIVAL)
    session.table("t", "k INT")
    table = inputs_table(input_.source for input_ in session.inputs.values())
    assert table.rows == (
        ("a", "stream", "k INT, ts TIMESTAMP", "ts", "1 MINUTE"),
        ("b", "stream", "k INT, ts TIMESTAMP", "that of its micro-batches", "0 SECOND"),
        ("t", "relation", "k INT", "–", "–"),
    )
    assert table.notes == ()


def test_an_empty_session_says_how_to_go_on() -> None:
    assert inputs_table(()).notes[0].startswith("There are none yet")
