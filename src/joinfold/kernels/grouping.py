"""Rows to entries: which rows are equal, and sums, counts and maxima over those that are.

A row has an int64 code in each column; rows with equal codes in all columns make an entry. Entries are numbered in the
order in which they first appear, so a result depends on the rows alone and not on how they are found.

Where the codes of every column lie close together, a row becomes one number, as 23:59:30 becomes a number of seconds.
If there are only a few possible numbers for each row, a table of all of them is used instead of a hash.

The hash table is open addressing with linear probing, at most half full. A place holds 32 bits of the hash beside the
entry, so a place of another entry is passed without a look at its rows.
"""

from math import prod

import numpy as np

from joinfold.kernels.compiling import Booleans, Doubles, Hashes, Ids, Integers, kernel, part, readable
from joinfold.kernels.double_double import add_double
from joinfold.kernels.hashing import HALF, SEED, finalised

FEW = 4  # a table is quicker than a hash while there are at most so many possible numbers for each row

LOW_WORD = np.uint64(0xFFFFFFFF)


def mix(codes: Integers) -> Hashes:
    """A 64-bit hash uint64[n] of rows int64[C, n], the same in every process and on every machine. Cost: O(C·n)."""
    hashes = np.empty(codes.shape[1], np.uint64)
    _mix(readable(codes, np.int64), hashes)
    return hashes


def group_rows(codes: Integers) -> tuple[Integers, Integers]:
    """Entry of each row int64[n] and first row of each entry int64[entries], of rows int64[C, n]. Cost: O(C·n)."""
    rows = codes.shape[1]
    assert rows < 2**31
    codes, numbers = _as_numbers(readable(codes, np.int64))
    entry_of_row, first_row = np.empty(rows, np.int64), np.empty(rows, np.int64)
    if numbers <= FEW * rows:
        entries = _group_numbers(readable(codes[0], np.int64), np.zeros(numbers, np.int32), entry_of_row, first_row)
    else:
        places = np.zeros(1 << (2 * rows).bit_length(), np.uint64)
        entries = _group_rows(codes, places, entry_of_row, first_row)
    return entry_of_row, first_row[:entries].copy()


def _as_numbers(codes: Integers) -> tuple[Integers, int]:
    """Codes int64[C, n] as numbers int64[1, n], and their limit; the codes themselves where they lie too far apart."""
    rows = codes.shape[1]
    if not rows:
        return np.zeros((1, 0), np.int64), 0
    lowest = codes.min(axis=1)
    spans = [high - low + 1 for low, high in zip(lowest.tolist(), codes.max(axis=1).tolist(), strict=True)]
    limit = prod(spans)
    if limit >= 2**63:
        return codes, limit
    numbers = np.empty((1, rows), np.int64)
    _combine(codes, lowest, np.array(spans, np.int64), numbers)
    return readable(numbers, np.int64), limit


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
    """The hash of a row of codes int64[C, n]: all of its codes, mixed in one after the other. Cost: O(C)."""
    state = SEED
    for column in range(codes.shape[0]):
        state = finalised(state ^ np.uint64(codes[column, row]))
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
def _combine(codes: Integers, lowest: Integers, spans: Integers, numbers: Integers) -> None:
    """Write numbers int64[1, n]: codes int64[C, n] as digits, which begin at lowest int64[C] and have spans int64[C].

    Cost: O(C·n).
    """
    for row in range(codes.shape[1]):
        number = 0
        for column in range(codes.shape[0]):
            number = number * spans[column] + (codes[column, row] - lowest[column])
        numbers[0, row] = number


@kernel
def _group_numbers(numbers: Integers, places: Ids, entry_of_row: Integers, first_row: Integers) -> int:
    """Group numbers int64[n] by a table of zeros for all possible ones, int32[limit]; how many entries there are.

    Writes entry_of_row and first_row int64[n]. Cost: O(1) for each row.
    """
    entries = 0
    for row in range(numbers.size):
        number = numbers[row]
        if places[number] == 0:
            first_row[entries] = row
            entries += 1
            places[number] = entries
        entry_of_row[row] = places[number] - 1
    return entries


@kernel
def _group_rows(codes: Integers, places: Hashes, entry_of_row: Integers, first_row: Integers) -> int:
    """Group rows by a hash table of zeros with at least two places for each; how many entries.

    Codes int64[C, n], entry_of_row and first_row int64[n]. A place uint64 is the high word of a hash and an entry + 1;
    0 is empty. Cost: O(C) for each row.
    """
    limit = np.uint64(places.size - 1)
    entries = 0
    for row in range(codes.shape[1]):
        # The high word, because all rows may be those of one bucket, which was chosen by the low word.
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
    return entries


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
