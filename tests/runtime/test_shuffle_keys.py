"""Labels of buckets: one for each partition, by the hash that Spark has."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.runtime.shuffle_keys import murmur3_of_int, spread_shuffle_keys


@pytest.mark.spark
def test_labels_are_where_spark_puts_them(spark: Any) -> None:
    hashed = spark.range(50).selectExpr("hash(CAST(id AS INT)) AS h").toArrow().column("h").to_pylist()
    assert [murmur3_of_int(value) for value in range(50)] == hashed
    for partitions in (1, 2, 5):
        assert [murmur3_of_int(shuffle_key) % partitions for shuffle_key in spread_shuffle_keys(partitions)] == list(
            range(partitions)
        )


@pytest.mark.parametrize(
    ("value", "hashed"), [(0, 933211791), (1, -559580957), (-1, -1604776387), (2**31 - 1, 133916647)]
)
def test_hashes_that_spark_has_given(value: int, hashed: int) -> None:
    assert murmur3_of_int(value) == hashed


@given(partitions=st.integers(1, 200))
def test_every_partition_has_the_smallest_label_that_goes_there(partitions: int) -> None:
    labels = spread_shuffle_keys(partitions)
    smallest = {murmur3_of_int(value) % partitions: value for value in reversed(range(max(labels) + 1))}
    assert dict(enumerate(labels)) == smallest
