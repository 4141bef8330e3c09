"""Bars of plans, stage by stage, on an even scale that ends."""

import re
from dataclasses import replace

import pytest

from joinfold.explain.costs_chart import BAR_AREA, LABEL_WIDTH, STAGES, alternatives_svg
from joinfold.planner.cost.estimates import Estimate, StageEstimate
from joinfold.planner.planned_query import PlannedQuery
from tests.planner.decisions import alternative_of, decided, estimate_of
from tests.planner.known import decision_of


def bars_of(svg: str) -> list[tuple[float, float]]:
    """Where the parts of the bars begin, and how wide they are."""
    drawn = svg.partition('class="grid"')[2]
    found = re.findall(r'<rect class="\w+" x="([\d.]+)" y="\d+" width="([\d.]+)"', drawn)
    return [(float(left), float(width)) for left, width in found]


def test_bars_have_the_lengths_of_their_stages(plan: PlannedQuery) -> None:
    """One part begins where another ends. Bars that are too long are cut, and say so."""
    svg = alternatives_svg(decision_of(decided(plan, others=1)))
    longest, expected = estimate_of(plan, 2.5).cpu, []
    for times in (1.0, 2.5):
        left = float(LABEL_WIDTH)
        for kind in STAGES:
            cpu = sum(stage.cpu for stage in estimate_of(plan, times).stages if stage.kind == kind)
            expected.append((left, BAR_AREA * cpu / longest))
            left += expected[-1][1]
    assert [left for left, _ in bars_of(svg)] == pytest.approx([left for left, _ in expected], abs=0.06)
    assert [width for _, width in bars_of(svg)] == pytest.approx([width for _, width in expected], abs=0.11)
    assert 'class="cut"' not in svg
    assert alternatives_svg(decision_of(decided(plan, others=3))).count('class="cut"') == 1


def test_long_titles_are_cut_and_told_in_full(plan: PlannedQuery) -> None:
    title = "a plan & " + "its title " * 10
    decision = replace(
        decision_of(plan), alternatives=(alternative_of(plan, title),), chosen=alternative_of(plan, title)
    )
    svg = alternatives_svg(decision)
    assert "…<title>a plan &amp; its" in svg
    free = Estimate((StageEstimate("FOLD", 0, 0.0),))
    nothing = replace(decision.chosen, estimate=free)
    assert "0 s" in alternatives_svg(replace(decision, alternatives=(nothing,), chosen=nothing))
