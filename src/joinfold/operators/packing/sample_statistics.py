"""Sample statistics: how many rows PACK sees, in what order, and with how many different keys.

They must cost next to nothing. So PACK samples the first batch of a task and then every fourth. It looks at the order
of the first rows of a batch only, and sketches keys, groups and identities of the first entries; there are fewer
entries than rows. Texts are expensive to hash, so it sketches fewer entries that have texts.
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

LOOKED_EVERY = 4  # every so many batches of a task are sampled
TIMED = 1_024  # rows of a batch whose order is looked at
LOOKED = 4_096  # entries of a batch that are sketched
LOOKED_TEXTS = 512
SETS = 3  # keys, groups, and all columns that identify an entry

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SampleStatistics:
    """Sample statistics of some rows of a stream: ``read`` rows of the stream, and ``rows`` rows of the frame.

    ``rows`` have a time, and are counted after relations are joined; ``passing`` of them pass the filters. Of the first
    ``timed`` rows, ``disordered`` came after a row of a later time. Of all ``entries``, the first ``looked`` were
    sketched. Their rows make ``compared`` ordered pairs of rows, of which ``alike`` have keys in one bin. ``sketches``
    uint8[3, registers] are of keys, of groups and of identities.
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
        """The statistics as text. Every bucket gets it in a header, so it is as short as possible."""
        return b64encode(_LAYOUT.pack(*_numbers_of(self)) + self.sketches.tobytes()).decode("ascii")

    @staticmethod
    def of_text(text: str) -> "SampleStatistics":
        """The inverse of `text`."""
        contents = b64decode(text)
        numbers = dict(zip(_NUMBERS, _LAYOUT.unpack_from(contents), strict=True))
        sketches = np.frombuffer(contents, np.uint8, offset=_LAYOUT.size).reshape(SETS, REGISTERS)
        return SampleStatistics(**numbers, sketches=sketches)

    def together(self, other: "SampleStatistics") -> "SampleStatistics":
        """The statistics of the rows of both."""
        added = {name: getattr(self, name) + getattr(other, name) for name in _NUMBERS}
        return SampleStatistics(**added, sketches=np.maximum(self.sketches, other.sketches))


_NUMBERS = tuple(field.name for field in fields(SampleStatistics) if field.name != "sketches")
_LAYOUT = Struct(f"<{len(_NUMBERS)}q")
_numbers_of = attrgetter(*_NUMBERS)


def sample_statistics(
    spec: InputSpec, number: int, read: int, ts: Integers, entries: pa.RecordBatch
) -> SampleStatistics | None:
    """The sample statistics of batch ``number`` of a task; None if it is not sampled, or no row has a time.

    ``read`` rows of the stream came. ``ts`` has the times of the rows, ``entries`` are of those that pass the filters.
    """
    if number % LOOKED_EVERY or not len(ts):
        return None
    first, names = readable(ts[:TIMED], np.int64), spec.identity
    columns = [entries.column(name) for name in names]
    is_cheap = all(pa.types.is_primitive(column.type) for column in columns)
    looked = min(entries.num_rows, LOOKED if is_cheap else LOOKED_TEXTS)
    codes = np.empty((len(columns), looked), np.int64)
    for at, column in enumerate(columns):
        codes[at] = stable_codes(column if looked == len(column) else column[:looked])
    counts = entries.column(COUNT).to_numpy()
    sketches, bins = sketched(codes, _factors(spec.keys, spec.stored_groups, names), counts[:looked])
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
    sets = [[name in columns for name in identity] for columns in (keys, groups, identity)]
    return factors_of(np.array(sets, np.bool_).reshape(SETS, len(identity)))
