"""Hosts have addresses and popularity, and the given share of the branch's packets is on the backbone."""

import ipaddress

import numpy as np
import pyarrow as pa
import pytest

from joinfold.workloads import batches
from joinfold.workloads.packets import PacketParameters


def tables(**arguments: object) -> dict[str, pa.Table]:
    steps = list(batches("packets", **{"seed": 7, **arguments}))
    return {stream: pa.concat_tables([step[stream] for step in steps]) for stream in steps[0]}


def packets(table: pa.Table) -> list[tuple[str, str, int]]:
    return list(zip(*(table[name].to_pylist() for name in ("src", "dest", "bytes")), strict=True))


@pytest.mark.parametrize("shared", [0.0, 0.3, 1.0])
def test_the_share_of_the_branch_that_crosses(shared: float) -> None:
    """With equally popular hosts, random matches are rare, so packets seen at both places have crossed."""
    streams = tables(rows=100_000, shared=shared, zipf=0, hosts=1_000_000)
    backbone = set(packets(streams["backbone"]))
    seen = [packet in backbone for packet in packets(streams["branch"])]
    assert np.mean(seen) == pytest.approx(shared, abs=0.01)


def test_a_packet_is_seen_at_both_places_at_nearly_the_same_time() -> None:
    streams = tables(rows=10_000, shared=1.0)
    assert packets(streams["backbone"]) == packets(streams["branch"])
    times_us = [table["ts"].cast(pa.int64()).to_numpy() for table in streams.values()]
    assert np.abs(times_us[0] - times_us[1]).max() <= 100


def test_hosts_have_addresses_of_their_own() -> None:
    addresses = PacketParameters(hosts=5_000).addresses.to_pylist()
    assert len(set(addresses)) == 5_000
    assert all(ipaddress.IPv4Address(text) in ipaddress.IPv4Network("10.0.0.0/8") for text in addresses)


def test_hosts_are_popular_by_zipf() -> None:
    branch = tables(rows=400_000, hosts=100, zipf=1.0)["branch"]
    ranked = PacketParameters(hosts=100).addresses.to_pylist()
    counts = {count["values"].as_py(): count["counts"].as_py() for count in branch["src"].value_counts()}
    harmonic = sum(1 / rank for rank in range(1, 101))
    for rank in (1, 2, 10, 50):
        expected = branch.num_rows / rank / harmonic
        assert counts[ranked[rank - 1]] == pytest.approx(expected, rel=0.1)


def test_nobody_writes_to_himself() -> None:
    for table in tables(rows=50_000, hosts=2).values():
        assert all(src != dest for src, dest, _ in packets(table))
        assert 40 <= min(table["bytes"].to_pylist()) < max(table["bytes"].to_pylist()) == 1_500
