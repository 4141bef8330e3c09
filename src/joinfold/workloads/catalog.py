"""The tables ``WORKLOADS`` and ``PRESETS``, and the two ways to run a workload: into a folder, or in memory.

A workload has parameters, schemas that follow from them, and a function from (rows, seed, parameters) to tables. A
preset is a workload with values for its parameters, under a name.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from joinfold.errors import UsageError, suggestion
from joinfold.workloads.auctions import AuctionParameters, auction_schemas, auction_tables
from joinfold.workloads.checks import require_whole_number
from joinfold.workloads.packets import PacketParameters, packet_schemas, packet_tables
from joinfold.workloads.sensors import SensorParameters, sensor_schemas, sensor_tables
from joinfold.workloads.synthetic import (
    R0,
    R1,
    SyntheticParameters,
    synthetic_rows,
    synthetic_schemas,
    synthetic_tables,
)
from joinfold.workloads.tables import write_streams

DEFAULT_SEED = 7
DEFAULT_ROWS_PER_FILE = 100_000


@dataclass(frozen=True, slots=True)
class Workload:
    """A generator of streams under a name.

    ``parameters`` is the dataclass of its parameters. ``natural_rows`` is the number of rows that follows from the
    parameters, or None.
    """

    name: str
    description: str
    parameters: type[Any]
    schemas: Callable[[Any], dict[str, pa.Schema]]
    tables: Callable[[int, int, Any], Iterator[dict[str, pa.Table]]]
    natural_rows: Callable[[Any], int | None] = lambda parameters: None

    @property
    def parameter_names(self) -> list[str]:
        """The names of the parameters; rows, seed and directory are not among them."""
        return [item.name for item in fields(self.parameters)]


@dataclass(frozen=True, slots=True)
class Preset:
    """A workload with values for its parameters."""

    name: str
    description: str
    workload: str
    parameters: Any


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "synthetic",
            "streams of (ts, key, g, v) with chosen rate, selectivity, skew, bursts and disorder",
            SyntheticParameters,
            synthetic_schemas,
            synthetic_tables,
            synthetic_rows,
        ),
        Workload(
            "sensors",
            "temperature and smoke of a building whose rooms now and then burn",
            SensorParameters,
            sensor_schemas,
            sensor_tables,
        ),
        Workload(
            "packets",
            "packets at a branch office and on the backbone, some of them seen at both",
            PacketParameters,
            packet_schemas,
            packet_tables,
        ),
        Workload(
            "auctions",
            "persons, auctions and bids by the rules of Nexmark",
            AuctionParameters,
            auction_schemas,
            auction_tables,
        ),
    )
}

PRESETS = {
    preset.name: preset
    for preset in (
        Preset("R1", "two streams of 10,000 rows/s for 200 s, 10,000 keys, 100 groups", "synthetic", R1),
        Preset("R0", "R1 with a tenth of the rate and the keys", "synthetic", R0),
    )
}


def generate(
    name: str,
    *,
    directory: Path,
    rows: int | None = None,
    seed: int = DEFAULT_SEED,
    rows_per_file: int = DEFAULT_ROWS_PER_FILE,
    progress: Callable[[int], None] = lambda rows: None,
    **parameters: object,
) -> dict[str, pa.Schema]:
    """Writes a workload or preset as Parquet, one folder per stream, and returns the schemas of the streams.

    ``rows`` is the number of rows of all streams together. It may be left out if ``seconds`` gives the length.
    """
    run = _Run.of(name, rows, seed, parameters)
    require_whole_number("rows_per_file", rows_per_file)
    write_streams(run.tables(), run.schemas(), Path(directory), rows_per_file=rows_per_file, progress=progress)
    return run.schemas()


def batches(
    name: str, *, rows: int | None = None, seed: int = DEFAULT_SEED, **parameters: object
) -> Iterator[dict[str, pa.Table]]:
    """The rows that ``generate`` would write, a limited number of rows of every stream at a time."""
    return _Run.of(name, rows, seed, parameters).tables()


@dataclass(frozen=True, slots=True)
class _Run:
    """A workload with all its arguments checked."""

    workload: Workload
    rows: int
    seed: int
    parameters: Any

    @classmethod
    def of(cls, name: str, rows: int | None, seed: int, arguments: dict[str, object]) -> "_Run":
        preset = PRESETS.get(name)
        workload = _find(preset.workload if preset else name)
        for parameter in arguments:
            _require_known(parameter, workload)
        if preset and rows is not None:
            arguments = {"seconds": None, **arguments}
        parameters = replace(preset.parameters, **arguments) if preset else workload.parameters(**arguments)
        require_whole_number("seed", seed, minimum=0)
        return cls(workload, _length(workload, rows, parameters), seed, parameters)

    def schemas(self) -> dict[str, pa.Schema]:
        return self.workload.schemas(self.parameters)

    def tables(self) -> Iterator[dict[str, pa.Table]]:
        return self.workload.tables(self.rows, self.seed, self.parameters)


def _find(name: str) -> Workload:
    if name in WORKLOADS:
        return WORKLOADS[name]
    exists = [*WORKLOADS, *PRESETS]
    near = suggestion(name, exists)
    workloads = f"workloads are: {', '.join(exists)}."
    hint = f"did you mean '{near}'? The {workloads}" if near else f"the {workloads}"
    raise UsageError(f"unknown workload '{name}'", hint)


def _require_known(parameter: str, workload: Workload) -> None:
    exists = workload.parameter_names
    if parameter in exists:
        return
    near = suggestion(parameter, exists)
    parameters = f"has: {', '.join(exists)}."
    hint = f"did you mean '{near}'? It {parameters}" if near else f"it {parameters}"
    raise UsageError(f"workload '{workload.name}' has no parameter '{parameter}'", hint)


def _length(workload: Workload, rows: int | None, parameters: Any) -> int:
    natural_rows = workload.natural_rows(parameters)
    if rows is None and natural_rows is None:
        how = "rows or seconds" if "seconds" in workload.parameter_names else "rows"
        raise UsageError(f"workload '{workload.name}' needs a length", f"give {how}.")
    if rows is not None and natural_rows is not None:
        raise UsageError("give rows or seconds, not both")
    length = natural_rows if rows is None else rows
    require_whole_number("rows", length)
    assert length is not None
    return length
