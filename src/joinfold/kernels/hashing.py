"""How kernels hash: the factors, and three ways to mix the bits of an integer, from thorough to quick.

    finalised    every bit of the result depends on every bit of the value    rows, sketches, buckets
    spread       the same for the high word alone, in one step less           places in tables of ids
    scattered    one multiplication, enough for ids, which are dense          slabs and hash indexes

What is stored or sent by a hash depends on ``finalised`` (see ``grouping.mix``), so it must never change.
"""

import numpy as np

from joinfold.kernels.compiling import part

SEED = np.uint64(0x9E3779B97F4A7C15)
FACTOR_1 = np.uint64(0xFF51AFD7ED558CCD)
FACTOR_2 = np.uint64(0xC4CEB9FE1A85EC53)
FOLD = np.uint64(33)
HALF = np.uint64(32)

GOLDEN = -7046029254386353131  # 2^64 over the golden ratio, as an int64; products wrap around
HALF_BITS = 32


@part
def finalised(state: np.uint64) -> np.uint64:
    """All bits of a uint64 mixed: the finaliser of murmur3. Cost: O(1)."""
    state ^= state >> FOLD
    state *= FACTOR_1
    state ^= state >> FOLD
    state *= FACTOR_2
    return state ^ (state >> FOLD)


@part
def spread(value: int) -> np.uint64:
    """An int64 as 32 mixed bits; a whole double, which has only zeros in its low bits, is spread too. Cost: O(1)."""
    mixed = np.uint64(value)
    mixed = (mixed ^ (mixed >> HALF)) * FACTOR_1
    mixed = (mixed ^ (mixed >> HALF)) * FACTOR_2
    return mixed >> HALF


@part
def scattered(number: int) -> int:
    """An id times 2^64 / φ, shifted so that its low 32 bits are the well mixed ones. Cost: O(1)."""
    return number * GOLDEN >> HALF_BITS
