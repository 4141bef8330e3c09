"""A join of three streams over two keys: on joinfold, on Spark, on DuckDB, and as the limit.

    person ── id = seller ── auction ── id = auction ── bid

A person stays from its row on, without end; auctions and bids stay while they are in their windows. A window of Spark
that ends at e has the content of joinfold's window at the instant e, so the answers can be compared row by row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from joinfold.query import Query
from joinfold.runtime.crossing import counted
from joinfold.session import Session
from joinfold.workloads.arrival import SECOND_US
from joinfold_bench.data import AuctionData
from joinfold_bench.engines.duck import DUCK, DuckTables
from joinfold_bench.engines.measurements import Measurement, Run
from joinfold_bench.engines.steps import bench_folder
from joinfold_bench.engines.streaming import JOINFOLD, LIMIT, run_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Streams = Mapping[str, DataFrame]

SPARK_JOINS = "Spark joins, then aggregates"
SIZE_US, SLIDE_US = 600 * SECOND_US, 10 * SECOND_US

WINDOW = "[10 MINUTE SLIDE 10 SECOND]"
TEXT = f"""
SELECT p.state, COUNT(*) AS n, AVG(b.price) AS a
FROM person p [UNBOUNDED], auction a {WINDOW}, bid b {WINDOW}
WHERE a.seller = p.id AND b.auction = a.id
GROUP BY p.state
"""

READ = {"person": ("id", "state"), "auction": ("id", "seller"), "bid": ("auction", "price")}
"""The columns that the query reads, besides the event time."""

FILES = {
    "person": "id BIGINT, name STRING, state STRING, city STRING, ts TIMESTAMP",
    "auction": "id BIGINT, seller BIGINT, category BIGINT, initial_bid BIGINT, expires TIMESTAMP, ts TIMESTAMP",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, ts TIMESTAMP",
}

DUCK_TEXT = """
SELECT $2::BIGINT AS instant, p.state, count(*)::BIGINT AS n, avg(b.price) AS a
FROM (FROM person WHERE ts < $2) p
JOIN (FROM auction WHERE ts >= $1 AND ts < $2) a ON a.seller = p.id
JOIN (FROM bid WHERE ts >= $1 AND ts < $2) b ON b.auction = a.id
GROUP BY p.state
"""

SPARK_WINDOW = "window(ts, '10 minutes', '10 seconds') AS window"
SPARK_TEXT = """
SELECT window.end AS instant, state, count(*) AS n, avg(price) AS a
FROM {offers} JOIN {bids} USING (window, auction)
GROUP BY window, state
"""


@dataclass(frozen=True, slots=True)
class StateSize:
    """The size of joinfold's state after it has read all events."""

    dataset: AuctionData
    entries: int
    state_bytes: int


def joinfold_query(streams: "Streams") -> Query:
    """The query on joinfold."""
    session = Session(next(iter(streams.values())).sparkSession)
    for name, rows in streams.items():
        session.stream(name, rows, time="ts")
    return session.sql(TEXT)


def limit(streams: "Streams") -> "DataFrame":
    """Hands the columns that the query reads to Python, which only counts their rows."""
    return counted(rows.select("ts", *READ[name]) for name, rows in streams.items())


def spark_joins(streams: "Streams") -> "DataFrame":
    """The query as a user of Spark would write it.

    It joins auctions with their sellers, copies the result and the bids for each of their sixty windows, joins the
    copies, and groups last. Any other order costs Spark more: auctions would be joined with sellers once per window.
    """
    persons, auctions, bids = (streams[name].withWatermark("ts", "0 seconds") for name in ("person", "auction", "bid"))
    sellers = persons.selectExpr("id AS seller", "state", "ts AS since")
    sold = auctions.selectExpr("id AS auction", "seller", "ts").join(sellers, "seller")
    offers = sold.selectExpr(SPARK_WINDOW, "auction", "state", "since").where("since < window.end")
    copies = bids.selectExpr(SPARK_WINDOW, "auction", "price")
    return bids.sparkSession.sql(SPARK_TEXT, offers=offers, bids=copies)


ENGINES: dict[str, Callable[["Streams"], "DataFrame"]] = {
    LIMIT: limit,
    JOINFOLD: lambda streams: joinfold_query(streams).to_df(),
    SPARK_JOINS: spark_joins,
}


def read_streams(session: Session, folder: Path, data: AuctionData) -> "Streams":
    """The files of a folder as streams, by name."""
    reader = session.spark.readStream.option("maxFilesPerTrigger", data.files_per_batch)
    return {name: reader.schema(columns).parquet(str(folder / name)) for name, columns in FILES.items()}


def run_auctions(
    session: Session, folder: Path, measurement: Measurement, *, cap_seconds: float, keep_answers: bool
) -> Run:
    """Runs the engine of a measurement once, and adds the run and its answers to the measurement."""
    assert isinstance(measurement.dataset, AuctionData)
    frame = ENGINES[measurement.engine](read_streams(session, folder, measurement.dataset))
    return run_frame(frame, measurement, cap_seconds, keep_answers)


def state_size(session: Session, folder: Path, data: AuctionData) -> StateSize:
    """Runs joinfold to the end of the data, and returns the size of its state."""
    query = joinfold_query(read_streams(session, folder, data))
    with bench_folder() as checkpoint:
        handle = query.start("noop", checkpoint=str(checkpoint), trigger="available")
        handle.wait()
        last = handle.history()[-1]
    return StateSize(data, last.live_entries, last.state_bytes)


def recompute(folder: Path, data: AuctionData, instants: Sequence[int], cap_seconds: float) -> Measurement:
    """DuckDB's answers at some instants, not timed."""
    tables = DuckTables(folder, {name: ", ".join(columns) for name, columns in READ.items()})
    try:
        done = tables.recompute(DUCK_TEXT, instants, SIZE_US, cap_seconds)
    finally:
        tables.close()
    return Measurement(DUCK, data, SLIDE_US, answers=[done.answers])
