"""What plans do in a second of stream: by hand for small ones, by law for all."""

from dataclasses import replace
from math import inf, log2

import pytest

from joinfold.planner.cost.engine import FoldAmounts, pack_amounts
from joinfold.planner.cost.estimating import Setting, stages_of
from joinfold.planner.cost.sizes import entry_bytes
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.cost.windows import distinct, flows_of, instants_per_second
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics
from tests.planner.known import CONDITION, JOINED, SETS, WINDOW, amounts, chain_of, common_key, query_of, stream

FAST = 1e6  # rows for a second: every key and group is in every cell


# --- sets ---------------------------------------------------------------------------------------------------------


def test_sets_of_two_inputs_by_hand() -> None:
    """12 entries for a second on one side and 4 on the other, which enter and leave; a key has 3 slots and 1."""
    found = amounts(SETS, stream(FAST, keys=4, groups=3), stream(FAST, keys=4))
    assert {name: amount for name, amount in found.items() if amount} == pytest.approx(
        {
            "blob taken in": 2,
            "entry taken in": 12 + 4,
            "column of an entry taken in": 12 * 3 + 4 * 2,  # key, group and count; key and count
            "call of sets": 2 * 2,
            "entry in or out of a set": 2 * (12 + 4),
            "column of an entry in or out of a set": 2 * (12 * 3 + 4 * 2),
            "slot multiplied": 2 * (12 * 1 + 4 * 3),
            "product": 2 * (12 * 1 + 4 * 3),
            "instant": 1,
            "group emitted": 3,
            "column of a group emitted": 3,
        }
    )


def test_an_extreme_is_charged_by_what_enters_and_by_nothing_that_leaves() -> None:
    found = amounts(SETS.replace("COUNT(*) AS n", "MAX(b.v) AS top"), stream(FAST, 4, 3), stream(FAST, 4))
    assert found["charge of an extreme"] == pytest.approx(12 * 1 + 4 * 3)


def test_a_floating_product_is_worth_four() -> None:
    exact, floating = (
        amounts(SETS.replace("COUNT(*) AS n", select), stream(FAST, 4, 3), stream(FAST, 4))
        for select in ("SUM(b.v) AS s", "SUM(b.d) AS s")
    )
    sums, counts = 4, 5  # rows, values and two limbs of their sum; rows, values, nan, inf and -inf
    assert exact["product"] == pytest.approx(sums * exact["slot multiplied"])
    assert floating["product"] == pytest.approx((counts + 4) * floating["slot multiplied"])


def test_uneven_keys_meet_more_slots_and_never_more_than_there_are() -> None:
    even, uneven, single = (
        amounts(common_key(2), stream(FAST, 100, skew=skew), stream(FAST, 100, skew=skew))["slot multiplied"]
        for skew in (1, 4, 100)
    )
    assert (uneven / even, single / even) == pytest.approx((4, 100))
    few = amounts(common_key(2), stream(0.1, 100, skew=100), stream(0.1, 100, skew=100))
    assert few["slot multiplied"] <= few["entry in or out of a set"]  # a window of one row has no more than one slot


# --- sums ---------------------------------------------------------------------------------------------------------


def test_sums_of_an_inequality_and_of_a_band() -> None:
    """80 rows of each side are in a window, 40 of each key; a tree of 78 has 6.3 levels."""
    streams = stream(8, 2), stream(8, 2)
    below = amounts(f"SELECT COUNT(*) AS n {JOINED} AND a.x < b.x", *streams)
    band = amounts(f"SELECT COUNT(*) AS n {JOINED} AND a.x BETWEEN b.x - 5 AND b.x + 5", *streams)
    moved, window, key = 2 * 8, log2(80 + 2), log2(40 + 2)
    assert below["call of sums"] == band["call of sums"] == 4
    assert below["level of sums moved"] == pytest.approx(2 * moved * window)
    assert below["level of sums asked"] == pytest.approx(2 * moved * key)
    assert band["level of sums moved"] == pytest.approx((3 + 1) * moved * window)  # by value, and by both bounds
    assert band["level of sums asked"] == pytest.approx((3 + 1) * moved * key)
    assert below["combination"] == band["match found"] == 0


