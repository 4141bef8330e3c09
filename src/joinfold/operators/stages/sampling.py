"""Which keys or rows a bucket holds and uses under SHED. Every bucket decides alike, from the headers of all rows.

    headers ──▶ load of all windows ──▶ rate ──▶ entries that are held ──▶ entries that an instant uses
                heavy keys          ──▶ certain keys ─┘

The rate changes between micro-batches only (`shedding.rates`). A bucket holds what later instants may use. An instant
uses the sample that all its cells have in common, or less: to let more keys into the windows is work, so they enter as
KEEP UP leaves room for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from joinfold.operators.entries import Entries, Flags, Integers, Payload
from joinfold.operators.packing.header import Load
from joinfold.physical.shedding import (
    MOST_ROWS_FOR_ONE,
    REPLICATES,
    WHOLE,
    KeySampling,
    RowSampling,
    Sampling,
)
from joinfold.physical.timing import Timing
from joinfold.shedding.control import LEAST_RATE, Steps
from joinfold.shedding.controller import Controller
from joinfold.shedding.heavy_keys import MOST_ROOM, HeavyKeys
from joinfold.shedding.live_load import LiveLoad, LoadPart
from joinfold.shedding.rates import EVERYTHING, MANY, Rates, Sample, threshold
from joinfold.window import PartitionedRows

GENTLY = 2 ** (1 / 16)
"""By how much the rate that is used may always rise in a micro-batch."""


class Sampler:
    """The rates of a stage's streams, and what they are derived from.

    ``lowered``: a rate was lowered, and what is held has not been thinned since. ``rows`` came in the last micro-batch,
    ``used`` is the sample of the last answer, and ``most_used`` the largest rate that the next one may use. ``numbers``
    has effective numbers of keys beside certain ones, as far as they were asked for.
    """

    def __init__(self, shedding: Sampling, timing: Timing) -> None:
        self.shedding = shedding
        self.names = timing.names
        self.windows = timing.windows
        self.rates = Rates.whole(shedding.streams)
        self.heavy = HeavyKeys()
        self.load = LiveLoad()
        self.controller = Controller(shedding)
        self.steps = Steps()
        self.batch = 0
        self.lowered = False
        self.rows = 0
        self.used = EVERYTHING
        self.most_used = WHOLE
        self.numbers: dict[frozenset[int], float] = {}

    def see(self, loads: Iterable[tuple[int, Load]], first_cells: Mapping[int, int]) -> None:
        """Takes the headers of a micro-batch and decides its rate; ``first_cells`` are still needed of each stream."""
        loads = list(loads)
        if not loads:
            return
        self.batch += 1
        self.load.forget(first_cells)
        seen = self.load.last_cells()
        parts: dict[int, LoadPart] = {}  # one per stream: headers come in any order
        for stream, load in loads:
            if load.last_cell is not None:
                part = LoadPart(load.last_cell, load.rows, load.entries, load.size_bytes)
                parts[stream] = parts[stream] + part if stream in parts else part
        for stream, part in sorted(parts.items()):
            self.load.see(stream, part)
        sampled = [load for stream, load in loads if stream in self.rates.segments]
        rows, entries = sum(load.rows for load in sampled), sum(load.entries for load in sampled)
        heavy = (key for load in sampled for key in load.heavy)
        smallest = (draw for load in sampled for draw in load.smallest)
        self.heavy.see(heavy, smallest, rows, entries, self._live_rows)
        self.numbers.clear()
        self._decide(loads, seen, first_cells)

    def _decide(self, loads: list[tuple[int, Load]], seen: Mapping[int, int], needed: Mapping[int, int]) -> None:
        """Decides the rate and the certain keys.

        What a higher rate costs shows only when the windows have no older cells. Until then it is not raised again,
        unless everything can be kept.
        """
        self.rows = rows = sum(load.rows for _, load in loads)
        clock_us = max((load.clock_us for _, load in loads if load.clock_us is not None), default=None)
        current, certain = self.rates.current, set(self.rates.certain)
        whole = sum((self._held(stream) for stream in self.load.parts if stream not in self.rates.segments), _NOTHING)
        sampled = sum(map(self._held, self.rates.segments), _NOTHING)
        affordable = self.controller.share(rows, clock_us, sampled, whole)
        chosen = self._certain(certain, affordable) if affordable < 1 or current < WHOLE else certain
        steps = self.steps.toward(_beside(self.heavy.share(chosen), affordable))
        waits = self.steps.rate < steps.rate < WHOLE and self.rates.is_rising(needed)
        self.steps = replace(steps, rate=self.steps.rate) if waits else steps
        rate = self._possible(self.steps.rate)
        self.most_used = self._usable()
        if rate < current:
            self.rates.lower(rate, self.batch, chosen)
            self.lowered = True
        elif rate > current or chosen != certain:
            self.rates.go_on(rate, self.batch, chosen, seen)

    def _usable(self) -> int:
        """The largest rate that fits what can be done in this micro-batch: its own rows, and keys that enter windows.

        If rows are sampled, windows begin again with every other rate, so there is nothing to divide.
        """
        used = self.used.rate / WHOLE
        room = self.controller.room(self._share(self.used) * self.rows)
        if room is None or isinstance(self.shedding, RowSampling):
            return WHOLE
        steady = _beside(self.heavy.share(set(self.used.certain)), self.controller.pace.steady_share)
        rise = max(room / max(self._live_rows, 1), (GENTLY - 1) * used)
        return max(int(min(used + rise, steady, 1.0) * WHOLE), LEAST_RATE)

    def _share(self, sample: Sample) -> float:
        """The share of rows that a sample has."""
        rate = sample.rate / WHOLE
        return rate + (1 - rate) * self.heavy.share(set(sample.certain))

    def _certain(self, certain: set[int], affordable: float) -> set[int]:
        """The keys that are certain from now on: those so far, unless they are too many or others should be."""
        chosen = self.heavy.chosen(certain, affordable, len(self.rates.segments), self._live_rows)
        fit = self.heavy.share(certain) <= MOST_ROOM * affordable
        return certain if fit and chosen <= certain else chosen

    @property
    def _live_rows(self) -> int:
        """The rows that the windows of sampled streams would hold."""
        return sum(self.load.of(stream).rows for stream in self.rates.segments)

    def _held(self, stream: int) -> LoadPart:
        """What the window of a stream would hold; of the last rows of each key, not more than there are keys."""
        load, window = self.load.of(stream), self.windows[stream]
        return load.at_most(window.size * self.heavy.keys) if isinstance(window, PartitionedRows) else load

    def _possible(self, rate: int) -> int:
        """The rate itself for keys; for rows, the next one below it that keeps one row in m."""
        if isinstance(self.shedding, KeySampling):
            return rate
        return WHOLE // min(-(-WHOLE // rate), MOST_ROWS_FOR_ONE)

    def holds(self, stream: int, cells: Integers, draws: Integers) -> Flags:
        """True for the new entries of a stream that are held."""
        return self.rates.holds(stream, cells, draws)

    def still_holds(self, draws: Integers) -> Flags:
        """True for entries that are still held after the rate was lowered.

        No cell has a larger rate than the newest one, so the cells need not be known.
        """
        return (draws < threshold(self.rates.current)) | np.isin(draws, list(self.rates.certain))

    def sample(self, first_cells: Mapping[int, int]) -> Sample:
        """The sample of windows that begin at these cells."""
        sample = self.rates.sample({stream: first_cells[stream] for stream in self.rates.segments})
        if sample.rate > self.most_used:
            sample = Sample(self.most_used, self.used.certain if sample.is_whole else sample.certain)
        if sample.is_whole or isinstance(self.shedding, RowSampling):
            return sample
        if sample.certain not in self.numbers:
            number = self.heavy.effective_number(sample.certain, len(self.rates.segments), self._live_rows)
            self.numbers[sample.certain] = number
        return replace(sample, expected=min(int(self.numbers[sample.certain] * sample.rate / WHOLE), MANY))

    def use(self, sample: Sample) -> None:
        """Tells which sample the last answer of a micro-batch has used."""
        moved = sample.rate if sample != self.used else 0
        if is_exchanged(self.shedding, self.used, sample):
            moved = abs(sample.rate - self.used.rate)
        self.controller.use(self._share(sample) * self.rows, moved / WHOLE * self._live_rows)
        self.used = sample

    def forget(self, first_cells: Mapping[int, int]) -> None:
        """Drops what no later answer needs, which begins at these cells or after them."""
        self.rates.forget({stream: first_cells[stream] for stream in self.rates.segments})

    def facts(self) -> dict[str, Any]:
        """What has to be stored, by the names of the streams."""
        return {
            "batch": self.batch,
            "rates": self.rates.facts(self.names),
            "heavy": self.heavy.facts(),
            "load": self.load.facts(self.names),
            "controller": self.controller.facts(),
            "steps": self.steps.facts(),
            "lowered": self.lowered,
            "most_used": self.most_used,
            "rows": self.rows,
            "used": [self.used.rate, sorted(self.used.certain), self.used.expected],
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Takes what was stored."""
        self.batch = facts["batch"]
        self.rates = Rates.from_facts(facts["rates"], self.names)
        self.heavy = HeavyKeys.from_facts(facts["heavy"])
        self.load = LiveLoad.from_facts(facts["load"], self.names)
        self.controller.restore(facts["controller"])
        self.steps, self.lowered = Steps.from_facts(facts["steps"]), facts["lowered"]
        self.most_used, self.rows = facts.get("most_used", WHOLE), facts.get("rows", 0)
        rate, certain, expected = facts["used"]
        self.used = Sample(rate, frozenset(certain), expected)


