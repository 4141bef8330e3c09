"""A checkpoint that the last tagged version has written half of is finished by this one, or refused by its version."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from joinfold.dialect import bind, parse, read_schema
from joinfold.errors import UsageError
from joinfold.logical.query import Source
from joinfold.operators.codec import VERSION
from joinfold.reference.rows import from_arrow, to_arrow
from joinfold.reference.streaming import stream
from joinfold.runtime.checkpoints.manifest import OLD_FILE
from tests.operators.runs import Data
from tests.operators.state.golden import SCHEMA, TEXTS
from tests.operators.state.kept import going_on
from tests.runtime.checkpoints.local_directory import MANIFEST, LocalDirectory
from tests.runtime.half_a_checkpoint import run
from tests.strategies import assert_same_answers

ROOT = Path(__file__).parent.parent.parent

pytestmark = [pytest.mark.spark, pytest.mark.deep]


def last_version() -> str:
    """The newest tag; before the first there is only what is committed."""
    described = ["git", "describe", "--tags", "--abbrev=0", "--match", "v*"]
    found = subprocess.run(described, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else "HEAD"


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the last version."""
    folder = tmp_path_factory.mktemp("earlier")
    archive = subprocess.run(["git", "archive", last_version(), "src"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder / "src"


def put(folder: Path, batches: list[Data], part: int) -> None:
    """The rows of some micro-batches as one file of each stream."""
    schema = read_schema(SCHEMA)
    for name in "abc":
        (folder / name).mkdir(exist_ok=True)
        rows = [row for batch in batches for row in batch[name]]
        pq.write_table(to_arrow(rows, schema), folder / name / f"{part}.parquet")


@pytest.mark.parametrize("name", ["sliding", "landmark", "rows", "per_key", "chain"])
def test_half_of_a_checkpoint_is_finished(name: str, earlier: Path, tmp_path: Path, spark: Any) -> None:
    batches = going_on(14, rows=6, each_us=4, names="abc")
    halves = [batches[:8], batches[8:]]
    (tmp_path / "query.json").write_text(json.dumps({"text": TEXTS[name], "schema": SCHEMA}))
    put(tmp_path, halves[0], 0)
    environment = os.environ | {"PYTHONPATH": f"{earlier}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.runtime.half_a_checkpoint", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    put(tmp_path, halves[1], 1)
    directory = LocalDirectory(tmp_path / "checkpoint")
    manifest = directory.text(OLD_FILE) or (directory.text(MANIFEST) or "").partition(" ")[2]
    written = json.loads(manifest)["blob_version"]
    if written != VERSION:
        with pytest.raises(UsageError, match=f"holds blobs of version {written}"):
            run(tmp_path, spark)
        return
    run(tmp_path, spark)
    query = bind(parse(TEXTS[name]), {own: Source(own, read_schema(SCHEMA), True, "ts", 2) for own in "abc"})
    together = [{own: [row for batch in half for row in batch[own]] for own in "abc"} for half in halves]
    answers = pa.concat_tables([pq.read_table(path) for path in (tmp_path / "answers").glob("*.parquet")])
    found = [tuple(row.values()) for row in from_arrow(answers)]
    expected = stream(query, together).answers
    assert len(expected) > 10
    assert_same_answers(expected, found)
