"""The map: one query for everything that the language has, on the same streams, from slowest to fastest.

It shows where the language is slow. What joins the language joins the map; `tests/bench/mapping` fails if it does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table

from joinfold.errors import JoinfoldError
from joinfold_bench.environment import Say, watched
from joinfold_bench.mapping.measuring import MapRun, MapSettings, measure, streams_of
from joinfold_bench.mapping.queries import PLAIN, MapQuery, map_queries
from joinfold_bench.mapping.variants import AS_IT_IS, VARIANTS
from joinfold_bench.reporting.results import Results
from joinfold_bench.reporting.tables import new_table
from joinfold_bench.suites.suite import Options, Suite


@dataclass(slots=True)
class MapResults(Results):
    """The rates of all queries, and of their variants; ``refused`` has the variants that the language does not have."""

    runs: list[MapRun] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def tables(self) -> list[Table]:
        """The map, from slowest to fastest; then the slowest variant of each query."""
        own = [run for run in self.runs if not run.variant]
        worst = list(_slowest(run for run in self.runs if run.variant))
        tables = [map_table("The map, in process, from slowest to fastest", own, self.plain)]
        return tables + ([map_table("The slowest variant of each", worst, self.plain)] if worst else [])

    @property
    def plain(self) -> float:
        """The rate of the plain query."""
        return next((run.rate.middle for run in self.runs if run.query == PLAIN and not run.variant), 0.0)

    def figures(self) -> dict[str, Any]:
        """All runs."""
        return {"runs": [asdict(run) for run in self.runs], "refused": self.refused}


def map_table(title: str, runs: Sequence[MapRun], plain: float) -> Table:
    """Rates, time per row, memory, and the ratio to the plain query, from slowest to fastest."""
    numeric = ("PACK + FOLD", "answers/s", "to plain")
    columns = ("query", "variant", "rows/s", "µs/row", "PACK + FOLD", "answers/s", "held MB", "to plain")
    shown = [name for name in columns if name != "variant" or any(run.variant for run in runs)]
    table = new_table(title, *shown, numeric=numeric)
    for run in sorted(runs, key=lambda run: run.rate.middle):
        rate = run.rate.middle
        cells = {
            "query": run.query,
            "variant": run.variant,
            "rows/s": f"{rate:,.0f}",
            "µs/row": f"{1e6 / rate:,.2f}",
            "PACK + FOLD": f"{run.folding.middle:,.0f}",
            "answers/s": f"{rate * run.answers / run.rows:,.0f}",
            "held MB": f"{run.bytes_held / 1e6:,.1f}",
            "to plain": f"{rate / plain:.3f}" if plain else "",
        }
        table.add_row(*(cells[name] for name in shown))
    return table


def _slowest(runs: Iterable[MapRun]) -> Iterable[MapRun]:
    found: dict[str, MapRun] = {}
    for run in runs:
        if run.query not in found or run.rate.middle < found[run.query].rate.middle:
            found[run.query] = run
    return found.values()


def run_map(
    settings: MapSettings, say: Say = lambda line: None, queries: Sequence[MapQuery] | None = None
) -> MapResults:
    """Measures all queries, or those that are given. ``say`` gets a line for each."""
    results, streams = MapResults(), streams_of(settings)
    with watched(results, say):
        for variant in (AS_IT_IS, *(VARIANTS.values() if settings.variants else ())):
            for query in map_queries() if queries is None else queries:
                name = f"{query.name}, {variant.name}" if variant.name else query.name
                run = measure(settings, query, variant, streams)
                if isinstance(run, JoinfoldError):
                    results.refused.append(f"{name}: {run}")
                elif run is not None:
                    results.runs.append(run)
                    say(f"{name}: {run.rate.middle:,.0f} rows/s")
    return results


def _run(options: Options, say: Say) -> MapResults:
    usual = MapSettings()
    settings = MapSettings(
        repeats=options.repeats or usual.repeats, cap=options.cap or usual.cap, variants=options.variants
    )
    return run_map(settings, say)


MAP = Suite(
    "map",
    "one query for every kind of window, join, aggregate and emit rule, from slowest to fastest, in process",
    {
        "repeats": "how many runs are measured, after one that compiles; default 3",
        "cap": "seconds after which a slow query ends with the step that it is in; default 20",
        "variants": "also each query with NULLs, doubles, two key columns, other groups, a heavy key, HAVING, CHANGES",
    },
    _run,
    "results-map.json",
)