def test_every_group_of_a_key_has_a_tree_of_its_own() -> None:
    text = f"SELECT a.g, COUNT(*) AS n {JOINED} AND a.x < b.x GROUP BY a.g"
    alone, ten = (amounts(text, stream(8, 2, groups), stream(8, 2)) for groups in (1, 10))
    entries = 2 * 8
    assert alone["level of sums asked"] == pytest.approx(2 * entries * log2(42))
    assert ten["level of sums asked"] == pytest.approx(entries * log2(42) + entries * 10 * log2(4 + 2), rel=0.01)


# --- combinations that are found ----------------------------------------------------------------------------------

FOUND = (stream(8, 2), stream(6, 2))  # windows of 80 and of 60 rows, half of them with one key


def found_by(method: str, index: str = "hash", early: tuple[str, ...] = (), text: str = CONDITION) -> dict[str, float]:
    plan = Plan(method, early, {"a": index, "b": index})
    return amounts(text, *FOUND, selectivity=0.5, plan=plan)


def test_ic_finds_what_enters_and_what_leaves_and_adds_it() -> None:
    found = found_by("ic")
    assert found["hash probe"] == 2 * (8 + 6)
    assert found["match found"] == found["condition checked"] == pytest.approx(2 * (8 * 30 + 6 * 40))
    assert found["combination added"] == found["combination"] == pytest.approx(8 * 30 + 6 * 40)
    assert found["call of a structure"] == 2 * 2 * 2  # two inputs, in and out, one's own window and the other
    assert found["member in or out"] == found["hash update"] == 2 * (8 + 6)


def test_tc_finds_what_enters_and_charges_it_to_leaving_times() -> None:
    found = found_by("tc")
    assert found["hash probe"] == 8 + 6
    assert found["combination charged"] == found["combination"] == pytest.approx((8 * 30 + 6 * 40) / 2)
    assert found["leaving time charged"] == 10 + 10  # a window has ten cells
    assert found["charge taken back"] == 1  # of the one group there is, at the one instant
    assert found["combination added"] == found["combination kept"] == 0


def test_pc_keeps_combinations_and_sums_all_of_them_at_every_instant() -> None:
    found = found_by("pc")
    assert found["hash probe"] == 8 + 6
    assert found["combination kept"] == pytest.approx((8 * 30 + 6 * 40) / 2)
    assert found["combination summed again"] == pytest.approx(80 * 60 / 2 / 2)
    often = CONDITION.replace("SLIDE 1 SECOND", "SLIDE 500 MILLISECONDS")
    assert found_by("pc", text=often)["combination summed again"] == pytest.approx(2 * 80 * 60 / 2 / 2)


def test_a_list_scans_all_a_hash_probes_once_and_trees_go_down() -> None:
    found = {index: found_by("tc", index) for index in ("list", "hash", "btree", "ttree")}
    assert found["list"]["list member scanned"] == 8 * 60 + 6 * 80
    assert found["hash"]["hash probe"] == 8 + 6
    assert found["hash"]["hash member scanned"] == found["hash"]["match found"] == pytest.approx(8 * 30 + 6 * 40)
    for tree in ("btree", "ttree"):
        assert found[tree][f"{tree} level probed"] == pytest.approx(8 * log2(62) + 6 * log2(82))
        assert found[tree][f"{tree} level updated"] == pytest.approx(2 * (8 * log2(82) + 6 * log2(62)))
    assert len({round(own["match found"]) for own in found.values()}) == 1
    words = {name.split()[0] for name in found["list"] if found["list"][name]}
    assert not words & {"hash", "btree", "ttree"}


def test_a_hash_scans_all_of_a_key_whatever_the_range() -> None:
    plan = Plan("tc", (), {"a": "hash", "b": "hash"})
    found = amounts(f"SELECT COUNT(*) AS n {JOINED} AND a.v < b.v", *FOUND, selectivity=0.1, plan=plan)
    assert found["hash member scanned"] == pytest.approx(8 * 30 + 6 * 40)
    assert found["match found"] == pytest.approx((8 * 30 + 6 * 40) / 10)


def test_an_early_input_is_merged_and_met_once_for_each_key() -> None:
    """Of 80 rows in the window of a there are 4 different entries; those of b are apart."""
    streams = stream(8, 2, entries=4), stream(6, 2)
    plan = Plan("ic", ("a",), {"a": "hash", "b": "hash"})
    found = amounts(CONDITION, *streams, selectivity=0.5, plan=plan)
    entering = distinct(8, 4)
    assert found["member merged"] == pytest.approx(2 * entering)
    assert found["hash update"] == pytest.approx(2 * 6, rel=1e-3)  # those of a are there already
    assert found["match found"] == pytest.approx(2 * (entering * 30 + 6 * 2))
    late = amounts(CONDITION, *streams, selectivity=0.5, plan=replace(plan, early=()))
    assert late["match found"] == pytest.approx(2 * (entering * 30 + 6 * 10 * entering / 2))


