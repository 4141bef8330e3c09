"""A ROWS window joined with a time window: on joinfold, as the limit, and on DuckDB.

The first window moves with the rows of its stream, the second with time. Every move of either gives an answer (!):

    time                           0         1         2         3
    a [ROWS 6 SLIDE 2]               • •|  •       •|    • •|
    b [2 SECOND SLIDE 1 SECOND]    |         |         |         |
    answers                             !    !      !  !    !    !

DuckDB numbers the rows of the whole stream once, ordered by time and then by the columns that the query reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from joinfold.session import Session
from joinfold.timetext import duration_text
from joinfold.workloads.arrival import SECOND_US
from joinfold_bench.data import Dataset
from joinfold_bench.engines import baselines
from joinfold_bench.engines.answers import in_order
from joinfold_bench.engines.duck import DUCK, DuckTables
from joinfold_bench.engines.measurements import Measurement, Run
from joinfold_bench.engines.streaming import JOINFOLD, LIMIT, joinfold_frame, read_streams, run_frame

SIZE_US, SLIDE_US = 60 * SECOND_US, SECOND_US

NUMBERED = "CREATE TABLE numbered AS SELECT *, row_number() OVER (ORDER BY ts, key, g) AS number FROM a"

DUCK_TEXT = f"""
WITH moved AS (SELECT coalesce(max(number), 0) AS last FROM numbered WHERE number % {{slide}} = 0 AND ts < $2)
SELECT $2::BIGINT AS instant, a.g, count(*)::BIGINT AS n, sum(b.v)::BIGINT AS s
FROM (FROM numbered, moved WHERE number > last - {{rows}} AND number <= last) a
JOIN (FROM b WHERE ts >= $1 - $2 % {SLIDE_US} AND ts < $2 - $2 % {SLIDE_US}) b USING (key)
GROUP BY a.g
"""


@dataclass(frozen=True, slots=True)
class ByRows:
    """The query, with the size and the slide of the window of ``a``, both in rows."""

    rows: int
    slide: int

    @property
    def text(self) -> str:
        """The query for joinfold."""
        by_time = f"[{duration_text(SIZE_US)} SLIDE {duration_text(SLIDE_US)}]"
        inputs = f"a [ROWS {self.rows} SLIDE {self.slide}], b {by_time}"
        return f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s FROM {inputs} WHERE a.key = b.key GROUP BY a.g"

    def run(
        self, session: Session, folder: Path, measurement: Measurement, *, cap_seconds: float, keep_answers: bool
    ) -> Run:
        """Runs joinfold or the limit once, and adds the run and its answers to the measurement."""
        a, b = read_streams(session, folder, measurement)
        assert measurement.engine in (JOINFOLD, LIMIT)
        frame = joinfold_frame(a, b, self.text) if measurement.engine == JOINFOLD else baselines.limit(a, b)
        return run_frame(frame, measurement, cap_seconds, keep_answers)

    def recompute(self, folder: Path, data: Dataset, instants: Sequence[int], cap_seconds: float) -> Measurement:
        """DuckDB's answers at some instants, not timed."""
        tables = DuckTables(folder)
        try:
            tables.connection.execute(NUMBERED)
            text = DUCK_TEXT.format(rows=self.rows, slide=self.slide)
            done = tables.recompute(text, instants, SIZE_US, cap_seconds)
        finally:
            tables.close()
        return Measurement(DUCK, data, SLIDE_US, answers=[done.answers])


def some_instants(answers: pa.Table, most: int) -> list[int]:
    """About ``most`` instants of the answers, evenly spaced and in order; the last instant is one of them."""
    instants: list[int] = pc.unique(in_order(answers).column("instant")).to_pylist()
    return instants[:: -max(1, len(instants) // most)][::-1]
