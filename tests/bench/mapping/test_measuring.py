"""One query of the map is measured: the runs that count, the cap, and variants that are refused."""

from dataclasses import replace

from joinfold.errors import JoinfoldError
from joinfold_bench.mapping.measuring import MapRun, MapSettings, measure, streams_of
from joinfold_bench.mapping.queries import PLAIN, MapQuery, map_queries
from joinfold_bench.mapping.variants import AS_IT_IS, VARIANTS, Variant

TINY = MapSettings(rows=400, rows_per_second=20, keys=10, groups=3, steps=4, repeats=2)
STREAMS = streams_of(TINY)
QUERIES = {query.name: query for query in map_queries()}


def measured(settings: MapSettings, name: str) -> MapRun:
    run = measure(settings, QUERIES[name], AS_IT_IS, STREAMS)
    assert isinstance(run, MapRun)
    return run


def test_a_run_reads_all_rows_of_its_streams() -> None:
    assert {name: table.num_rows for name, table in STREAMS.items()} == {"a": 200, "b": 200, "c": 200, "r": 3}
    plain = measured(TINY, PLAIN)
    assert (plain.rows, len(plain.rates), len(plain.folding_rates)) == (400, 2, 2)
    assert plain.answers > 3 * 15 and plain.bytes_held > 0
    assert plain.rate.middle < plain.folding.middle
    assert measured(TINY, "join: three inputs, one key").rows == 600
    assert measured(TINY, "emit: ON ARRIVAL, no groups").answers == 400
    assert measured(TINY, "join: with a relation").answers > 0


def test_a_run_ends_with_the_step_in_which_the_cap_is_reached() -> None:
    assert measured(replace(TINY, cap=0.0), PLAIN).rows == 100


def test_a_variant_is_measured_or_refused_or_does_not_fit() -> None:
    run = measure(TINY, QUERIES[PLAIN], VARIANTS["NULLs"], STREAMS)
    assert isinstance(run, MapRun) and run.variant == "NULLs"
    assert measure(TINY, QUERIES["size: no groups"], VARIANTS["other side"], STREAMS) is None
    bits = measure(TINY, QUERIES["aggregate: BIT_AND"], VARIANTS["doubles"], STREAMS)
    assert isinstance(bits, JoinfoldError)
    unknown = Variant("unknown", text=lambda text: text.replace("a.g", "a.h"))
    assert isinstance(measure(TINY, MapQuery(PLAIN, QUERIES[PLAIN].text), unknown, STREAMS), JoinfoldError)