def test_an_extreme_is_charged_for_every_combination() -> None:
    found = found_by("tc", text=CONDITION.replace("COUNT(*) AS n", "MAX(b.v) AS top, MIN(a.v) AS low"))
    assert found["charge of an extreme"] == pytest.approx(2 * (8 * 30 + 6 * 40) / 2)


def test_what_is_computed_of_both_is_computed_for_every_combination() -> None:
    found = amounts(f"SELECT SUM(a.x + b.x) AS s, SUM(a.x - b.v) AS t {JOINED}", *FOUND)
    assert found["combination"] == pytest.approx(2 * (8 * 30 + 6 * 40))
    assert found["value computed"] >= 2 * found["combination"]


def test_a_plain_join_finds_what_enters_and_notes_no_group() -> None:
    found = amounts(f"SELECT a.v, b.v AS w {JOINED}", *FOUND)
    assert found["hash probe"] == 8 + 6 and found["combination"] == pytest.approx(8 * 30 + 6 * 40)
    assert found["group emitted"] == found["combination added"] == 0


def test_three_windows_are_probed_one_after_the_other() -> None:
    text = common_key(3) + " AND a.v <> b.v"
    plan = Plan("tc", (), dict.fromkeys("abc", "hash"))
    found = amounts(text, *FOUND, stream(4, 2, entries=inf), selectivity=0.5, plan=plan)
    ab, ac, bc = 30 * 0.5, 20, 20  # behind the condition, or without one
    probes = 8 * (1 + ab) + 6 * (1 + 40 * 0.5) + 4 * (1 + 40)
    assert found["hash probe"] == pytest.approx(probes)
    assert found["combination"] == pytest.approx(8 * ab * ac + 6 * 40 * 0.5 * bc + 4 * 40 * 30 * 0.5)


# --- stages -------------------------------------------------------------------------------------------------------


def test_pack_reads_columns_of_all_rows_and_makes_entries_of_those_that_pass() -> None:
    known = replace(stream(100, keys=4), passes=0.5)
    crossed, here = (pack_amounts(3, known, 4.0, is_crossed) for is_crossed in (True, False))
    assert dict(here) == {"row packed": 100, "column of a row packed": 300, "entry packed": 4}
    assert dict(crossed) == {
        **here,
        "row crossed into Python": 100,
        "column of a row crossed into Python": 300,
    }


def test_stages_of_a_join_with_what_each_bucket_does_by_itself() -> None:
    plan, streams = plan_query(query_of(SETS)), (stream(FAST, 4, 3), stream(FAST, 4))
    setting = Setting.of(plan, Statistics(streams), shipped_weights(), buckets=5)
    stages = list(stages_of(setting, plan))
    assert [(stage.kind, stage.number) for stage in stages] == [
        *(("PACK", 0), ("PACK", 1), ("shuffle", 0), ("FOLD", 0), ("MERGE", 0))
    ]
    pack, _, shuffle, fold, merge = stages
    assert pack.amounts["blob packed"] == 5 and pack.amounts["entry packed"] == pytest.approx(12)
    assert fold.amounts["instant"] == 5 and fold.amounts["call of sets"] == 5 * 4
    assert fold.amounts["entry taken in"] == pytest.approx(12 + 4)  # distributed by key
    assert merge.amounts["group merged"] == 5 * 3
    a, b = (entry_bytes(spec, setting.widths) for spec in plan.body.inputs)
    frames = 2 * 5 * 1_500
    assert shuffle.shuffle_bytes == shuffle.amounts["byte shuffled"] == pytest.approx(12 * a + 4 * b + frames)
    assert fold.state_bytes == pytest.approx(10 * (12 * a + 4 * b) + 10 * frames)


