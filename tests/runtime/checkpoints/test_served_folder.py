"""A query over Spark Connect, on a local server in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
import pytest

from tests.runtime.connect_client import CHAIN, TEXT, answers_in_process

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parent.parent.parent.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Any]:
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-m", "tests.runtime.connect_client", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    facts: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return facts


@pytest.mark.parametrize(("name", "text"), [("fold", TEXT), ("chain", CHAIN)])
def test_two_runs_on_one_checkpoint_answer_as_one(folder: Path, found: dict[str, Any], name: str, text: str) -> None:
    """A stream does not answer beyond its watermark, so instants after it are missing."""
    wanted = answers_in_process(text)
    wanted = wanted.filter(pc.less_equal(wanted.column("instant").cast(pa.int64()), 290_000_000))
    answers = parquet.read_table(folder / name).cast(wanted.schema)
    order = [(column, "ascending") for column in wanted.column_names]
    assert answers.sort_by(order).equals(wanted.sort_by(order)) and answers.num_rows > 5
    assert found[f"{name} 0"] == found[f"{name} 1"] == [150, 0, True]


def test_the_files_of_a_checkpoint_are_seen(found: dict[str, Any]) -> None:
    layouts, offsets, sources, none = found["names"]
    assert (layouts, sources, none) == (["1"], ["0", "1"], []) and {"0", "1"} <= set(offsets)
    metadata, missing = found["text"]
    assert "id" in json.loads(metadata) and missing is None and found["long"] is None
    assert found["again"] is False


def test_what_cannot_run_there_is_refused(found: dict[str, Any]) -> None:
    assert found["function"] == (
        "UsageError: over Spark Connect a sink function would run on the server, not in this process\n"
        "Hint: choose a sink of Spark, such as 'parquet' or 'memory'."
    )
    assert "belongs to another query" in found["another"]
    assert "the file '_joinfold/1/part-" in found["torn"] and "differs from its checksum" in found["torn"]
    assert 'spark.conf.set("spark.sql.ansi.enabled", "true")' in found["ansi"]


def test_bounded_rows_are_collected(found: dict[str, Any]) -> None:
    assert found["collected"] is True
