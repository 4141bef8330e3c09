"""The exact messages for mistakes; nothing is written before them."""

from pathlib import Path

import pytest

from joinfold.errors import UsageError
from joinfold.workloads import batches, generate

LENGTH = {"rows": 100}
GOLDEN = [
    (
        "auction",
        LENGTH,
        "unknown workload 'auction'\n"
        "Hint: did you mean 'auctions'? The workloads are: synthetic, sensors, packets, auctions, R1, R0.",
    ),
    (
        "weather",
        LENGTH,
        "unknown workload 'weather'\nHint: the workloads are: synthetic, sensors, packets, auctions, R1, R0.",
    ),
    ("sensors", {}, "workload 'sensors' needs a length\nHint: give rows."),
    ("synthetic", {}, "workload 'synthetic' needs a length\nHint: give rows or seconds."),
    ("synthetic", {"rows": 10, "seconds": 1}, "give rows or seconds, not both"),
    ("synthetic", {"rows": 0}, "rows must be at least 1, not 0\nHint: give a larger number."),
    ("synthetic", {"rows": -5}, "rows must be at least 1, not -5\nHint: give a larger number."),
    ("synthetic", {"rows": 1.5}, "rows must be a whole number, not 1.5"),
    ("synthetic", {"rows": True}, "rows must be a whole number, not True"),
    ("synthetic", {"rows": 2**70}, f"rows must be at most 2**62, not {2**70}"),
    ("synthetic", {"rows": 10, "seed": -1}, "seed must be at least 0, not -1\nHint: give a larger number."),
    ("synthetic", {"rows_per_second": -1, **LENGTH}, "rows_per_second must be above 0, not -1"),
    ("synthetic", {"rows_per_second": "fast", **LENGTH}, "rows_per_second must be a number, not 'fast'"),
    ("synthetic", {"rows_per_second": float("nan"), **LENGTH}, "rows_per_second must be finite, not nan"),
    (
        "synthetic",
        {"rows_per_second": (1, 2, 3), **LENGTH},
        "rows_per_second has 3 numbers for 2 streams\nHint: give one number for all streams, or one for each.",
    ),
    ("synthetic", {"streams": 1, **LENGTH}, "streams must be at least 2, not 1\nHint: give a larger number."),
    ("synthetic", {"streams": 27, **LENGTH}, "streams must be at most 26, not 27"),
    (
        "synthetic",
        {"keys": 10, "selectivity": 0.1, **LENGTH},
        "give keys or selectivity, not both\nHint: selectivity is 1/keys.",
    ),
    (
        "synthetic",
        {"selectivity": 0.3, **LENGTH},
        "selectivity 0.3 is not 1/keys for a whole number of keys\nHint: the nearest is 0.3333.",
    ),
    (
        "synthetic",
        {"selectivity": 0.1, "zipf": 1.0, **LENGTH},
        "selectivity needs uniform keys, but zipf is given\nHint: give keys instead of selectivity.",
    ),
    ("synthetic", {"selectivity": 0, **LENGTH}, "selectivity must be above 0, not 0"),
    (
        "synthetic",
        {"selectivity": 2, **LENGTH},
        "selectivity must be between 0 and 1, not 2\nHint: write one half as 0.5.",
    ),
    ("synthetic", {"zipf": -0.5, **LENGTH}, "zipf must not be negative, but it is -0.5"),
    ("synthetic", {"bursts": 5, **LENGTH}, "bursts must be a tuple of numbers, not 5"),
    ("synthetic", {"bursts": (0, 0), **LENGTH}, "bursts must be above 0 in at least one second"),
    (
        "synthetic",
        {"bursts": (1, 2), "rows_per_second": 5, **LENGTH},
        "give rows_per_second or bursts, not both\nHint: bursts has the number of rows in each second.",
    ),
    (
        "auctions",
        {"disorder_share": 1.5, "disorder_depth_seconds": 1, **LENGTH},
        "disorder_share must be between 0 and 1, not 1.5\nHint: write one half as 0.5.",
    ),
    (
        "auctions",
        {"disorder_share": 0.5, **LENGTH},
        "disorder_share has no effect without disorder_depth_seconds\n"
        "Hint: give disorder_depth_seconds too: disorder_share of the rows arrive up to disorder_depth_seconds late.",
    ),
    ("auctions", {"names": "trans", **LENGTH}, "unknown names 'trans'\nHint: give 'default' or 'tran'."),
    (
        "packets",
        {"share": 0.5, **LENGTH},
        "workload 'packets' has no parameter 'share'\n"
        "Hint: did you mean 'shared'? It has: rows_per_second, hosts, zipf, shared, start_us.",
    ),
    (
        "packets",
        {"colour": "red", **LENGTH},
        "workload 'packets' has no parameter 'colour'\nHint: it has: rows_per_second, hosts, zipf, shared, start_us.",
    ),
    (
        "packets",
        {"hosts": 2**24 + 1, **LENGTH},
        "hosts must be at most 16777216, the size of 10.0.0.0/8, not 16777217",
    ),
    (
        "sensors",
        {"longest_fire_minutes": 20, **LENGTH},
        "shortest_fire_minutes ≤ longest_fire_minutes ≤ fire_period_minutes must hold, but they are 3.0, 20, 15.0",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "text"), GOLDEN)
def test_the_message(name: str, arguments: dict[str, object], text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        generate(name, directory=tmp_path / "out", **arguments)
    assert str(caught.value) == text
    assert not (tmp_path / "out").exists()


def test_batches_complains_when_called_and_not_when_read() -> None:
    with pytest.raises(UsageError, match="unknown workload"):
        batches("nothing", rows=1)


def test_a_part_needs_a_row(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rows_per_file must be at least 1, not 0"):
        generate("sensors", rows=1, directory=tmp_path, rows_per_file=0)
