"""What a worker does once; that garbage is collected sooner shows in the benchmark."""

import gc
import socket
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import joinfold as jf
from joinfold.runtime import workers


def test_what_is_written_to_a_connection_is_sent_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as connection:
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0
        workers._send_at_once()
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        accepted, _ = server.accept()
        with accepted:
            connection.sendall(b"still open")
            assert accepted.recv(100) == b"still open"


@pytest.mark.spark
def test_a_worker_does_not_search_what_it_has_loaded_for_garbage(spark: Any) -> None:
    def hidden(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"n": pa.array([gc.get_freeze_count()], pa.int64())})

    session = jf.Session(spark)
    session.stream("r", spark.sql("SELECT timestamp_micros(1) AS timestamp, 1 AS value"), time="timestamp")
    session.sql("SELECT COUNT(*) AS n FROM r [TUMBLE 1 SECOND]").collect()
    found = spark.range(0, 2, 1, 2).mapInArrow(hidden, "n BIGINT").toArrow()
    assert max(found.column("n").to_pylist()) > 50_000
