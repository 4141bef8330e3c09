"""The last answers: bounded, in order, and each micro-batch once."""

import pyarrow as pa
import pytest

from joinfold import RunError, Session
from joinfold.runtime.showing.tail import Tail, keeping

QUERY = "SELECT k, COUNT(*) AS n FROM a [TUMBLE 2 MICROSECONDS] GROUP BY k"


def tail(most_rows: int) -> Tail:
    session = Session()
    session.stream("a", "k INT, ts BIGINT", time="ts", unit="ticks")
    return Tail(session.sql(QUERY).logical, most_rows)


def answers(*instants: int) -> pa.Table:
    rows = [{"instant": instant, "k": 1, "n": instant} for instant in instants]
    return pa.Table.from_pylist(rows, pa.schema([("instant", pa.int64()), ("k", pa.int32()), ("n", pa.int64())]))


def test_before_the_first_answer_it_has_the_columns_and_no_rows() -> None:
    assert tail(5).rows().schema.names == ["instant", "k", "n"]
    assert tail(5).rows().num_rows == 0


def test_it_keeps_the_last_rows_in_order() -> None:
    kept = tail(5)
    for batch, instants in enumerate([(3, 1, 2), (), (4,), (6, 5)]):
        kept.add(answers(*instants), batch)
    assert kept.rows()["n"].to_pylist() == [2, 3, 4, 5, 6]
    assert kept.rows(2)["n"].to_pylist() == [5, 6]
    assert kept.rows(0).num_rows == 0
    kept.add(answers(*range(7, 20)), 4)
    assert kept.rows(100)["n"].to_pylist() == [15, 16, 17, 18, 19]
    assert len(kept._batches) == 1  # what cannot be asked for is not kept


def test_a_micro_batch_that_comes_again_replaces_the_first_one() -> None:
    kept = tail(5)
    for batch, instant in ((0, 1), (1, 2), (1, 2)):
        kept.add(answers(instant), batch)
    assert kept.rows()["n"].to_pylist() == [1, 2]


class Frame:
    """The answers of a micro-batch, as far as a function needs them."""

    def toArrow(self) -> pa.Table:  # noqa: N802
        return answers(1)


def test_a_function_that_fails_is_named_with_its_micro_batch() -> None:
    def fail(table: pa.Table, batch: int) -> None:
        raise KeyError("price")

    kept = tail(5)
    with pytest.raises(RunError, match=r"your sink function failed in micro-batch 7, with KeyError: 'price'"):
        keeping(kept, fail)(Frame(), 7)  # type: ignore[arg-type]
    assert kept.rows().num_rows == 0


def test_a_function_gets_the_answers_and_so_does_the_tail() -> None:
    kept, got = tail(5), []
    keeping(kept, lambda table, batch: got.append((table.num_rows, batch)))(Frame(), 7)  # type: ignore[arg-type]
    assert (got, kept.rows().num_rows) == ([(1, 7)], 1)
