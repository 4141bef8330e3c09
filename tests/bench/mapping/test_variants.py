"""The variants of the map: what each changes, and the queries that it does not fit."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from joinfold_bench.mapping.measuring import MapSettings, planned, streams_of
from joinfold_bench.mapping.queries import PLAIN, map_queries
from joinfold_bench.mapping.variants import PARTS, VARIANTS

STREAMS = streams_of(MapSettings(rows=2_000, keys=100))
TEXTS = {query.name: query.text for query in map_queries()}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_plain_query_has_every_variant(name: str) -> None:
    variant = VARIANTS[name]
    text = variant.text(TEXTS[PLAIN])
    assert text is not None
    tables = {own: table if own == "r" else variant.table(table) for own, table in STREAMS.items()}
    query = planned(text, tables).query
    usual = planned(TEXTS[PLAIN], STREAMS).query
    assert query != usual or tables["a"] != STREAMS["a"], "it changes the text, or the streams"


def test_what_becomes_of_the_streams() -> None:
    table = STREAMS["a"]
    changed = {name: variant.table(table) for name, variant in VARIANTS.items()}
    assert 0.05 < changed["NULLs"].column("v").null_count / table.num_rows < 0.15
    assert pa.types.is_floating(changed["doubles"].schema.field("v").type)
    two = changed["key of two columns"]
    assert pc.add(pc.multiply(two.column("key"), PARTS), two.column("part")).equals(table.column("key"))
    heavy = pc.sum(pc.equal(changed["half on one key"].column("key"), 0)).as_py()
    assert 0.45 < heavy / table.num_rows < 0.6


def test_a_variant_that_does_not_fit_is_left_out() -> None:
    fits = {name: {own for own, text in TEXTS.items() if variant.text(text)} for name, variant in VARIANTS.items()}
    assert "size: no groups" not in fits["other side"] and "size: groups on both sides" not in fits["other side"]
    assert "window: PARTITION BY key ROWS 3" not in fits["key of two columns"]
    assert "join: the rows themselves" not in fits["CHANGES"] | fits["HAVING"]
    changes, having = VARIANTS["CHANGES"], VARIANTS["HAVING"]
    assert (changes.text(TEXTS["emit: ON TRIGGER"]) or "").endswith("EMIT ON TRIGGER CHANGES")
    assert (changes.text(TEXTS["sync: ON FULL"]) or "").endswith("EMIT ON SLIDE CHANGES SYNC ON FULL")
    assert (having.text(TEXTS["emit: ON TRIGGER"]) or "").endswith("HAVING COUNT(*) > 100 EMIT ON TRIGGER")