_NOTHING = LoadPart(0, 0, 0, 0)


def _beside(certain: float, affordable: float) -> float:
    """The share of the other entries that can be held beside the certain ones, both as shares of all."""
    if affordable >= 1:
        return 1.0
    return max(affordable - certain, 0.0) / (1 - certain) if certain < 1 else 0.0


def in_sample(sample: Sample, entries: Entries) -> Flags:
    """True for the entries that a sample has."""
    assert entries.draws is not None
    if sample.is_whole:
        return np.ones(len(entries), np.bool_)
    return (entries.draws < threshold(sample.rate)) | _is_certain(sample, entries.draws)


def replicates(shedding: Sampling, sample: Sample, entries: Entries) -> Integers:
    """The number of the replicate of each entry; −1 for what is not sampled."""
    assert entries.draws is not None
    if sample.is_whole:
        return np.full(len(entries), -1)
    if isinstance(shedding, RowSampling):
        return entries.draws % REPLICATES["row"]
    return np.where(_is_certain(sample, entries.draws), -1, entries.draws % REPLICATES["key"])


def weighted(sample: Sample, entries: Entries) -> Payload:
    """The payloads of sampled rows: one row in m counts for m. The m of a sample is a whole number."""
    weight = round(WHOLE / sample.rate)
    payload = entries.payload
    return payload if weight == 1 else payload._replace(ints=payload.ints * weight, reals=payload.reals * weight)


def is_exchanged(shedding: Sampling, before: Sample, after: Sample) -> bool:
    """Whether it is less work to exchange what differs between two samples than to begin again with the second.

    If rows are sampled, all of them count for others.
    """
    if before.is_whole or after.is_whole or isinstance(shedding, RowSampling):
        return False
    return before.rate < 2 * after.rate


def difference(shedding: Sampling, before: Sample, after: Sample, held: Entries) -> tuple[Flags, Flags]:
    """Which entries only one of two samples has, or both in different replicates: those that leave, and that enter."""
    had, has = in_sample(before, held), in_sample(after, held)
    moved = replicates(shedding, before, held) != replicates(shedding, after, held)
    return had & (~has | moved), has & (~had | moved)


def _is_certain(sample: Sample, draws: Integers) -> Flags:
    return np.isin(draws, list(sample.certain)) if sample.certain else np.zeros(len(draws), np.bool_)
