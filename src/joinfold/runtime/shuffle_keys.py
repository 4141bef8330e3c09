"""Shuffle keys that spread evenly over Spark's partitions, one for each bucket.

Spark hashes a grouping key, so the keys 0, 1, 2, … would collide. Its hash of an int is Murmur3 with seed 42. It is
computed here for one key after another, until every partition has a key.
"""

from functools import cache


def spread_shuffle_keys(partitions: int) -> tuple[int, ...]:
    """For each partition in order, the smallest shuffle key that Spark sends there."""
    found: dict[int, int] = {}
    shuffle_key = 0
    while len(found) < partitions:
        found.setdefault(murmur3_of_int(shuffle_key) % partitions, shuffle_key)
        shuffle_key += 1
    return tuple(found[partition] for partition in range(partitions))


@cache
def keys_in_partition(shuffle_keys: tuple[int, ...], partition: int, partitions: int) -> tuple[int, ...]:
    """Those of the shuffle keys that Spark sends to this partition."""
    return tuple(own for own in shuffle_keys if murmur3_of_int(own) % partitions == partition)


def murmur3_of_int(value: int, seed: int = 42) -> int:
    """Spark's hash of an INT, as a signed 32-bit number."""
    k = (value * 0xCC9E2D51) & 0xFFFFFFFF
    k = _rotated(k, 15) * 0x1B873593 & 0xFFFFFFFF
    h = (_rotated(seed ^ k, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    h ^= h >> 16
    return h - 2**32 if h >= 2**31 else h


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & 0xFFFFFFFF
