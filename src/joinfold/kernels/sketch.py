"""Sketches: how many different rows there are, in 128 bytes, and how unevenly they fall.

A HyperLogLog (Flajolet et al. 2007). The first bits of a row's hash choose one of 128 registers. A register keeps the
largest number of zeros at the end of any of its hashes, plus one. The more different rows there are, the higher the
registers; the same row twice changes nothing. So the larger registers of two sketches are the sketch of both batches.
The error is about 9 %. If there are few rows, they are counted by the registers that are still empty.

Rows are also counted in 256 bins by the hash of their first set of columns. Rows of one key are always in the same bin,
rows of two keys only by chance.
"""

from math import log

import numpy as np

from joinfold.kernels.compiling import Booleans, Bytes, Hashes, Integers, kernel, readable
from joinfold.kernels.grouping import mix
from joinfold.kernels.hashing import SEED, finalised

REGISTERS = 128
BINS = 256
_CHOOSING = np.uint64(57)  # the first 7 bits
_BIN = np.uint64(40)
_IN_BIN = np.uint64(BINS - 1)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_MOST = 58  # 57 bits that are zero, and one more
_BIAS = 0.7213 / (1 + 1.079 / REGISTERS)


def factors_of(sets: Booleans) -> Hashes:
    """The factors of codes in a hash, uint64[S, C]: odd for the columns that are in a set bool[S, C], else 0."""
    return readable(np.where(sets, mix(np.arange(sets.shape[1])[None, :]) | _ONE, _ZERO), np.uint64)


def sketched(codes: Integers, factors: Hashes, counts: Integers) -> tuple[Bytes, Integers]:
    """Sketches uint8[S, 128] of rows int64[C, n] by sets of columns, and bins int64[256] of the first set.

    A row counts as often in its bin as ``counts`` int64[n] says; sets are given by `factors_of`. Cost: O(S·C·n).
    """
    registers, bins = np.zeros((len(factors), REGISTERS), np.uint8), np.zeros(BINS, np.int64)
    _sketch(readable(codes, np.int64), factors, readable(counts, np.int64), registers, bins)
    return registers, bins


def distinct(registers: Bytes) -> float:
    """How many different rows a sketch uint8[128] has seen. Cost: O(1)."""
    empty = int(np.count_nonzero(registers == 0))
    estimate = _BIAS * REGISTERS**2 / float(np.exp2(-registers.astype(np.float64)).sum())
    if estimate <= 2.5 * REGISTERS and empty:
        return REGISTERS * log(REGISTERS / empty)
    return estimate


@kernel
def disorder(times: Integers) -> int:
    """How many of the times int64[n] come after a later one. Cost: O(n)."""
    found, latest = 0, times[0]
    for time in times:
        if time < latest:
            found += 1
        else:
            latest = time
    return found


@kernel
def _sketch(codes: Integers, factors: Hashes, counts: Integers, registers: Bytes, bins: Integers) -> None:
    for row in range(codes.shape[1]):
        for number in range(factors.shape[0]):
            state = SEED
            for column in range(codes.shape[0]):
                state += np.uint64(codes[column, row]) * factors[number, column]
            state = finalised(state)
            if number == 0:
                bins[(state >> _BIN) & _IN_BIN] += counts[row]
            place = state >> _CHOOSING
            held = registers[number, place]
            # A register rises only where a hash ends in as many zeros as it has seen: that is rare.
            while held < _MOST and state & ((_ONE << np.uint64(held)) - _ONE) == _ZERO:
                held += 1
            registers[number, place] = held
