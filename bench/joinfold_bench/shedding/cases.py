"""Random cases for estimates: a query, its data and a budget. Each case runs with SHED and without, in process.

A case is a function of its number. Rows come second by second, each second as one micro-batch. In every second case the
load changes: for some seconds there are three times as many rows.

    rows per second    ▁▁▁▁▁▁▁▁▁▁███▁▁▁▁▁▁▁
    windows of 10 s    ├─────────┤│         during the load, the newer rows have a lower rate
                             └────┼─────┤   after it, the older ones
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from joinfold.inprocess import InProcess
from joinfold.logical.shedding import Sampler
from joinfold.session import Session
from joinfold.workloads.arrival import SECOND_US
from joinfold.workloads.draws import zipf_cumulative
from joinfold_bench.data import STREAMS

Aggregate = Literal["COUNT", "SUM", "AVG"]
AGGREGATES: dict[Aggregate, str] = {"COUNT": "n", "SUM": "s", "AVG": "m"}
"""The aggregates of every case, with their output columns."""
OUTPUTS = "COUNT(*) AS n, SUM(a.v) AS s, AVG(b.v) AS m"
COLUMNS = "ts timestamp, k bigint, g bigint, v bigint"
SECONDS = 22
INSTANTS = (15, 21)
"""The instants that are compared, in seconds."""
LOADED, MORE = range(11, 15), 3
"""The seconds in which a load that changes is larger, and how many times."""
WINDOWS = (6, 8, 10)
LEAST_SHARE, MOST_SHARE = 0.1, 0.7
KINDS = 16
"""How many combinations of sampler, distribution, grouping and change there are. So many cases in a row have all."""


@dataclass(frozen=True, slots=True)
class Case:
    """A query, its data and a budget.

    ``zipf`` is the exponent of the distribution of keys, 0 if it is uniform. ``groups``: 1 without GROUP BY.
    ``groups_have_keys``: every group has its own keys, else its own rows. ``budget`` is ``share`` of what the query
    would hold, or of the rows that come, with the largest load.
    """

    number: int
    sampler: Sampler
    zipf: float
    keys: int
    groups: int
    groups_have_keys: bool
    least_value: int
    rows: int
    windows: tuple[int, int]
    budget: Literal["HOLD", "PROCESS"]
    share: float
    changes: bool

    @property
    def distribution(self) -> str:
        """The distribution of the keys."""
        return "zipf" if self.zipf else "uniform"

    @property
    def exact_text(self) -> str:
        """The query without SHED. ``size`` is the sum of absolute values, to which errors of the sum are relative."""
        return self._select(f"{OUTPUTS}, SUM(ABS(a.v)) AS size")

    def shed_text(self, data: "Data") -> str:
        """The query with SHED."""
        return (
            f"{self._select(OUTPUTS)} SHED TO {self._budget(data)} SAMPLE BY {self.sampler.upper()} SEED {self.number}"
        )

    def _select(self, outputs: str) -> str:
        inputs = (f"{name} [{size} SECOND SLIDE 1 SECOND]" for name, size in zip(STREAMS, self.windows, strict=True))
        group, group_by = ("a.g, ", " GROUP BY a.g") if self.groups > 1 else ("", "")
        return f"SELECT {group}{outputs} FROM {', '.join(inputs)} WHERE a.k = b.k{group_by}"

    def _budget(self, data: "Data") -> str:
        if self.budget == "PROCESS":
            return f"PROCESS {max(round(self.share * data.most_rows), 1)} ROWS PER SECOND"
        return f"HOLD {max(round(self.share * data.most_entries(self)), 1)} ROWS"


@dataclass(frozen=True, slots=True)
class Data:
    """The rows of both streams: the second of each row, and its columns."""

    seconds: dict[str, NDArray[np.int64]]
    columns: dict[str, pa.Table]

    @property
    def most_rows(self) -> int:
        """The rows of both streams in the second that has the most."""
        return int(np.bincount(np.concatenate(list(self.seconds.values()))).max())

    def most_entries(self, case: Case) -> int:
        """The entries that the windows hold at that instant, of those compared, at which they hold the most.

        Sampled rows are entries of their own. Otherwise rows of the same second, key and group are one.
        """
        return max(sum(self._entries(case, name, instant) for name in STREAMS) for instant in INSTANTS)

    def _entries(self, case: Case, name: str, instant: int) -> int:
        seconds, table = self.seconds[name], self.columns[name]
        held = (seconds < instant) & (seconds >= instant - case.windows[STREAMS.index(name)])
        if case.sampler == "row":
            return int(held.sum())
        group = table.column("g").to_numpy() if name == "a" and case.groups > 1 else 0
        return len(np.unique(((seconds * case.keys + table.column("k").to_numpy()) * case.groups + group)[held]))

    def batches(self) -> Iterator[dict[str, pa.Table]]:
        """The micro-batches: all rows of a second."""
        for second in range(SECONDS):
            yield {name: table.slice(*_stretch(self.seconds[name], second)) for name, table in self.columns.items()}


def _stretch(seconds: NDArray[np.int64], second: int) -> tuple[int, int]:
    """The first row of a second, and how many rows it has."""
    start, end = np.searchsorted(seconds, [second, second + 1]).tolist()
    return start, end - start


def draw_case(number: int) -> Case:
    """The case with this number. Sampler, distribution, grouping and change take turns; the rest is random."""
    draw = np.random.default_rng([18, number])
    by_row, is_zipf, is_grouped, changes = ((number >> bit) & 1 == 1 for bit in range(4))
    keys = round(float(np.exp(draw.uniform(np.log(100), np.log(5_000)))))
    rows = draw.uniform(np.log(max(100, keys / 10)), np.log(1_000))
    return Case(
        number,
        "row" if by_row else "key",
        round(float(draw.uniform(0.8, 1.3)), 2) if is_zipf else 0.0,
        keys,
        int(draw.integers(2, 7)) if is_grouped else 1,
        bool(draw.integers(2)),
        int(draw.choice([0, -20])),
        round(float(np.exp(rows))),
        (int(draw.choice(WINDOWS)), int(draw.choice(WINDOWS))),
        "HOLD" if draw.integers(2) else "PROCESS",
        float(draw.uniform(LEAST_SHARE, MOST_SHARE)),
        changes,
    )


def data_of(case: Case) -> Data:
    """The rows of a case. The values of a row depend on its key, so a sample of keys matters for the mean too."""
    seconds, columns = {}, {}
    for stream, name in enumerate(STREAMS):
        draw = np.random.default_rng([19, case.number, stream])
        counts = [case.rows * (MORE if case.changes and second in LOADED else 1) for second in range(SECONDS)]
        seconds[name] = np.repeat(np.arange(SECONDS), counts)
        rows = len(seconds[name])
        keys = np.searchsorted(zipf_cumulative(case.keys, case.zipf), draw.random(rows), "right")
        keys = keys.clip(max=case.keys - 1)
        groups = keys % case.groups if case.groups_have_keys else draw.integers(0, case.groups, rows)
        times = seconds[name] * SECOND_US + draw.integers(0, SECOND_US, rows)
        columns[name] = pa.table(
            {
                "ts": pa.array(times).cast(pa.timestamp("us", tz="UTC")),
                "k": keys,
                "g": groups,
                "v": case.least_value + keys * 37 % 60 + draw.integers(0, 40, rows),
            }
        )
    return Data(seconds, columns)


@dataclass(frozen=True, slots=True)
class Estimated:
    """One estimate of a case beside the exact value. Errors are relative to ``size``.

    ``value`` is None if the group is missing, ``low`` and ``high`` if the sample is too small to give them.
    """

    case: Case
    aggregate: Aggregate
    exact: float
    size: float
    value: float | None
    low: float | None
    high: float | None
    kept: float

    @property
    def is_bounded(self) -> bool:
        """Whether there are both bounds."""
        return self.low is not None and self.high is not None

    @property
    def is_covered(self) -> bool:
        """Whether the exact value is within the bounds."""
        return self.low is not None and self.high is not None and self.low <= self.exact <= self.high

    @property
    def error(self) -> float:
        """The relative error. A group that is missing is estimated as 0."""
        return ((self.value or 0.0) - self.exact) / self.size

    @property
    def width(self) -> float:
        """The relative width of the interval."""
        assert self.low is not None and self.high is not None
        return (self.high - self.low) / self.size


@dataclass(frozen=True, slots=True)
class CaseRun:
    """The estimates of a case, and what differs although it should not: answers that say that nothing was shed."""

    estimates: list[Estimated]
    differences: list[str]


def run_case(case: Case) -> CaseRun:
    """Runs a case with SHED and without, and compares them at two instants."""
    data, session = data_of(case), Session()
    for name in STREAMS:
        session.stream(name, COLUMNS, time="ts")
    whole = InProcess(session.sql(case.exact_text).plan)
    whole.feed(data.columns)
    exact = _by_group([whole.answer()])
    shedding = InProcess(session.sql(case.shed_text(data)).plan)
    answers = []
    for second, batch in enumerate(data.batches()):
        shedding.feed(batch, clock_us=(second + 1) * SECOND_US)
        answers.append(shedding.answer())
    return _compared(case, exact, _by_group(answers))


Answers = dict[tuple[int, int], dict[str, Any]]  # by instant and group


def _by_group(tables: list[pa.Table]) -> Answers:
    rows = pa.concat_tables(tables)
    rows = rows.set_column(0, "instant", rows.column("instant").cast(pa.int64()))
    found = ((row["instant"] // SECOND_US, row) for row in rows.to_pylist())
    return {(second, row.get("g", 0)): row for second, row in found if second in INSTANTS}


def _compared(case: Case, exact: Answers, shed: Answers) -> CaseRun:
    estimates, differences = [], []
    kept = {instant: row["kept"] for (instant, _), row in shed.items()}
    for (instant, group), truth in exact.items():
        row = shed.get((instant, group))
        whole = kept.get(instant) == 1.0
        for aggregate, name in AGGREGATES.items():
            value, low, high = (None if row is None else row[own] for own in (name, f"{name}_low", f"{name}_high"))
            if whole and not value == low == high == truth[name]:
                differences.append(f"case {case.number}, {aggregate} of group {group} at {instant} s")
            if whole or not truth["n"]:
                continue
            size = {"COUNT": truth["n"], "SUM": truth["size"], "AVG": abs(truth["m"])}[aggregate]
            if size and (value is not None or aggregate != "AVG"):
                estimates.append(
                    Estimated(case, aggregate, truth[name], size, value, low, high, kept.get(instant, 0.0))
                )
    return CaseRun(estimates, differences)
