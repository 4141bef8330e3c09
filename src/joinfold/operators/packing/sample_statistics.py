"""What PACK sees of a batch on the way: how many rows, in what order, with how many different keys.

It must cost next to nothing. So of the batches of a task the first is looked at, and every fourth after it. The order
is looked at in the first rows only, and keys, groups and all that tells entries apart in the first entries; entries are
fewer than rows. Texts are dear to hash: of these it takes fewer.
"""

from base64 import b64decode, b64encode
from dataclasses import dataclass, fields
from functools import lru_cache
from operator import attrgetter
from struct import Struct

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.kernels.compiling import Hashes, readable
from joinfold.kernels.sketch import REGISTERS, disorder, factors_of, sketched
from joinfold.operators.values import stable_codes
from joinfold.physical.column_names import COUNT
from joinfold.physical.payload import InputSpec

LOOKED_EVERY = 4  # batches of a task
TIMED = 1_024  # rows of a batch whose order is looked at
LOOKED = 4_096  # entries of a batch that are sketched
LOOKED_TEXTS = 512
SETS = 3  # keys, groups, and all that tells entries apart

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SampleStatistics:
    """What was seen of some rows of a stream: ``read`` of them, or ``rows`` with a time and after relations are joined.

    Of ``timed`` rows that were looked at, ``disordered`` came after one of a later time. Of all ``entries``, ``looked``
    were sketched. Their rows make ``compared`` pairs, of which ``alike`` have keys in one bin.
    """

    read: int
    rows: int
    passing: int
    timed: int
    disordered: int
    entries: int
    looked: int
    compared: int
    alike: int
    sketches: NDArray[np.uint8]

    def text(self) -> str:
        """The glimpse as it travels in a header, to every bucket: as short as can be."""
        return b64encode(_LAYOUT.pack(*_numbers_of(self)) + self.sketches.tobytes()).decode("ascii")

    @staticmethod
    def of_text(text: str) -> "SampleStatistics":
        """The inverse of `text`."""
        contents = b64decode(text)
        numbers = dict(zip(_NUMBERS, _LAYOUT.unpack_from(contents), strict=True))
        sketches = np.frombuffer(contents, np.uint8, offset=_LAYOUT.size).reshape(SETS, REGISTERS)
        return SampleStatistics(**numbers, sketches=sketches)

    def together(self, other: "SampleStatistics") -> "SampleStatistics":
        """What was seen of the rows of both."""
        added = {name: getattr(self, name) + getattr(other, name) for name in _NUMBERS}
        return SampleStatistics(**added, sketches=np.maximum(self.sketches, other.sketches))


_NUMBERS = tuple(field.name for field in fields(SampleStatistics) if field.name != "sketches")
_LAYOUT = Struct(f"<{len(_NUMBERS)}q")
_numbers_of = attrgetter(*_NUMBERS)


def sample_statistics(
    spec: InputSpec, number: int, read: int, ts: Integers, entries: pa.RecordBatch
) -> SampleStatistics | None:
    """What is seen of the batch of a task with this number: rows with these times, and entries of those that pass.

    None where there is no row with a time, and of batches that are not looked at.
    """
    if number % LOOKED_EVERY or not len(ts):
        return None
    first, names = readable(ts[:TIMED], np.int64), spec.identity
    columns = [entries.column(name) for name in names]
    is_cheap = all(pa.types.is_primitive(column.type) for column in columns)
    looked = min(entries.num_rows, LOOKED if is_cheap else LOOKED_TEXTS)
    codes = np.empty((len(columns), looked), np.int64)
    for place, column in enumerate(columns):
        codes[place] = stable_codes(column if looked == len(column) else column[:looked])
    counts = entries.column(COUNT).to_numpy()
    sketches, bins = sketched(codes, _factors(spec.keys, spec.groups, names), counts[:looked])
    rows = int(bins.sum())
    return SampleStatistics(
        read=read,
        rows=len(ts),
        passing=rows if looked == len(counts) else int(counts.sum()),
        timed=len(first),
        disordered=disorder(first),
        entries=len(counts),
        looked=looked,
        compared=rows * (rows - 1),
        alike=int(np.dot(bins, bins)) - rows,
        sketches=sketches,
    )


@lru_cache
def _factors(keys: tuple[str, ...], groups: tuple[str, ...], identity: tuple[str, ...]) -> Hashes:
    sets = [[name in own for name in identity] for own in (keys, groups, identity)]
    return factors_of(np.array(sets, np.bool_).reshape(SETS, len(identity)))
