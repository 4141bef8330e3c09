"""An auction house: persons, auctions and bids by the published rules of Nexmark.

Events have numbers. Of every fifty events the first is a person, the next three are auctions, and the rest are bids::

    event number   0   1   2   3   4 …………… 49 | 50  51  52  53  54 …
    event          P   A   A   A   B … B … B  |  P   A   A   A   B …
    epoch          0                          |  1

So the newest person and the newest auction at an event follow from its number, and a bid can refer to an existing
auction without a table of auctions. Some are hot. With probability 1 − 1/ratio, a bid is for the first auction of the
current hundred, a bid comes from the second person of the current hundred, and an auction is opened by the first
person of the current hundred. The other references are uniform among recent auctions and persons. Prices are
log-uniform from 1.00 to 1,000,000.00, in cents.

One rule differs from Nexmark, where a few references are to later events: here every reference is to an earlier event.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from joinfold.errors import UsageError
from joinfold.workloads.arrival import SECOND_US, START_US, Clock, in_arrival_order
from joinfold.workloads.checks import require_disorder, require_positive, require_whole_number
from joinfold.workloads.draws import ROWS_PER_BLOCK, Block, Real, Whole, blocks
from joinfold.workloads.tables import TIMESTAMP, pick, stream_schema, table_of

FIRST_PERSON_ID = FIRST_AUCTION_ID = 1_000
FIRST_CATEGORY_ID = 10
EVENTS_PER_EPOCH = 50
EPOCHS_PER_BLOCK = ROWS_PER_BLOCK // EVENTS_PER_EPOCH
HOT_BATCH = 100
"""One of every hundred auctions, bidders and sellers is the hot one."""

HOMES = (
    ("AZ", "Phoenix"),
    ("AZ", "Tucson"),
    ("CA", "Los Angeles"),
    ("CA", "San Francisco"),
    ("ID", "Boise"),
    ("OR", "Portland"),
    ("OR", "Bend"),
    ("VT", "Burlington"),
    ("VT", "Montpelier"),
    ("WA", "Seattle"),
    ("WA", "Redmond"),
    ("WY", "Cheyenne"),
)
FIRST_NAMES = ("Ada", "Alan", "Barbara", "Edgar", "Grace", "Jim", "John", "Leslie", "Michael", "Pat")
LAST_NAMES = ("Baker", "Cole", "Doyle", "Fisher", "Grant", "Hayes", "Lane", "Moore", "Reed", "Stone")
STATES = pa.array([state for state, _ in HOMES])
CITIES = pa.array([city for _, city in HOMES])
NAMES = pa.array([f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES])

SCHEMAS = {
    "person": stream_schema(id=pa.int64(), name=pa.string(), state=pa.string(), city=pa.string(), ts=TIMESTAMP),
    "auction": stream_schema(
        id=pa.int64(),
        seller=pa.int64(),
        category=pa.int64(),
        initial_bid=pa.int64(),
        expires=TIMESTAMP,
        ts=TIMESTAMP,
    ),
    "bid": stream_schema(auction=pa.int64(), bidder=pa.int64(), price=pa.int64(), ts=TIMESTAMP),
}
TRAN_NAMES = {
    "person": ("Person", {"id": "personID"}),
    "auction": ("Auction", {"id": "auctionID", "seller": "sellerID", "initial_bid": "startPrice"}),
    "bid": ("Bid", {"auction": "auctionID", "bidder": "bidderID", "price": "bidPrice"}),
}
"""The names of the streams and columns in Tran's example 1."""


@dataclass(frozen=True, slots=True)
class AuctionParameters:
    """The parameters of Nexmark.

    ``names``: "default", or "tran" for the names in Tran's paper.
    ``events_per_second``: events of all three streams together, per second of event time.
    ``hot_…_ratio``: one of so many references is *not* to a hot one; 1 means that none is hot.
    ``auctions_in_flight``, ``active_persons``: how far back the other references reach.
    """

    names: str = "default"
    events_per_second: float = 10_000
    hot_auction_ratio: int = 2
    hot_bidder_ratio: int = 4
    hot_seller_ratio: int = 4
    auctions_in_flight: int = 100
    active_persons: int = 1_000
    categories: int = 10
    disorder_share: float = 0.0
    disorder_depth_seconds: float = 0.0
    start_us: int = START_US

    def __post_init__(self) -> None:
        if self.names not in ("default", "tran"):
            raise UsageError(f"unknown names {self.names!r}", "give 'default' or 'tran'.")
        require_positive("events_per_second", self.events_per_second)
        require_whole_number("hot_auction_ratio", self.hot_auction_ratio)
        require_whole_number("hot_bidder_ratio", self.hot_bidder_ratio)
        require_whole_number("hot_seller_ratio", self.hot_seller_ratio)
        require_whole_number("auctions_in_flight", self.auctions_in_flight)
        require_whole_number("active_persons", self.active_persons)
        require_whole_number("categories", self.categories)
        require_disorder(self.disorder_share, self.disorder_depth_seconds)
        require_whole_number("start_us", self.start_us, minimum=0)

    @property
    def clock(self) -> Clock:
        """The clock that all events share."""
        return Clock((self.events_per_second,), self.start_us)


