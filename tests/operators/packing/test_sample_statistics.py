"""Glimpses as they travel, and what they see of batches."""

import numpy as np
import pyarrow as pa

from joinfold.operators.packing.sample_statistics import LOOKED_EVERY, SETS, TIMED, SampleStatistics, sample_statistics
from joinfold.physical.column_names import COUNT
from joinfold.physical.payload import InputSpec
from joinfold.physical.source import StreamRows

SPEC = InputSpec(name="a", source=StreamRows(0), keys=("a.k",), classes=(0,), groups=("a.g",))


def seen(number: int, ts: list[int], keys: list[int], counts: list[int]) -> SampleStatistics | None:
    """The glimpse of a batch whose entries have these keys and counts, all of one group."""
    columns = {"a.k": pa.array(keys), "a.g": pa.array([0] * len(keys)), COUNT: pa.array(counts)}
    return sample_statistics(SPEC, number, len(ts) + 1, np.array(ts, np.int64), pa.RecordBatch.from_pydict(columns))


def test_a_glimpse_survives_as_text() -> None:
    before = SampleStatistics(1, 2, 3, 4, 5, 6, 7, 8, 2**62, np.arange(SETS * 128, dtype=np.uint8).reshape(SETS, 128))
    after = SampleStatistics.of_text(before.text())
    np.testing.assert_array_equal(after.sketches, before.sketches)
    numbers = [name for name in SampleStatistics.__slots__ if name != "sketches"]
    assert len(numbers) == 9
    assert [getattr(after, name) for name in numbers] == [getattr(before, name) for name in numbers]


def test_rows_are_counted_whether_they_pass_or_not() -> None:
    found = seen(0, [3, 1, 2, 5], keys=[7, 8], counts=[2, 1])
    assert found is not None
    assert (found.read, found.rows, found.passing, found.timed, found.disordered) == (5, 4, 3, 4, 2)
    assert (found.entries, found.looked, found.compared, found.alike) == (2, 2, 3 * 2, 2)


def test_some_batches_are_looked_at_and_of_these_some_rows() -> None:
    ts = list(range(TIMED)) + [0] * 10
    looked = [seen(number, ts, [1], [1]) for number in range(2 * LOOKED_EVERY)]
    assert [number for number, found in enumerate(looked) if found is not None] == [0, LOOKED_EVERY]
    assert looked[0] is not None and (looked[0].timed, looked[0].disordered) == (TIMED, 0)
    assert seen(0, [], [], []) is None
