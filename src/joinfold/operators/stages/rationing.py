"""Which rows of a plain join probe, and which are held, under SHED. Every bucket decides alike, from all headers.

    headers ──▶ arrivals, load of all windows ──▶ shares of the streams ──▶ rates of probing and of holding

Rows are in the order in which they enter their windows, and those that enter together in the order of FROM. The last
row of a combination in this order is its *prober*. The combination comes if its prober may probe, and all its other
rows are held when the prober enters. So which combinations come depends on the rows and the rates alone
(`shedding.timeline`).

The rates change between micro-batches only, for the rows that enter after all those that were seen before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from joinfold.kernels.grouping import mix
from joinfold.logical.shedding import AllTo, Favour, HoldBytes, HoldRows
from joinfold.operators.entries import Flags, Integers
from joinfold.operators.packing.header import Load
from joinfold.physical.shedding import DRAWS, WHOLE, PairRationing
from joinfold.physical.timing import Timing
from joinfold.shedding.allocation import AllToOne, Demand, Share, allocate
from joinfold.shedding.controller import Controller
from joinfold.shedding.heavy_keys import HeavyKeys
from joinfold.shedding.live_load import LiveLoad, LoadPart
from joinfold.shedding.rates import BEGINNING
from joinfold.shedding.timeline import Timeline
from joinfold.window import PartitionedRows

SMOOTHING = 1 / 8
"""How much the last micro-batch counts in the arrival rates by which budgets are divided."""
PROBING = 0x9206
"""Makes the draw by which a row probes independent of the one by which it is held."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """Rows of a stream whose draw is not below the rate are not held from this time on."""

    stream: int
    start: int
    rate: int


class Rationer:
    """The rates of all streams, and what they are derived from.

    ``latest`` is the time up to which rows have entered their windows.
    """

    def __init__(self, shedding: PairRationing, timing: Timing) -> None:
        self.shedding = shedding
        self.names = timing.names
        self.favour: Favour | AllToOne = (
            AllToOne(timing.names.index(shedding.favour.alias))
            if isinstance(shedding.favour, AllTo)
            else shedding.favour
        )
        self.windows = timing.windows
        self.partitions = [HeavyKeys() for _ in timing.names]  # how many each stream has had, where a window has some
        self.probing = [Timeline() for _ in timing.names]
        self.holding = [Timeline() for _ in timing.names]
        self.load = LiveLoad()
        self.begins: list[int | None] = [None] * timing.streams  # the last cell before the oldest part of the load
        self.controller = Controller(shedding)
        self.arrivals = [0.0] * timing.streams  # rows per micro-batch, smoothed
        self.seconds = 0.0  # between micro-batches, smoothed; 0 if not known
        self.shares = tuple(Share() for _ in timing.names)
        self.latest: int | None = None
        self.lowered: list[Lowered] = []  # not applied yet

    # --- deciding ---------------------------------------------------------------------------------------------------

    def see(self, loads: Iterable[tuple[int, Load]], needed: Mapping[int, int], latest: int | None) -> None:
        """Takes the headers of a micro-batch and decides its rates.

        ``needed`` has the first cell of each stream that is still needed, ``latest`` is as in the class, now.
        """
        loads = list(loads)
        if loads:
            brought = [_added(load for own, load in loads if own == stream) for stream in range(len(self.names))]
            for stream, load in loads:
                self.partitions[stream].see((), load.smallest, 0, 0, 0)
            windows = [self._window(stream, needed[stream]) for stream in range(len(self.names))]
            for stream, part in enumerate(brought):
                if part.entries:  # all headers of a stream at once: their order differs from bucket to bucket
                    self.load.see(stream, part)
            windows = [max(own, key=lambda part: part.entries) for own in zip(windows, brought, strict=True)]
            windows = [self._at_most(stream, part) for stream, part in enumerate(windows)]
            clock_us = max((load.clock_us for _, load in loads if load.clock_us is not None), default=None)
            self._decide([part.rows for part in brought], windows, clock_us)
            self._apply(BEGINNING if self.latest is None else self.latest + 1)
        self.latest = latest

    def _window(self, stream: int, first: int) -> LoadPart:
        """What the window of a stream would hold, from its cell ``first`` on.

        Of the oldest part only a share is needed: as many of its cells as are not before ``first``.
        """
        parts = self.load.parts.get(stream, [])
        gone = [part.last_cell for part in parts if part.last_cell < first]
        if gone:
            self.begins[stream] = max(gone)
        self.load.forget(dict.fromkeys(self.load.parts, BEGINNING) | {stream: first})
        window, begin, parts = self.load.of(stream), self.begins[stream], self.load.parts.get(stream, [])
        if len(parts) < 2:
            return window
        oldest = parts[0]
        if begin is None:  # the first part of all is taken to be as long as the second
            begin = 2 * oldest.last_cell - parts[1].last_cell
        past = min(max(first - begin - 1, 0) / max(oldest.last_cell - begin, 1), 1.0)
        return LoadPart(
            window.last_cell,
            window.rows - round(past * oldest.rows),
            window.entries - round(past * oldest.entries),
            window.size_bytes - round(past * oldest.size_bytes),
        )

    def _at_most(self, stream: int, window: LoadPart) -> LoadPart:
        """What a window would hold; of the last rows of each partition, not more than there are partitions."""
        own = self.windows[stream]
        return window.at_most(own.size * self.partitions[stream].keys) if isinstance(own, PartitionedRows) else window

    def _decide(self, rows: list[int], windows: list[LoadPart], clock_us: int | None) -> None:
        """Divides the budgets among the streams, given the rows that came and what the windows would hold before."""
        self._smooth(rows, clock_us)
        total, demands = sum(rows), self._demands(windows)
        allowed, room, probes = self.controller.processed(total, clock_us), self._room(), None
        if room is not None:
            room = max(room, sum(min(d.least_rows, d.rows) * d.row_size for d in demands))
        if allowed < 1:
            least = sum(min(d.least_probes, d.probes) for d in demands)
            probes = max(allowed * sum(d.probes for d in demands), least)
        self.shares = allocate(demands, probes, room, self.favour, self.shares)
        used = sum(share.probes * own for share, own in zip(self.shares, rows, strict=True))
        self.controller.use(used)

    def _room(self) -> float | None:
        """The entries that may be held, or their bytes; None without such a budget."""
        for budget in self.shedding.budgets:
            match budget:
                case HoldRows(rows=most) | HoldBytes(size_bytes=most):
                    return most
        return None

    def _smooth(self, rows: list[int], clock_us: int | None) -> None:
        weight = SMOOTHING if any(self.arrivals) else 1.0
        self.arrivals = [own + weight * (new - own) for own, new in zip(self.arrivals, rows, strict=True)]
        before_us = self.controller.clock_us
        if before_us is not None and clock_us is not None and clock_us > before_us:
            weight = SMOOTHING if self.seconds else 1.0
            self.seconds += weight * ((clock_us - before_us) / 1e6 - self.seconds)

    def _demands(self, windows: list[LoadPart]) -> list[Demand]:
        """What each stream could use. Without a clock only the ratios of arrivals matter."""
        by_size = any(isinstance(budget, HoldBytes) for budget in self.shedding.budgets)
        return [
            Demand(
                arrivals / (self.seconds or 1.0),
                window.entries,
                self.shedding.least_rows_per_second,
                self.shedding.least_rows,
                window.size_bytes / window.entries if by_size and window.size_bytes else 1.0,
            )
            for arrivals, window in zip(self.arrivals, windows, strict=True)
        ]

    def _apply(self, start: int) -> None:
        """Lets the shares apply to the rows that enter from ``start`` on."""
        for stream, share in enumerate(self.shares):
            probing, holding = self.probing[stream], self.holding[stream]
            if probing.accepts(rate := int(share.probes * WHOLE)):
                probing.change(start, rate)
            if holding.accepts(rate := int(share.rows * WHOLE)):
                if start == holding.starts[-1] > BEGINNING:  # rows may have been dropped by the rate that began here
                    rate = min(rate, holding.current)
                if rate < holding.current:
                    self.lowered.append(Lowered(stream, start, rate))
                holding.change(start, rate)

    # --- applying ---------------------------------------------------------------------------------------------------

    def may_probe(self, stream: int, times: Integers, draws: Integers) -> Flags:
        """True for the rows of a stream that may probe, when they enter at these times."""
        flags: Flags = probing_draws(draws) < self.probing[stream].thresholds(times)
        return flags

    def held_until(self, stream: int, times: Integers, draws: Integers) -> Integers:
        """The time up to which each row is held that enters at these times; the same time if it is not held."""
        return self.holding[stream].until(times, draws)

    def take_lowered(self) -> list[Lowered]:
        """The rates of holding that were lowered since the last call."""
        lowered, self.lowered = self.lowered, []
        return lowered

    def forget(self, first_times: Sequence[int], watermark: int) -> None:
        """Drops rates that no row needs: neither those that entered at ``first_times`` or later, nor those to come."""
        for stream, first in enumerate(first_times):
            self.holding[stream].forget(first)
            self.probing[stream].forget(watermark + 1)

    # --- state ------------------------------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """What has to be stored, by the names of the streams."""
        streams = {
            name: {
                "probing": self.probing[stream].facts(),
                "holding": self.holding[stream].facts(),
                "arrivals": self.arrivals[stream],
                "begin": self.begins[stream],
                "share": asdict(self.shares[stream]),
                "partitions": self.partitions[stream].smallest,
            }
            for stream, name in enumerate(self.names)
        }
        return {
            "streams": streams,
            "load": self.load.facts(self.names),
            "controller": self.controller.facts(),
            "seconds": self.seconds,
            "latest": self.latest,
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Takes what was stored."""
        streams = [facts["streams"][name] for name in self.names]
        self.probing = [Timeline.from_facts(own["probing"]) for own in streams]
        self.holding = [Timeline.from_facts(own["holding"]) for own in streams]
        self.arrivals = [own["arrivals"] for own in streams]
        self.begins = [own["begin"] for own in streams]
        self.shares = tuple(Share(**own["share"]) for own in streams)
        self.partitions = [HeavyKeys(smallest=own.get("partitions", [])) for own in streams]
        self.load = LiveLoad.from_facts(facts["load"], self.names)
        self.controller.restore(facts["controller"])
        self.seconds, self.latest = facts["seconds"], facts["latest"]


def _added(loads: Iterable[Load]) -> LoadPart:
    """The load of all batches together."""
    known = [load for load in loads if load.last_cell is not None]
    parts = [LoadPart(load.last_cell or 0, load.rows, load.entries, load.size_bytes) for load in known]
    return sum(parts[1:], parts[0]) if parts else LoadPart(BEGINNING, 0, 0, 0)


def probing_draws(draws: Integers) -> Integers:
    """Draws for probing, from those for holding."""
    mixed = mix(np.stack([draws, np.full(len(draws), PROBING, np.int64)]))
    return (mixed // np.uint64(2**64 // DRAWS)).astype(np.int64)
