"""A checkpoint is reached through Java, or through Spark Connect."""

from types import SimpleNamespace
from typing import Any, cast

from joinfold.runtime.checkpoints.directory import directory_of, numbers
from joinfold.runtime.checkpoints.served_folder import ServedFolder
from tests.runtime.checkpoints.local_directory import LocalDirectory


def test_over_connect_the_server_reads() -> None:
    remote = cast(Any, type("SparkSession", (SimpleNamespace,), {"__module__": "pyspark.sql.connect.session"})())
    found = directory_of(remote, "s3://bucket/checkpoint/")
    assert isinstance(found, ServedFolder) and found.root == "s3://bucket/checkpoint"


def test_the_numbers_in_a_folder(tmp_path: Any) -> None:
    directory = LocalDirectory(tmp_path)
    for name in ("0", "17", "18.tmp", ".hidden", "x"):
        directory.write(f"offsets/{name}", "")
    assert numbers(directory, "offsets") == {0, 17} and numbers(directory, "commits") == set()
