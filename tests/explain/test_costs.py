"""The explanation of the costs of a plan. `REGENERATE=1` writes the golden files; read them as a user would."""

import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import joinfold as jf
from joinfold.amounts import bytes_text, number_text, seconds_text, share_text, times_text
from joinfold.explain.costs import MOST_SHOWN, cost_text, shown_alternatives
from joinfold.explain.costs_chart import BAR_AREA, LABEL_WIDTH, STAGES, alternatives_svg
from joinfold.explain.costs_page import cost_page
from joinfold.explain.physical_tree import plan_tree
from joinfold.explain.tables import Table
from joinfold.planner.cost.estimates import Decision, Estimate, StageEstimate
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.stream_statistics import StreamStatistics
from joinfold.planner.warnings import decision_warnings
from tests.explain.test_physical_tree import QUERIES
from tests.planner.decisions import alternative_of, decided, estimate_of

GOLDEN = Path(__file__).parent.parent / "golden" / "costs"
SHOWN = ("alarms", "band", "group_across_keys", "last_rows", "one_input", "rows", "three_streams")


@pytest.fixture(scope="module")
def session() -> jf.Session:
    session = jf.Session()
    session.stream("temperature", "location STRING, floor INT, ts TIMESTAMP, celsius DOUBLE", time="ts")
    session.stream("smoke", "location STRING, floor INT, ts TIMESTAMP, strength DOUBLE", time="ts")
    return session


@pytest.fixture
def plan(session: jf.Session) -> PlannedQuery:
    return decided(session.sql(QUERIES["group_across_keys"]).plan)


def decision_of(plan: PlannedQuery) -> Decision:
    assert plan.decision is not None
    return plan.decision


@pytest.mark.parametrize("name", SHOWN)
def test_costs(session: jf.Session, name: str) -> None:
    text = cost_text(decided(session.sql(QUERIES[name]).plan)) + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_golden_file_has_its_query() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_every_stage_of_the_estimate_is_in_the_tree(session: jf.Session, name: str) -> None:
    """Costs are added to the tree; nothing else in it changes."""
    plan = decided(session.sql(QUERIES[name]).plan)
    tree = cost_text(plan).split("\n\n")[0]
    assert re.sub(" ‹.*?›", "", tree) == str(plan_tree(plan))
    stages = [stage for stage in estimate_of(plan).stages if stage.kind != "shuffle"]
    assert len(re.findall("‹.*?›", tree)) == len(stages)


def test_without_a_decision_only_the_tree_is_shown(session: jf.Session) -> None:
    plan = replace(session.sql(QUERIES["alarms"]).plan, decision=None)
    assert cost_text(plan) == str(plan_tree(plan))
    assert "<svg" not in cost_page(plan, "SELECT 1")


def test_few_of_many_plans_are_shown_and_the_chosen_plan_is_one_of_them(plan: PlannedQuery) -> None:
    many = decided(plan, others=15)
    assert "  and 4 more, with up to " in cost_text(many)
    for chosen_at in (0, 5, 11, 12, 15):
        decision = decision_of(decided(plan, others=15, chosen_at=chosen_at))
        shown = shown_alternatives(decision)
        assert len(shown) == MOST_SHOWN and decision.chosen in shown
        marked = [line for line in cost_text(decided(plan, 15, chosen_at=chosen_at)).splitlines() if "▶" in line]
        assert len(marked) == 1 and decision.chosen.title in marked[0] and " 1.0 ×" in marked[0]


def test_a_chosen_plan_that_is_no_alternative_is_shown(plan: PlannedQuery) -> None:
    decision = replace(decision_of(plan), chosen=alternative_of(plan, "forced", 2.0))
    titles = [alternative.title for alternative in shown_alternatives(decision)]
    assert titles[:3] == ["aggregation sets by key", "forced", "PC, windows by hash"]


def test_the_text_says_if_nothing_is_known_of_the_streams(plan: PlannedQuery) -> None:
    assert "Nothing is known" not in cost_text(plan)
    assert "Nothing is known about the streams" in cost_text(decided(plan, streams=(StreamStatistics(),)))


