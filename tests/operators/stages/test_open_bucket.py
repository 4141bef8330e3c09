"""Every kind of stage has its bucket, which is empty and stands before the first row."""

import pytest

from joinfold.operators.calendars.position import Position
from joinfold.operators.emitted import NOTHING_EMITTED
from joinfold.operators.stages.arrivals import ArrivalFold
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.stages.fold import Fold
from joinfold.operators.stages.join_as_found import AsFoundJoin
from joinfold.operators.stages.join_at_moves import MoveJoin
from joinfold.operators.stages.last_rows import LastRows
from joinfold.operators.stages.number_rows import RowNumbers
from joinfold.operators.stages.open_bucket import open_bucket
from tests.operators.runs import plan_of

W = "[TUMBLE 5 MICROSECOND]"
COUNT = "SELECT COUNT(*) AS n FROM "
KINDS: list[tuple[str, int, type[Bucket]]] = [
    (f"{COUNT} a {W}, b {W} WHERE a.k = b.k", 0, Fold),
    (f"{COUNT} a [9 SECOND], b [9 SECOND] WHERE a.k = b.k EMIT ON ARRIVAL", 0, ArrivalFold),
    (f"{COUNT} a [ROWS 3], b {W} WHERE a.k = b.k", 0, RowNumbers),
    (f"{COUNT} a [ROWS 3], b {W} WHERE a.k = b.k", 1, Fold),
    (f"{COUNT} a [PARTITION BY k ROWS 3], b {W} WHERE a.k = b.k", 0, LastRows),
    (f"SELECT a.v, b.v AS w FROM a {W}, b {W} WHERE a.k = b.k", 0, AsFoundJoin),
    (f"SELECT a.v, b.v AS w FROM a {W}, b {W} WHERE a.k = b.k SYNC ON WINDOW ID", 0, MoveJoin),
]


@pytest.mark.parametrize(("text", "number", "kind"), KINDS)
def test_a_bucket_is_of_the_kind_of_its_stage(text: str, number: int, kind: type[Bucket]) -> None:
    plan = plan_of(text, "k INT, v INT")
    stage, choice = plan.stages[number], plan.choices[number]
    bucket = open_bucket(stage, plan.timing, 3, choice)
    assert type(bucket) is kind and bucket.stage is stage and bucket.timing is plan.timing
    assert (bucket.number, bucket.is_first) == (3, False) and open_bucket(stage, plan.timing, 0, choice).is_first
    names = plan.timing.names
    assert bucket.position.facts(names) == Position.beginning(len(names)).facts(names)
    assert (bucket.entries_held, bucket.cells_held, bucket.touched, bucket.watermark) == (0, 0, 0, None)
    (emitted,) = bucket.answer()
    assert emitted is NOTHING_EMITTED or (emitted.rows is None and emitted.numbers == [])
