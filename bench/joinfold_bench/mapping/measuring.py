"""Measures one query of the map: in process, some steps, the median of some runs.

A first run compiles and is not counted. A run that takes longer than the cap ends after the step in which the cap was
reached; its rate is that of the rows it has read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from time import process_time

import pyarrow as pa

from joinfold.errors import JoinfoldError
from joinfold.inprocess import InProcess
from joinfold.planner.planned_query import PlannedQuery
from joinfold.session import Session
from joinfold.workloads.synthetic import SyntheticParameters, synthetic_tables
from joinfold_bench.engines.rates import Spread
from joinfold_bench.mapping.queries import MapQuery
from joinfold_bench.mapping.variants import Variant

SEED = 7
STREAMS = 3
RELATION = "r"


@dataclass(frozen=True, slots=True)
class MapSettings:
    """The streams and the runs. Queries over two streams read ``rows`` rows."""

    rows: int = 200_000
    rows_per_second: int = 5_000
    keys: int = 1_000
    groups: int = 20
    steps: int = 10
    repeats: int = 3
    cap: float = 20.0
    variants: bool = False


@dataclass(frozen=True, slots=True)
class MapRun:
    """The rates of a query: of the whole run, and of PACK and FOLD alone; its answers, and the most memory it held."""

    query: str
    variant: str
    rows: int
    rates: tuple[float, ...]
    folding_rates: tuple[float, ...]
    answers: int
    bytes_held: int

    @property
    def rate(self) -> Spread:
        """Rows per second of CPU time: frames, PACK, FOLD, MERGE and SELECT."""
        return Spread.of(self.rates)

    @property
    def folding(self) -> Spread:
        """Rows per second of CPU time in PACK and FOLD."""
        return Spread.of(self.folding_rates)


def streams_of(settings: MapSettings) -> dict[str, pa.Table]:
    """The streams a, b and c, and a relation with a name for each group."""
    parameters = SyntheticParameters(
        streams=STREAMS, rows_per_second=settings.rows_per_second, keys=settings.keys, groups=settings.groups
    )
    blocks = list(synthetic_tables(STREAMS * settings.rows // 2, SEED, parameters))
    tables = {name: pa.concat_tables([block[name] for block in blocks if name in block]) for name in blocks[0]}
    groups = list(range(settings.groups))
    relation = pa.table({"g": pa.array(groups, pa.int64()), "name": [f"name {number % 5}" for number in groups]})
    return {**{name: table.combine_chunks() for name, table in tables.items()}, RELATION: relation}


def planned(text: str, tables: Mapping[str, pa.Table]) -> PlannedQuery:
    """The plan of a query over the streams."""
    session = Session()
    for name, table in tables.items():
        if name == RELATION:
            session.table(name, table)
        else:
            session.stream(name, table, time="ts")
    return session.sql(text).plan


def measure(
    settings: MapSettings, query: MapQuery, variant: Variant, streams: Mapping[str, pa.Table]
) -> MapRun | JoinfoldError | None:
    """The rates of a query; the error if the variant of it is refused; None if the variant does not fit it."""
    text = variant.text(query.text)
    if text is None:
        return None
    tables = {name: table if name == RELATION else variant.table(table) for name, table in streams.items()}
    try:
        plan = planned(text, tables)
    except JoinfoldError as error:
        return error
    runs = [_run(settings, plan, tables) for _ in range(1 + settings.repeats)][1:]
    rows, _, _, answers, held = runs[0]
    rates, folding = ([run[0] / run[kind] for run in runs] for kind in (1, 2))
    return MapRun(query.name, variant.name, rows, tuple(rates), tuple(folding), answers, held)


def _run(
    settings: MapSettings, plan: PlannedQuery, tables: Mapping[str, pa.Table]
) -> tuple[int, float, float, int, int]:
    """Rows read, seconds of CPU, those in PACK and FOLD, answers, and the most bytes held, of one run."""
    read = {input_.source.name for input_ in plan.query.inputs}
    streams = {name: table for name, table in tables.items() if name in read and name != RELATION}
    machine, answers = InProcess(plan), 0
    if RELATION in read:
        machine.feed({RELATION: tables[RELATION]})
    each = -(-(settings.rows // 2) // settings.steps)
    began = process_time()
    for step in range(settings.steps):
        machine.feed({name: table.slice(step * each, each) for name, table in streams.items()})
        answers += machine.answer().num_rows
        if process_time() - began > settings.cap:
            break
    else:
        answers += machine.answer(to_the_end=True).num_rows
    seconds, measures = process_time() - began, machine.measures
    return measures.rows, seconds, measures.pack_seconds + measures.fold_seconds, answers, measures.most_bytes_held
