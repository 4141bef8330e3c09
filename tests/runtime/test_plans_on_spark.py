"""Plans on Spark: every method with every kind of predicate, stopped half-way and taken up by another plan."""

from collections.abc import Iterable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

import joinfold as jf
from joinfold.dialect import read_schema
from joinfold.reference.rows import to_arrow
from joinfold.reference.streaming import stream
from tests.operators.matrix import PREDICATES, SCHEMA, Combination, combinations, random_data
from tests.runtime.test_engine import rows_of
from tests.strategies import assert_same_answers

pytestmark = pytest.mark.spark


def covering() -> list[tuple[Combination, Combination]]:
    """For every predicate a query, begun with one method and gone on with another, all else in turn."""
    defined = [cell for cell in combinations() if cell.is_defined]
    turn = {name: cycle(sorted({getattr(cell, name) for cell in defined})) for name in ("aggregate", "groups")}
    ways = {name: cycle(sorted({getattr(cell, name) for cell in defined})) for name in ("early", "structures")}
    return [
        _pair(defined, predicate, methods, turn, ways)
        for predicate in PREDICATES
        for methods in (("ic", "tc"), ("tc", "pc"), ("pc", "ic"))
    ]


def _pair(
    defined: list[Combination],
    predicate: str,
    methods: tuple[str, str],
    turn: dict[str, Iterator[Any]],
    ways: dict[str, Iterator[Any]],
) -> tuple[Combination, Combination]:
    """The next query that both methods can do, each with the structures that come next, or nearly so."""
    while True:
        asked = {"predicate": predicate, **{name: next(values) for name, values in turn.items()}}
        found = []
        for method in methods:
            cells = [cell for cell in defined if _alike(cell, {"method": method, **asked}) == 1 + len(asked)]
            wanted = {name: next(values) for name, values in ways.items()}
            found += [max(cells, key=lambda cell, wanted=wanted: _alike(cell, wanted))] if cells else []
        if len(found) == len(methods):
            return found[0], found[1]


def _alike(cell: Combination, wanted: dict[str, Any]) -> int:
    return sum(getattr(cell, name) == value for name, value in wanted.items())


def few(pairs: list[tuple[Combination, Combination]]) -> list[tuple[Combination, Combination]]:
    """As few of them as have all values: always the one that has most that are missing."""
    missing, chosen = _values(cell for pair in pairs for cell in pair), []
    while missing:
        chosen.append(max(pairs, key=lambda pair: len(missing & _values(pair))))
        missing -= _values(chosen[-1])
    return chosen


def _values(cells: Iterable[Combination]) -> set[tuple[str, Any]]:
    names = ("method", "early", "predicate", "aggregate", "groups")
    return {
        value
        for cell in cells
        for value in (*((name, getattr(cell, name)) for name in names), *(("index", own) for own in cell.structures))
    }


CELLS = few(covering())


def test_the_sample_covers_every_value() -> None:
    assert _values(cell for pair in CELLS for cell in pair) == _values(combinations())


@pytest.mark.parametrize("number", range(len(CELLS)))
def test_a_stream_goes_on_with_another_plan(spark: Any, tmp_path: Path, number: int) -> None:
    schema = read_schema(SCHEMA)
    data = random_data(number)
    batches = [{name: rows[part::2] for name, rows in data.items()} for part in (0, 1)]
    for present, (cell, batch) in enumerate(zip(CELLS[number], batches, strict=True)):
        session = jf.Session(spark)
        for name in ("a", "b"):
            (tmp_path / name).mkdir(exist_ok=True)
            parquet.write_table(to_arrow(batch[name], schema), tmp_path / name / f"{present}.parquet")
            reader = spark.readStream.schema(SCHEMA).parquet(f"{tmp_path}/{name}")
            session.stream(name, reader, time="ts", delay="20 microseconds")
        forced = jf.Plan(cell.method, cell.early, dict(zip("ab", cell.structures, strict=True)))
        handle = session.sql(cell.text, forced).start(
            "parquet", checkpoint=f"{tmp_path}/checkpoint", trigger="available", path=f"{tmp_path}/out"
        )
        assert handle.wait(120)
    query = session.sql(CELLS[number][0].text).logical
    answered = spark.read.parquet(f"{tmp_path}/out").toArrow()
    assert_same_answers(stream(query, batches).answers, rows_of(answered))
