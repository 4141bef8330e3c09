"""Inputs given as schemas or paths: rows are read only if asked for, and no more than needed."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from joinfold import Session, UsageError
from joinfold.live import inputs
from joinfold.live.inputs import register

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
TABLE = pa.table({"ts": pa.array([NOON] * 5, pa.timestamp("us", tz="UTC")), "k": [1, 2, 3, 4, 5]})


@pytest.fixture
def folder(tmp_path: Path) -> str:
    parquet.write_table(TABLE, tmp_path / "1.parquet")
    parquet.write_table(TABLE, tmp_path / "2.parquet", use_deprecated_int96_timestamps=True)
    (tmp_path / "_SUCCESS").touch()
    return str(tmp_path)


def registered(streams: dict[str, str], tables: dict[str, str], with_rows: bool = True) -> Session:
    session = Session()
    register(session, streams, tables, {}, with_rows)
    return session


def test_rows_are_read_from_all_files(folder: str) -> None:
    session = registered({"a": folder}, {"r": f"{folder}/1.parquet"})
    assert session.inputs["a"].rows() == pa.concat_tables([TABLE, TABLE])
    assert session.inputs["r"].rows() == TABLE


def test_a_stream_is_read_no_further_than_needed(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MOST_ROWS", 6)
    session = registered({"a": folder}, {"r": folder})
    assert session.inputs["a"].rows().column("k").to_pylist() == [
        1,
        2,
        3,
        4,
        5,
        1,
        2,
    ]  # one more, to know that there are more
    assert session.inputs["r"].rows().num_rows == 10  # a relation is needed in full


def test_without_need_no_rows_are_read(folder: str) -> None:
    for session in (registered({"a": folder}, {}, with_rows=False), registered({"a": "k INT, ts TIMESTAMP"}, {})):
        assert session.sql("SELECT COUNT(*) FROM a [1 HOUR]").logical.inputs[0].source.time == "ts"
        with pytest.raises(UsageError, match="a schema without rows"):
            session.inputs["a"].rows()


def test_a_file_that_is_broken(folder: str) -> None:
    Path(folder, "3.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(UsageError, match="cannot read the rows of"):
        registered({"a": folder}, {})
