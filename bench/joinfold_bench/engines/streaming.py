"""The table of streaming engines. An engine makes a streaming DataFrame of two streams, a window size and a slide."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from joinfold.session import Session
from joinfold.timetext import duration_text
from joinfold_bench.data import STREAMS
from joinfold_bench.engines import baselines
from joinfold_bench.engines.measure import run_stream
from joinfold_bench.engines.measurements import Measurement, Run
from joinfold_bench.engines.rates import rate_of, startup_seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Engine = Callable[["DataFrame", "DataFrame", int, int], "DataFrame"]

LIMIT = "limit: mapInArrow counting"
JOINFOLD = "joinfold"
SPARK_JOIN = "Spark join-then-aggregate"
SPARK_HAND = "Spark aggregate-then-join"


def query_text(size_us: int, slide_us: int) -> str:
    """The query of the benchmark."""
    window = f"[{duration_text(size_us)} SLIDE {duration_text(slide_us)}]"
    return f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s FROM a {window}, b {window} WHERE a.key = b.key GROUP BY a.g"


def joinfold_frame(a: "DataFrame", b: "DataFrame", text: str) -> "DataFrame":
    """A query over the streams ``a`` and ``b`` on joinfold, as a streaming DataFrame."""
    session = Session(a.sparkSession)
    session.stream("a", a, time="ts")
    session.stream("b", b, time="ts")
    return session.sql(text).to_df()


ENGINES: dict[str, Engine] = {
    LIMIT: lambda a, b, _size_us, _slide_us: baselines.limit(a, b),
    JOINFOLD: lambda a, b, size_us, slide_us: joinfold_frame(a, b, query_text(size_us, slide_us)),
    SPARK_JOIN: baselines.join_then_aggregate,
    SPARK_HAND: baselines.aggregate_then_join,
}


def run_engine(
    session: Session, folder: Path, measurement: Measurement, size_us: int, cap_seconds: float, keep_answers: bool
) -> Run:
    """Runs the engine of a measurement once, and adds the run and its answers to the measurement."""
    a, b = read_streams(session, folder, measurement)
    frame = ENGINES[measurement.engine](a, b, size_us, measurement.slide_us)
    return run_frame(frame, measurement, cap_seconds, keep_answers)


def read_streams(session: Session, folder: Path, measurement: Measurement) -> "list[DataFrame]":
    """The files of a folder as the streams a and b."""
    files_per_batch = measurement.dataset.files_per_batch
    return [baselines.file_stream(session.spark, str(folder / name), files_per_batch) for name in STREAMS]


def run_frame(frame: "DataFrame", measurement: Measurement, cap_seconds: float, keep_answers: bool) -> Run:
    """Runs a streaming DataFrame over all of its files, and adds the run and its answers to a measurement."""
    done = run_stream(frame, cap_seconds=cap_seconds, keep_answers=keep_answers)
    rate = rate_of(done, measurement.dataset.batch_rows)
    run = Run(rate, done.seconds, startup_seconds(done.batches), done.capped, done.state_bytes, done.batches)
    measurement.runs.append(run)
    if done.answers is not None:
        measurement.answers.append(done.answers)
    return run
