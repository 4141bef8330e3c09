"""A hash index: buckets that double, chains in the order of arrival, and probes that look at one bucket."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.kernels.structures import STRUCTURES
from joinfold.kernels.structures.hashed import Hashed, _bucket_of
from joinfold.kernels.structures.operations import EXPIRE, INSERT, PROBE, REMOVE

from .model import operations
from .shapes import check_buckets


def test_only_the_hash_index_needs_a_key() -> None:
    assert [name for name, structure in STRUCTURES.items() if structure.needs_key] == ["hash"]


def test_a_fixed_number_of_buckets_stays() -> None:
    structure = Hashed(buckets=20)
    structure.apply(operations([(INSERT, member, 0, 0, member) for member in range(1000)]))
    assert len(structure.buckets) == 20


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.integers(1, 3))
def test_buckets_double_when_there_are_more_members_than_they_may_have(keys: list[int], size: int) -> None:
    structure = Hashed(bucket_size=size)
    structure.apply(operations([(INSERT, key, 0, 0, member) for member, key in enumerate(keys)]))
    check_buckets(structure, {member: (key, 0) for member, key in enumerate(keys)})
    buckets = len(structure.buckets)
    assert buckets == 1 or size * buckets // 2 < len(keys) <= size * buckets
    structure.apply(operations([(EXPIRE, 0, 0, 0, 0)] * len(keys)))
    assert len(structure.buckets) == buckets, "the number never halves"
    check_buckets(structure, {})


def test_matches_come_in_the_order_of_arrival() -> None:
    rows = [(INSERT, 0, code, 0, member) for member, code in [(4, 1), (2, 9), (3, 0), (0, 5), (1, 5)]]
    matches = Hashed(bucket_size=1).apply(operations([*rows, (REMOVE, 0, 0, 0, 3), (PROBE, 0, 1, 9, 0)]))
    assert matches.probe.tolist() == [6] * 4
    assert matches.member.tolist() == [4, 2, 0, 1]


def test_keys_are_spread_whatever_their_pattern() -> None:
    buckets = np.empty((100, 2), np.int64)
    for step in (1, 100, 1024, 2**20):
        chosen = np.bincount([_bucket_of(buckets, key * step) for key in range(1000)], minlength=100)
        assert len(chosen) == 100 and chosen.max() <= 40  # 10 are expected
