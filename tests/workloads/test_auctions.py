"""Nexmark's rules: the mix of events, references, hot auctions and persons, prices, and Tran's names."""

import numpy as np
import pyarrow as pa
import pytest

from joinfold.workloads import batches


def tables(**arguments: object) -> dict[str, pa.Table]:
    steps = list(batches("auctions", **{"seed": 7, **arguments}))
    return {stream: pa.concat_tables([step[stream] for step in steps]) for stream in steps[0]}


def numbers(table: pa.Table, column: str) -> np.ndarray:
    return table[column].cast(pa.int64()).to_numpy()


@pytest.mark.parametrize(
    ("rows", "mix"),
    [
        (50, [1, 3, 46]),
        (200_000, [4_000, 12_000, 184_000]),
        (1, [1, 0, 0]),
        (3, [1, 2, 0]),
        (53, [2, 5, 46]),
        (64_054, [1_282, 3_846, 58_926]),
    ],
)
def test_the_mix_is_one_three_forty_six(rows: int, mix: list[int]) -> None:
    counts = [table.num_rows for table in tables(rows=rows).values()]
    assert sum(counts) == rows
    assert counts == mix


def test_ids_count_up_from_one_thousand() -> None:
    streams = tables(rows=150_000)
    for stream in ("person", "auction"):
        ids = numbers(streams[stream], "id")
        assert (ids == 1_000 + np.arange(len(ids))).all()


@pytest.mark.parametrize("events_per_second", [10_000, 3e6, 0.7])
def test_a_reference_names_what_exists_already(events_per_second: float) -> None:
    streams = tables(rows=150_000, events_per_second=events_per_second)
    references = [("bid", "auction", "auction"), ("bid", "bidder", "person"), ("auction", "seller", "person")]
    for stream, column, target in references:
        named = numbers(streams[stream], column) - 1_000
        assert named.min() >= 0
        assert named.max() < streams[target].num_rows
        assert (numbers(streams[target], "ts")[named] <= numbers(streams[stream], "ts")).all()


def test_references_reach_back_only_to_the_active() -> None:
    bids = tables(rows=200_000, hot_auction_ratio=1, hot_bidder_ratio=1)["bid"]
    epochs = np.arange(bids.num_rows) // 46
    behind_auction = 3 * epochs + 2 - (numbers(bids, "auction") - 1_000)
    behind_person = epochs - (numbers(bids, "bidder") - 1_000)
    assert (behind_auction.min(), behind_auction.max()) == (0, 100)
    assert (behind_person.min(), behind_person.max()) == (0, 999)


def test_the_hot_are_as_hot_as_published() -> None:
    """Of a hundred auctions in flight one is hot: it gets half of the bids and its share of the others."""
    streams = tables(rows=1_000_000)
    bids = streams["bid"]
    epochs = np.arange(bids.num_rows) // 46
    settled = epochs > 2_000
    hot_auction = (3 * epochs + 2) // 100 * 100
    hot_bidder = np.minimum(epochs // 100 * 100 + 1, epochs)
    assert (numbers(bids, "auction") - 1_000 == hot_auction)[settled].mean() == pytest.approx(0.505, abs=0.005)
    assert (numbers(bids, "bidder") - 1_000 == hot_bidder)[settled].mean() == pytest.approx(0.75, abs=0.005)
    auctions = streams["auction"]
    epochs = np.arange(auctions.num_rows) // 3
    hot_seller = epochs // 100 * 100
    assert (numbers(auctions, "seller") - 1_000 == hot_seller).mean() == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize(("stream", "column"), [("bid", "price"), ("auction", "initial_bid")])
def test_prices_are_log_uniform_over_six_decades(stream: str, column: str) -> None:
    prices = numbers(tables(rows=500_000)[stream], column)
    assert prices.min() >= 100
    assert prices.max() <= 100_000_000
    shares = np.histogram(np.log10(prices), bins=np.arange(2, 8.5, 0.5))[0] / len(prices)
    assert shares == pytest.approx(np.full(12, 1 / 12), abs=0.005)


def test_auctions_close_after_they_open_and_categories_begin_at_ten() -> None:
    auctions = tables(rows=500_000)["auction"]
    length_us = numbers(auctions, "expires") - numbers(auctions, "ts")
    assert length_us.min() > 0
    assert length_us.mean() == pytest.approx(100 * 50 / 3 * 100, rel=0.02)
    assert set(auctions["category"].to_pylist()) == set(range(10, 20))


def test_event_time_advances_by_the_rate() -> None:
    streams = tables(rows=5_000, events_per_second=1_000)
    times_us = np.sort(np.concatenate([numbers(table, "ts") for table in streams.values()]))
    assert (np.diff(times_us) == 1_000).all()


def test_persons_live_where_their_city_is() -> None:
    persons = tables(rows=50_000)["person"]
    homes = set(zip(persons["state"].to_pylist(), persons["city"].to_pylist(), strict=True))
    assert ("VT", "Burlington") in homes
    assert len(homes) == len({city for _, city in homes}) == 12


def test_tran_names_rename_and_change_nothing() -> None:
    plain, tran = tables(rows=20_000), tables(rows=20_000, names="tran")
    assert {stream: table.column_names for stream, table in tran.items()} == {
        "Person": ["personID", "name", "state", "city", "ts"],
        "Auction": ["auctionID", "sellerID", "category", "startPrice", "expires", "ts"],
        "Bid": ["auctionID", "bidderID", "bidPrice", "ts"],
    }
    for stream, table in plain.items():
        assert tran[stream.capitalize()].rename_columns(table.column_names).equals(table)
    assert "VT" in tran["Person"]["state"].to_pylist()


def test_disorder_delays_every_stream_within_its_depth() -> None:
    streams = tables(rows=300_000, disorder_share=0.2, disorder_depth_seconds=2)
    straight = tables(rows=300_000)
    for stream, table in streams.items():
        times_us = numbers(table, "ts")
        lateness_us = np.maximum.accumulate(times_us) - times_us
        assert 0 < lateness_us.max() <= 2_000_000
        assert (lateness_us > 0).mean() == pytest.approx(0.2, abs=0.03)
        keys = [(name, "ascending") for name in table.column_names]
        assert table.sort_by(keys).equals(straight[stream].sort_by(keys))
