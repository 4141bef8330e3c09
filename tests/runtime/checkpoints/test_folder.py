"""Files of a checkpoint, through Hadoop's file systems."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

from joinfold.errors import RunError
from joinfold.runtime.checkpoints.folder import Folder

pytestmark = pytest.mark.spark


def test_files_are_written_copied_renamed_and_removed(spark: SparkSession, tmp_path: Path) -> None:
    folder, copy = Folder(spark, f"{tmp_path}/old/"), Folder(spark, f"{tmp_path}/new")
    assert folder.names("") == []
    folder.make("offsets")
    for name in ("offsets/0", "offsets/10", "offsets/.hidden", "state/0/1.zip", "joinfold.json"):
        folder.write(name, f"text é of {name}")
    assert sorted(folder.numbers("offsets")) == [0, 10] and folder.numbers("commits") == []
    assert folder.read("offsets/10") == "text é of offsets/10"
    folder.copy_to(copy, without={"joinfold.json"})
    assert sorted(copy.names("")) == ["offsets", "state"]
    copy.rename("state/0/1.zip", "state/0/7.zip")
    assert copy.files("state") == ["state/0/7.zip"] and folder.files("state") == ["state/0/1.zip"]
    copy.delete(["offsets/0"])
    copy.remove("state")
    assert copy.names("state") == [] and copy.numbers("offsets") == [10]
    assert copy.location == f"file:{tmp_path}/new"


def test_a_file_system_that_does_not_rename(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, f"{tmp_path}")
    folder.system = Mock(rename=lambda *paths: False)
    with pytest.raises(RunError, match="could not be renamed to 'state/7"):
        folder.rename("state/1.zip", "state/7.zip")