@dataclass(frozen=True, slots=True)
class Kind:
    """The events of one stream: ``count`` of every fifty, beginning with number ``offset`` of the fifty."""

    offset: int
    count: int

    def rows_in(self, events: int) -> int:
        """How many of the first ``events`` events belong to this stream."""
        epochs, rest = divmod(events, EVENTS_PER_EPOCH)
        return epochs * self.count + min(max(rest - self.offset, 0), self.count)

    def event_numbers(self, row_numbers: Whole) -> Whole:
        """The event numbers of the rows of this stream."""
        epochs, positions = np.divmod(row_numbers, self.count)
        return epochs * EVENTS_PER_EPOCH + self.offset + positions


KINDS = {"person": Kind(0, 1), "auction": Kind(1, 3), "bid": Kind(4, 46)}


def auction_schemas(parameters: AuctionParameters) -> dict[str, pa.Schema]:
    """The schemas of person, auction and bid, or of the streams with Tran's names."""
    empty = {stream: schema.empty_table() for stream, schema in SCHEMAS.items()}
    return {stream: table.schema for stream, table in _named(empty, parameters).items()}


def auction_tables(rows: int, seed: int, parameters: AuctionParameters) -> Iterator[dict[str, pa.Table]]:
    """The rows of the three streams, block by block, in the order of arrival."""
    counts = {stream: kind.rows_in(rows) for stream, kind in KINDS.items()}
    sizes = {stream: kind.count * EPOCHS_PER_BLOCK for stream, kind in KINDS.items()}
    happening = (
        {
            "person": _persons(step["person"], parameters),
            "auction": _auctions(step["auction"], parameters),
            "bid": _bids(step["bid"], parameters),
        }
        for step in blocks(seed, counts, sizes)
    )
    for tables in in_arrival_order(
        happening,
        seed=seed,
        share=parameters.disorder_share,
        depth_seconds=parameters.disorder_depth_seconds,
    ):
        yield _named(tables, parameters)


def _persons(block: Block, parameters: AuctionParameters) -> pa.Table:
    homes = block.whole_numbers("home", len(HOMES))
    return table_of(
        SCHEMAS["person"],
        id=FIRST_PERSON_ID + block.row_numbers,
        name=pick(NAMES, block.whole_numbers("name", len(NAMES))),
        state=pick(STATES, homes),
        city=pick(CITIES, homes),
        ts=parameters.clock.times_us(KINDS["person"].event_numbers(block.row_numbers)),
    )


def _auctions(block: Block, parameters: AuctionParameters) -> pa.Table:
    event_numbers = KINDS["auction"].event_numbers(block.row_numbers)
    newest_person = event_numbers // EVENTS_PER_EPOCH
    times_us = parameters.clock.times_us(event_numbers)
    events_in_flight = parameters.auctions_in_flight * EVENTS_PER_EPOCH / KINDS["auction"].count
    average_length_us = events_in_flight / parameters.events_per_second * SECOND_US
    return table_of(
        SCHEMAS["auction"],
        id=FIRST_AUCTION_ID + block.row_numbers,
        seller=FIRST_PERSON_ID
        + np.where(
            _hot(block, "hot seller", parameters.hot_seller_ratio),
            newest_person // HOT_BATCH * HOT_BATCH,
            _recent(block, "seller", newest_person, parameters.active_persons),
        ),
        category=FIRST_CATEGORY_ID + block.whole_numbers("category", parameters.categories),
        initial_bid=_prices(block.uniform("initial_bid")),
        expires=times_us + 1 + (block.uniform("expires") * 2 * average_length_us).astype(np.int64),
        ts=times_us,
    )


def _bids(block: Block, parameters: AuctionParameters) -> pa.Table:
    event_numbers = KINDS["bid"].event_numbers(block.row_numbers)
    newest_person = event_numbers // EVENTS_PER_EPOCH
    newest_auction = newest_person * KINDS["auction"].count + KINDS["auction"].count - 1
    # The second person of the hundred, because the first is the hot seller; until the second exists, the first.
    hot_bidder = np.minimum(newest_person // HOT_BATCH * HOT_BATCH + 1, newest_person)
    return table_of(
        SCHEMAS["bid"],
        auction=FIRST_AUCTION_ID
        + np.where(
            _hot(block, "hot auction", parameters.hot_auction_ratio),
            newest_auction // HOT_BATCH * HOT_BATCH,
            _recent(block, "auction", newest_auction, parameters.auctions_in_flight + 1),
        ),
        bidder=FIRST_PERSON_ID
        + np.where(
            _hot(block, "hot bidder", parameters.hot_bidder_ratio),
            hot_bidder,
            _recent(block, "bidder", newest_person, parameters.active_persons),
        ),
        price=_prices(block.uniform("price")),
        ts=parameters.clock.times_us(event_numbers),
    )


def _hot(block: Block, column: str, ratio: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return block.chosen(column, 1 - 1 / ratio)


def _recent(block: Block, column: str, newest: Whole, reach: int) -> Whole:
    """The numbers of random ones among the last ``reach`` up to ``newest``."""
    return block.between(column, np.maximum(newest - reach + 1, 0), newest)


def _prices(uniform: Real) -> Whole:
    """Log-uniform over six decades, in cents."""
    return np.round(10 ** (uniform * 6) * 100).astype(np.int64)


def _named(tables: dict[str, pa.Table], parameters: AuctionParameters) -> dict[str, pa.Table]:
    if parameters.names == "default":
        return tables
    renamed = {}
    for stream, table in tables.items():
        name, columns = TRAN_NAMES[stream]
        renamed[name] = table.rename_columns([columns.get(column, column) for column in table.column_names])
    return renamed