class Elements(HTMLParser):
    """The texts of a page with their elements. Checks that all elements are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.links: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))


def test_the_page_says_what_the_text_says(plan: PlannedQuery) -> None:
    sql = "SELECT '<script>alert(1)</script>' AS \"a&b\" FROM s [1 HOUR]"
    page = cost_page(plan, sql, ["a < b"])
    elements = Elements(page)
    texts = [text for _, text in elements.texts]
    assert sql in texts and "Warning: a < b" in texts
    assert ("pre", cost_text(plan).split("\n\n")[0]) in elements.texts
    shown = " ".join(texts)
    for word in re.findall(r"[\w.]+ ?[×%]|Why this plan: .*|sampled|declared", cost_text(plan)):
        assert word in shown
    assert "script" not in {tag for tag, _ in elements.texts} and elements.links == [] and "@import" not in page
    assert "url(" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")


def bars_of(svg: str) -> list[tuple[float, float]]:
    """The beginning and the width of each part of the bars."""
    drawn = svg.partition('class="grid"')[2]
    found = re.findall(r'<rect class="\w+" x="([\d.]+)" y="\d+" width="([\d.]+)"', drawn)
    return [(float(left), float(width)) for left, width in found]


def test_bars_have_the_lengths_of_their_stages(plan: PlannedQuery) -> None:
    """Each part begins where the previous one ends. Bars that are too long are cut, and marked as cut."""
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


def test_long_titles_are_cut_and_complete_in_the_tooltip(plan: PlannedQuery) -> None:
    title = "a plan & " + "its title " * 10
    decision = replace(
        decision_of(plan), alternatives=(alternative_of(plan, title),), chosen=alternative_of(plan, title)
    )
    svg = alternatives_svg(decision)
    assert "…<title>a plan &amp; its" in svg
    free = Estimate((StageEstimate("FOLD", 0, 0.0),))
    nothing = replace(decision.chosen, estimate=free)
    assert "0 s" in alternatives_svg(replace(decision, alternatives=(nothing,), chosen=nothing))


def test_amounts() -> None:
    assert [seconds_text(x) for x in (0, 0.12, 1.26, 123.4, 0.0099, 0.009_96, 3.4e-6, 1234)] == [
        *("0 s", "0.12 s", "1.3 s", "120 s", "9.9 ms", "10 ms", "3.4 µs", "1,200 s")
    ]
    assert [bytes_text(x) for x in (0, 12, 999, 999_600, 3.14e6, 5e16)] == [
        *("0 bytes", "12 bytes", "1.0 kB", "1.0 MB", "3.1 MB", "50 PB")
    ]
    assert [number_text(x) for x in (1, 1.0001, 1.26, 12.4, 1234.5)] == ["1", "1", "1.3", "12", "1,234"]
    assert [share_text(x) for x in (1.0, 0.4, 0.005, 0.999, 0.0)] == ["100 %", "40 %", "0.50 %", "100 %", "0 %"]
    assert [times_text(*x) for x in ((3, 2), (1, 1), (1900, 1), (1, 0))] == ["1.5 ×", "1.0 ×", "1,900 ×", "–"]


def test_tables_are_in_columns() -> None:
    table = Table("Words", ("word", "n"), (("a", "1"), ("long", "1,000")), marked=1, notes=("Enough.",))
    assert str(table) == "Words\n  word      n\n  a         1\n▶ long  1,000\n  Enough."


def estimate(**cpu: float) -> Estimate:
    stages = [StageEstimate(kind, 0, seconds, memory_bytes=4e9) for kind, seconds in cpu.items()]  # type: ignore[arg-type]
    return Estimate(tuple(stages))


def test_a_plan_that_fits_the_machine_has_no_warning() -> None:
    assert decision_warnings(estimate(PACK=1, FOLD=3), 4, 8e9) == ()


def test_a_stream_that_is_too_fast() -> None:
    (warning,) = decision_warnings(estimate(PACK=1.5, FOLD=3.5), 4, 8e9)
    assert warning == (
        "the query cannot keep up with its streams: one second of stream takes 5.0 s of CPU, 1.2 × what 4 cores give. "
        "70 % of it is FOLD. A larger slide, fewer groups or fewer keys reduce it. Otherwise use more cores."
    )
    for kind in STAGES:
        (warning,) = decision_warnings(estimate(**{kind: 2.0, "FOLD" if kind == "PACK" else "PACK": 0.5}), 1, 1e10)
        assert f"what 1 core gives. 80 % of it is {kind}. " in warning


def test_windows_that_are_too_large() -> None:
    fast, large = decision_warnings(estimate(PACK=2, FOLD=3), 4, 7e9)
    assert fast.startswith("the query cannot keep up")
    assert large == (
        "the windows do not fit into memory: they need 8.0 GB, and the machine has 7.0 GB. Shorter windows, filters, "
        "fewer keys or fewer groups reduce it."
    )