def test_without_a_key_one_input_is_sent_to_every_bucket() -> None:
    text = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.x < b.x"
    plan, sent = plan_query(query_of(text)), []
    for buckets in (1, 5):
        setting = Setting.of(plan, Statistics((stream(10), stream(10))), shipped_weights(), buckets)
        (shuffle,) = (s for s in stages_of(setting, plan) if s.kind == "shuffle")
        sent.append(shuffle.shuffle_bytes - 2 * buckets * 1_500)
    assert sent[1] / sent[0] == pytest.approx((1 + 5) / 2, rel=0.05)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a {WINDOW}, b {WINDOW}", 1),
        ("a [10 SECOND SLIDE 2 SECOND], b [10 SECOND SLIDE 5 SECOND]", 0.5 + 0.2),
        ("a [ROWS 100 SLIDE 10], b [ROWS 100 SLIDE 50]", 8 / 10 + 6 / 50),
        ("a [RANGE 10 SECOND SLIDE 1 ROWS], b [10 SECOND SLIDE 1 SECOND]", 8 + 1),
        ("a [PARTITION BY g ROWS 3], b [UNBOUNDED]", 8),
    ],
)
def test_how_often_answers_are_given(text: str, expected: float) -> None:
    plan = plan_query(query_of(f"SELECT COUNT(*) AS n FROM {text} WHERE a.k = b.k"))
    assert instants_per_second(plan.timing, Statistics(FOUND)) == pytest.approx(expected)


def test_emit_says_how_often() -> None:
    for clause, expected in (("EMIT EVERY 4 SECONDS", 0.25), ("EMIT ON TRIGGER", 1.0)):
        plan = plan_query(query_of(f"SELECT COUNT(*) AS n FROM a [10 SECOND], b [UNBOUNDED] WHERE a.k = b.k {clause}"))
        assert instants_per_second(plan.timing, Statistics(FOUND)) == expected


def test_a_view_has_a_row_for_each_group_that_changes() -> None:
    plan = plan_query(query_of(chain_of(3)), Plan(root="c"))
    first, last = flows_of(plan.pipeline, Statistics((stream(FAST, 4), stream(FAST, 4, groups=4), stream(FAST, 4))))
    view = last[plan.body.views[0]]
    assert len(first) == len(last) == 2
    assert view.entries_per_second == pytest.approx(16)  # 4 keys by 4 groups of b, all of which change
    assert (view.merged, view.calls_per_second) == pytest.approx((16, 1))


def test_a_row_more_in_a_cell_makes_no_entry_less() -> None:
    """Also where a cell begins to have more than one row, and all have one key."""
    pipeline = plan_query(query_of(common_key(2))).pipeline
    rates = (0.5, 0.99, 1.0, 1.01, 1.5, 10.0)
    entries = [flows_of(pipeline, Statistics((stream(rate), stream(1))))[0][0].entries_per_second for rate in rates]
    assert entries == sorted(entries) == pytest.approx([0.5, 0.99, 1.0, 1.0, 1.0, 1.0], rel=1e-3)


@pytest.mark.parametrize("values", [1.0, 7.0, 1e6, inf])
def test_so_many_that_are_drawn_are_different(values: float) -> None:
    found = [distinct(drawn, values) for drawn in (0.0, 0.5, 1.0, 10.0, 1e9)]
    assert found == sorted(found) and found[0] == 0 and all(own <= values for own in found)
    assert found[1] == pytest.approx(0.5, rel=0.3) and found[1] <= 0.5


def test_result_windows_by_number_come_as_often_as_the_slowest_window_moves() -> None:
    windows = "FROM a [10 SECOND SLIDE 1 SECOND], b [ROWS 100 SLIDE 50]"
    plan = plan_query(query_of(f"SELECT COUNT(*) AS n {windows} WHERE a.k = b.k SYNC ON WINDOW ID"))
    assert instants_per_second(plan.timing, Statistics((stream(1_000), stream(25)))) == 0.5
    assert instants_per_second(plan.timing, Statistics((stream(1_000), stream(500)))) == 1


def test_steps_share_what_all_conditions_let_through() -> None:
    """What enters in the time that an entry stays is what is live, once from each of three streams."""
    plan = plan_query(query_of(common_key(3) + " AND a.v < b.v AND b.v < c.v"), Plan("tc", ()))
    statistics = Statistics((stream(10, 100),) * 3, selectivity=0.01)
    fold = FoldAmounts(plan.answering, plan.choice, flows_of(plan.pipeline, statistics)[0], 1.0, 0.01)
    assert fold.counted()["combination"] / 3 * 10 == pytest.approx(fold.live_combinations)
