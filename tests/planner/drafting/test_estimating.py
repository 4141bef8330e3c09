"""Which outputs have bounds, and by which rule."""

import pytest

from joinfold.algebra import AGGREGATES
from joinfold.logical.expressions import Column
from joinfold.physical.column_names import ANSWER, aggregate_column
from joinfold.physical.shedding import EstimatedOutput
from joinfold.physical.stage import Merge
from joinfold.planner.drafting.draft import draft
from joinfold.types import BIGINT
from tests.planner.known import JOINED, query_of

SHED = "SHED TO HOLD 100 ROWS SAMPLE BY KEY"


def outputs_of(select: str, more: str = SHED) -> tuple[EstimatedOutput, ...]:
    last = draft(query_of(f"SELECT {select} {JOINED} {more}")).pipeline.last
    assert isinstance(last, Merge) and last.estimates is not None
    return last.estimates.outputs


@pytest.mark.parametrize(
    ("select", "rule", "aggregate"),
    [
        ("COUNT(*) AS n", "count", 0),
        ("COUNT(a.x) FILTER (WHERE b.x > 0) AS n", "count", 0),
        ("REGR_COUNT(a.x, b.x) AS n", "count", 0),
        ("SUM(a.x) AS n", "total", 0),
        ("SUM(a.x) FILTER (WHERE a.x > 0) AS n", "total", 0),
        ("MAX(a.x) AS n", "lower bound", 0),
        ("MIN(a.x) AS n", "upper bound", 0),
        ("AVG(a.x) AS n", "ratio", None),
        ("VAR_POP(a.x) AS n", "ratio", None),
        ("SUM(a.x) + 1 AS n", "ratio", None),
        ("SUM(a.x) / COUNT(*) AS n", "ratio", None),
        ("MAX(a.x) - MIN(a.x) AS n", "unknown", None),
        ("COUNT(*) + MAX(a.x) AS n", "unknown", None),
    ],
)
def test_the_rule_of_an_output(select: str, rule: str, aggregate: int | None) -> None:
    (output,) = outputs_of(select)
    assert (output.number, output.rule, output.aggregate) == (0, rule, aggregate)


@pytest.mark.parametrize("name", [name for name, own in AGGREGATES.items() if own.is_estimable])
def test_every_aggregate_that_a_sample_says_something_about_has_a_rule(name: str) -> None:
    arguments = "a.x, b.x" if len(AGGREGATES[name].arguments) == 2 else "a.x"
    (output,) = outputs_of(f"{name}({arguments}) AS n")
    assert output.rule != "unknown"


def test_what_is_not_a_number_of_aggregates_has_no_bounds() -> None:
    outputs = outputs_of(
        "a.g, COUNT(*) > 3 AS many, CAST(SUM(a.x) AS STRING) AS word, COUNT(*) AS n", f"GROUP BY a.g {SHED}"
    )
    assert [output.number for output in outputs] == [3]
    assert outputs[0].expression == Column(ANSWER, aggregate_column(0), BIGINT) and outputs[0].type == BIGINT


def test_how_estimates_are_made() -> None:
    last = draft(query_of(f"SELECT COUNT(*) AS n {JOINED} {SHED} CONFIDENCE 99 PERCENT")).pipeline.last
    assert isinstance(last, Merge) and last.estimates is not None
    assert last.estimates.confidence == 0.99 and last.estimates.scales and not last.estimates.complete
    assert last.estimates.bounded == last.estimates.outputs and last.estimates.cells == (33,)
    assert set(last.totals.groups) - set(last.group_columns) == set(last.estimates.replicates)
