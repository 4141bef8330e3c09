"""A checkpoint is opened for copying."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from joinfold.errors import UsageError
from joinfold.runtime.upkeep.opening import open_checkpoint

pytestmark = pytest.mark.spark


def test_a_copy_needs_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no checkpoint"):
        open_checkpoint(spark, f"{tmp_path}/old", f"{tmp_path}/new")
