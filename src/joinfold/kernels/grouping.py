"""Rows to entries: which rows are equal, and sums, counts and maxima over those that are.

Rows are columns of int64 codes; equal codes in all columns make an entry. Entries are numbered in the order in which
they first appear, so a result depends on the rows alone and not on the hash. The hash table is open addressing with
linear probing, at most half full; a place holds 32 bits of the hash beside the entry, so a place that
another entry holds is passed without looking at its rows.
"""

import numpy as np

from joinfold.kernels.compiling import Booleans, Doubles, Hashes, Integers, kernel, part, readable
from joinfold.kernels.double_double import add_double

FIRST_CAPACITY = 4096
GROWTH = 4

SEED = np.uint64(0x9E3779B97F4A7C15)
FACTOR_1 = np.uint64(0xFF51AFD7ED558CCD)
FACTOR_2 = np.uint64(0xC4CEB9FE1A85EC53)
HALF = np.uint64(32)
FOLD = np.uint64(33)
LOW_WORD = np.uint64(0xFFFFFFFF)


def mix(codes: Integers) -> Hashes:
    """A 64-bit hash uint64[n] of rows int64[C, n], the same in every process and on every machine. Cost: O(C·n)."""
    hashes = np.empty(codes.shape[1], np.uint64)
    _mix(readable(codes, np.int64), hashes)
    return hashes


def group_rows(codes: Integers, capacity: int = FIRST_CAPACITY) -> tuple[Integers, Integers]:
    """Entry of each row int64[n] and first row of each entry int64[entries], of rows int64[C, n]. Cost: O(C·n).

    The hash table has ``capacity`` places, a power of two, at the beginning.
    """
    rows = codes.shape[1]
    assert rows < 2**31
    codes = readable(codes, np.int64)
    entry_of_row, first_row = np.empty(rows, np.int64), np.empty(rows, np.int64)
    places, size, done = np.zeros(capacity, np.uint64), np.zeros(1, np.int64), 0
    while True:
        done = _group_rows(codes, places, entry_of_row, first_row, size, done)
        if done == rows:
            return entry_of_row, first_row[: size[0]].copy()
        smaller, places = places, np.zeros(GROWTH * places.size, np.uint64)
        _move_places(smaller, places)


def sum_ints(entry_of_row: Integers, entries: int, values: Integers) -> Integers:
    """Σ values int64[n] by entry, int64[entries], modulo 2^64. Cost: O(n + entries)."""
    sums = np.zeros(entries, np.int64)
    _sum_ints(readable(entry_of_row, np.int64), readable(values, np.int64), sums)
    return sums


def count(entry_of_row: Integers, entries: int, mask: Booleans) -> Integers:
    """How many rows of each entry are in the mask bool[n], int64[entries]. Cost: O(n + entries)."""
    counts = np.zeros(entries, np.int64)
    _count(readable(entry_of_row, np.int64), readable(mask, np.bool_), counts)
    return counts


def sum_dds(entry_of_row: Integers, entries: int, values: Doubles) -> tuple[Doubles, Doubles]:
    """Σ values float64[n] by entry as double-doubles, (float64[entries], float64[entries]). Cost: O(n + entries)."""
    high, low = np.zeros(entries, np.float64), np.zeros(entries, np.float64)
    _sum_dds(readable(entry_of_row, np.int64), readable(values, np.float64), high, low)
    return high, low


def largest(entry_of_row: Integers, entries: int, codes: Integers, mask: Booleans) -> tuple[Integers, Booleans]:
    """The largest code int64[n] of each entry among rows in the mask bool[n], and whether it has one.

    Gives (int64[entries], bool[entries]); the code of an entry without one is 0. Cost: O(n + entries).
    """
    found, present = np.zeros(entries, np.int64), np.zeros(entries, np.bool_)
    _largest(readable(entry_of_row, np.int64), readable(codes, np.int64), readable(mask, np.bool_), found, present)
    return found, present


@part
def hash_of_row(codes: Integers, row: int) -> np.uint64:
    """The hash of a column of codes int64[C, n]: murmur3's finaliser, once for each code. Cost: O(C)."""
    state = SEED
    for column in range(codes.shape[0]):
        state ^= np.uint64(codes[column, row])
        state ^= state >> FOLD
        state *= FACTOR_1
        state ^= state >> FOLD
        state *= FACTOR_2
        state ^= state >> FOLD
    return state


@kernel
def _mix(codes: Integers, hashes: Hashes) -> None:
    for row in range(hashes.size):
        hashes[row] = hash_of_row(codes, row)


@part
def _equal_rows(codes: Integers, row: int, other: int) -> bool:
    column = 0
    while column < codes.shape[0] and codes[column, row] == codes[column, other]:
        column += 1
    return bool(column == codes.shape[0])


@kernel
def _move_places(places: Hashes, larger: Hashes) -> None:
    """Enter what a hash table uint64[capacity] holds into a larger, empty one. Cost: O(capacity)."""
    limit = np.uint64(larger.size - 1)
    for held in places:
        if held != 0:
            place = (held >> HALF) & limit
            while larger[place] != 0:
                place = (place + np.uint64(1)) & limit
            larger[place] = held


@kernel
def _group_rows(
    codes: Integers, places: Hashes, entry_of_row: Integers, first_row: Integers, size: Integers, done: int
) -> int:
    """Group the rows from ``done`` on until the hash table is half full; how many are done.

    Codes int64[C, n], entry_of_row and first_row int64[n], size int64[1]: the number of entries. A place uint64 is the
    high word of a hash and an entry + 1; 0 is empty. Cost: O(C) for each row.
    """
    limit = np.uint64(places.size - 1)
    entries = size[0]
    for row in range(done, codes.shape[1]):
        if 2 * entries >= places.size:
            size[0] = entries
            return row
        # The high word: the low one may already have chosen the bucket that all of these rows are in.
        high_word = hash_of_row(codes, row) >> HALF
        place = high_word & limit
        while True:
            held = places[place]
            if held == 0:
                first_row[entries] = row
                entry_of_row[row] = entries
                entries += 1
                places[place] = (high_word << HALF) | np.uint64(entries)
                break
            if held >> HALF == high_word:
                entry = np.int64(held & LOW_WORD) - 1
                if _equal_rows(codes, row, first_row[entry]):
                    entry_of_row[row] = entry
                    break
            place = (place + np.uint64(1)) & limit
    size[0] = entries
    return entry_of_row.size


@kernel
def _sum_ints(entry_of_row: Integers, values: Integers, sums: Integers) -> None:
    for row in range(entry_of_row.size):
        sums[entry_of_row[row]] += values[row]


@kernel
def _count(entry_of_row: Integers, mask: Booleans, counts: Integers) -> None:
    for row in range(entry_of_row.size):
        counts[entry_of_row[row]] += mask[row]


@kernel
def _sum_dds(entry_of_row: Integers, values: Doubles, high: Doubles, low: Doubles) -> None:
    for row in range(entry_of_row.size):
        entry = entry_of_row[row]
        high[entry], low[entry] = add_double(high[entry], low[entry], values[row])


@kernel
def _largest(entry_of_row: Integers, codes: Integers, mask: Booleans, found: Integers, present: Booleans) -> None:
    for row in range(entry_of_row.size):
        if mask[row]:
            entry = entry_of_row[row]
            if not present[entry] or codes[row] > found[entry]:
                found[entry] = codes[row]
                present[entry] = True
