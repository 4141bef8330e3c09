"""What plans do in a second of stream: by hand for small ones, by law for all."""

from dataclasses import replace
from math import inf, log2

import pytest

from joinfold.planner.cost.engine import OPERATIONS, FoldAmounts, pack_amounts
from joinfold.planner.cost.estimating import Setting, stages_of
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.cost.windows import distinct, flows_of
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics, StreamStatistics
from tests.planner.known import (
    CONDITION,
    FAST,
    JOINED,
    SETS,
    SLOW,
    TEXTS,
    WINDOW,
    amounts,
    common_key,
    query_of,
    stream,
)

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


def found_by(method: str, index: str = "hash", early: tuple[str, ...] = (), text: str = CONDITION) -> dict[str, float]:
    plan = Plan(method, early, {"a": index, "b": index})
    return amounts(text, *SLOW, selectivity=0.5, plan=plan)


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
    found = amounts(f"SELECT COUNT(*) AS n {JOINED} AND a.v < b.v", *SLOW, selectivity=0.1, plan=plan)
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
    found = amounts(f"SELECT SUM(a.x + b.x) AS s, SUM(a.x - b.v) AS t {JOINED}", *SLOW)
    assert found["combination"] == pytest.approx(2 * (8 * 30 + 6 * 40))
    assert found["value computed"] >= 2 * found["combination"]


def test_a_plain_join_finds_what_enters_and_notes_no_group() -> None:
    found = amounts(f"SELECT a.v, b.v AS w {JOINED}", *SLOW)
    assert found["hash probe"] == 8 + 6 and found["combination"] == pytest.approx(8 * 30 + 6 * 40)
    assert found["group emitted"] == found["combination added"] == 0


def test_three_windows_are_probed_one_after_the_other() -> None:
    text = common_key(3) + " AND a.v <> b.v"
    plan = Plan("tc", (), dict.fromkeys("abc", "hash"))
    found = amounts(text, *SLOW, stream(4, 2, entries=inf), selectivity=0.5, plan=plan)
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


def test_steps_share_what_all_conditions_let_through() -> None:
    """What enters in the time that an entry stays is what is live, once from each of three streams."""
    plan = plan_query(query_of(common_key(3) + " AND a.v < b.v AND b.v < c.v"), Plan("tc", ()))
    statistics = Statistics((stream(10, 100),) * 3, selectivity=0.01)
    fold = FoldAmounts(plan.answering, plan.choice, flows_of(plan.pipeline, statistics)[0], 1.0, 0.01)
    assert fold.counted()["combination"] / 3 * 10 == pytest.approx(fold.live_combinations)


def test_every_operation_that_is_counted_has_a_price_and_every_price_is_of_an_operation_that_is() -> None:
    counted: set[str] = set()
    known = StreamStatistics(100, 4, 3)
    plans = [
        Plan(method, (), dict.fromkeys("ab", index)) for method in ("ic", "tc", "pc") for index in ("list", "hash")
    ]
    plans += [Plan("ic", ("a", "b"), dict.fromkeys("ab", index)) for index in ("btree", "ttree")]
    found = [(CONDITION, plan) for plan in plans] + [
        (text, None) for text in (*TEXTS, SETS.replace("COUNT(*)", "MAX(b.v)"))
    ]
    found += [(f"SELECT SUM(a.x + b.x) AS s {JOINED}", None)]
    found += [(f"SELECT COUNT(*) AS n FROM a [ROWS 9 SLIDE 1], b {WINDOW} WHERE a.k = b.k", None)]
    found += [("SELECT COUNT(*) AS n FROM a [10 SECOND], b [10 SECOND] WHERE a.k = b.k EMIT ON ARRIVAL", None)]
    for text, forced in found:
        plan = plan_query(query_of(text), forced)
        setting = Setting.of(plan, Statistics((known,) * len(plan.frames)), shipped_weights())
        for stage in stages_of(setting, plan):
            counted |= {name for name, amount in stage.amounts.items() if amount}
    assert counted == set(OPERATIONS)
