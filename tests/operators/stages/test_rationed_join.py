"""Plain joins that shed: which combinations come, at any rates, from any batches, in any number of buckets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.dialect import bind, parse
from joinfold.inprocess import InProcess
from joinfold.logical.query import Source
from joinfold.operators.entries import Entries
from joinfold.operators.stages.rationed_join import RationedJoin
from joinfold.operators.windows.probing import PartialCombinations, Prober
from joinfold.physical.shedding import WHOLE
from joinfold.physical.stored import stored_name
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.shedding.allocation import Share
from tests.operators.rations import (
    IN_TIME,
    SCHEMA,
    Run,
    at_shares,
    budgets,
    check_budget,
    check_made_anew,
    check_run,
    rationers_of,
    runs,
)
from tests.operators.runs import Row, answer, feed, plan_of, tables_of
from tests.operators.state.kept import Query

TEXT = "SELECT a.v, b.v AS w FROM a [6 MICROSECOND], b [6 MICROSECOND] WHERE a.k = b.k"
NOTHING, EVERYTHING = Share(0.0, 0.0), Share()
some_runs = runs(IN_TIME)


@given(some_runs, st.integers(1, 3))
def test_combinations_come_as_defined(run: Run, buckets: int) -> None:
    machine = check_run(run, buckets)
    assert all(isinstance(bucket, RationedJoin) for bucket in machine.buckets)


@given(some_runs, budgets)
def test_budgets_become_rates(run: Run, budget: str) -> None:
    check_budget(run, budget)


@given(some_runs, st.sampled_from([1, 8]))
def test_a_bucket_made_anew_from_its_state_goes_on_as_before(run: Run, fresh_runs: int) -> None:
    check_made_anew(run, fresh_runs)


# --- by hand --------------------------------------------------------------------------------------------------------


def row(ts: int, k: int = 0) -> Row:
    return {"ts": ts, "k": k, "v": ts}


def plan_with(clause: str, delay_us: int = 0) -> PlannedQuery:
    return plan_of(f"{TEXT} {clause}", "k INT, v INT", delay_us)


def bucket_of(machine: InProcess) -> RationedJoin:
    (bucket,) = machine.buckets
    assert isinstance(bucket, RationedJoin)
    return bucket


def test_only_the_row_that_enters_last_has_to_probe() -> None:
    """All rows of a probe and none is held; those of b are held and do not probe."""
    batch = {"a": [row(1), row(5)], "b": [row(3), row(5)]}
    for shares, expected in [
        ((Share(1, 0), Share(0, 1)), [(6, 5, 3)]),
        ((Share(0, 1), Share(1, 0)), [(4, 1, 3), (6, 1, 5), (6, 5, 5)]),
        ((EVERYTHING, EVERYTHING), [(4, 1, 3), (6, 1, 5), (6, 5, 3), (6, 5, 5)]),
        ((NOTHING, EVERYTHING), []),
    ]:
        machine = InProcess(plan_with("SHED TO HOLD 9 ROWS"))
        with at_shares([shares]):
            feed(machine, batch)
            assert sorted(answer(machine)) == expected


@pytest.mark.parametrize("rebuilds", [False, True])
def test_a_row_that_comes_late_is_found_by_rows_that_entered_after_it(
    rebuilds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row of b at 5 is not held, but it may still probe for rows that enter before it."""
    monkeypatch.setattr(RationedJoin, "_is_outgrown", rebuilds)
    machine = InProcess(plan_with("SHED TO HOLD 9 ROWS", delay_us=3))
    bucket = bucket_of(machine)
    with at_shares([(EVERYTHING, Share(1, 0))]):
        feed(machine, {"a": [row(2)], "b": [row(5)]})
        assert answer(machine) == [(6, 2, 5)] and bucket.entries_held == 2
        feed(machine, {"a": [row(4), row(6)]})
        assert answer(machine) == [(6, 4, 5)] and bucket.entries_held == 4
        feed(machine, {"b": [row(9)]})
        answer(machine)
        assert [len(window.members) for window in bucket.windows] == [3, 2]  # W is 3: the row at 5 may still probe
        feed(machine, {"a": [row(10)]})
        answer(machine)
        assert [len(window.members) for window in bucket.windows] == [4, 1]  # W is 6: now it may not


def test_rows_that_enter_together_are_in_the_order_of_from() -> None:
    """The row of b enters at 6 and is not held. At W = 5 a row of a may still come that enters at 6, too."""
    machine = InProcess(plan_with("SHED TO HOLD 9 ROWS"))
    with at_shares([(EVERYTHING, Share(1, 0))]):
        feed(machine, {"a": [row(5, 1)], "b": [row(5)]})
        assert answer(machine) == [] and machine.buckets[0].watermark == 5
        feed(machine, {"a": [row(5)]})
        assert answer(machine) == [(6, 5, 5)]


def test_a_combination_with_several_new_rows_is_found_once() -> None:
    text = "SELECT a.v, b.v AS w, c.v AS u FROM a [9 MICROSECOND], b [9 MICROSECOND], c [9 MICROSECOND]"
    sources = {name: Source(name, SCHEMA, True, "ts", 9) for name in "abc"}
    plan = plan_query(bind(parse(f"{text} WHERE a.k = b.k AND b.k = c.k SHED TO HOLD 9 ROWS"), sources))
    machine = InProcess(plan)
    with at_shares([(EVERYTHING, EVERYTHING, EVERYTHING)]):
        feed(machine, {"c": [row(5)]})
        assert answer(machine) == []
        feed(machine, {"a": [row(2)], "b": [row(3)]})
        assert answer(machine) == [(6, 2, 3, 5)]
        feed(machine, {"a": [row(4)], "b": [row(7)]})
        assert sorted(answer(machine)) == [(6, 4, 3, 5), (8, 2, 7, 5), (8, 4, 7, 5)]


def test_a_lower_rate_holds_for_rows_that_enter_after_all_before() -> None:
    """Rows of a are no longer held for those that enter from 5 on."""
    machine = InProcess(plan_with("SHED TO HOLD 9 ROWS", delay_us=9))
    with at_shares([(EVERYTHING, EVERYTHING), (NOTHING, EVERYTHING)]):
        feed(machine, {"a": [row(1)], "b": [row(3)]})
        assert answer(machine) == [(4, 1, 3)]
        feed(machine, {"b": [row(4), row(3), row(5)]})
        assert answer(machine) == [(4, 1, 3)]


def test_rows_that_are_not_held_are_not_stored() -> None:
    machine = InProcess(plan_with("SHED TO HOLD 9 ROWS"))
    with at_shares([(NOTHING, EVERYTHING)]):
        ((kind, stored),) = feed(machine, {"a": [row(ts) for ts in range(9)], "b": [row(8)]})[0]
        answer(machine)
    assert stored_name(kind) == "entries of b" and stored.num_rows == 1
    assert bucket_of(machine).entries_held == 1
    assert machine.shed == {"a": 9, "b": 0} and machine.unprobed == {"a": 9, "b": 0}


def test_rows_that_may_not_probe_look_at_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    probes = 0

    def start(self: Prober, ordinal: int, entries: Entries) -> PartialCombinations:
        nonlocal probes
        probes += len(entries)
        return started(self, ordinal, entries)

    started = Prober.start
    monkeypatch.setattr(Prober, "start", start)
    for shares, expected in [
        ((EVERYTHING, EVERYTHING), 80),
        ((Share(0, 1), Share(1, 1)), 40),
        ((Share(0, 1), Share(0, 1)), 0),
    ]:
        machine, probes = InProcess(plan_with("SHED TO HOLD 9 ROWS")), 0
        with at_shares([shares]):
            for ts in range(40):
                feed(machine, {"a": [row(ts, ts % 3)], "b": [row(ts, ts % 3)]})
                answer(machine)
        assert probes == expected


def test_a_budget_that_is_not_exceeded_changes_nothing() -> None:
    batches = [{"a": [row(ts), row(ts + 1, 1)], "b": [row(ts)]} for ts in range(0, 60, 2)]
    plain, shedding = (
        InProcess(plan_with("")),
        InProcess(plan_with("SHED TO PROCESS 3 ROWS PER SECOND AND HOLD 12 ROWS")),
    )
    for number, batch in enumerate(batches):
        for machine in (plain, shedding):
            machine.feed(tables_of(machine.plan, batch), clock_us=1_000_000 * number)
        assert sorted(answer(plain)) == sorted(answer(shedding))
    assert shedding.shed == shedding.unprobed == {"a": 0, "b": 0}
    assert all(own.holding[0].rates == [WHOLE] for own in rationers_of(shedding))


def test_a_lower_rate_thins_what_is_held_and_when_the_load_goes_everything_is_held_again() -> None:
    machine = InProcess(plan_of(TEXT.replace("6 MICRO", "100 MICRO") + " SHED TO HOLD 40 ROWS", "k INT, v INT"))
    bucket, held, rates = bucket_of(machine), [], []
    for number in range(120):
        each = 4 if 40 <= number < 80 else 1
        ts = 10 * number
        feed(machine, {name: [row(ts + place, place) for place in range(each)] for name in "ab"})
        answer(machine)
        held.append(bucket.entries_held)
        rates.append([timeline.current for timeline in bucket.rationer.holding])
    assert max(held[:40]) <= 24 and rates[39] == [WHOLE, WHOLE]
    assert max(held[45:80]) <= 52 and min(held[60:80]) >= 28
    assert rates[-1] == [WHOLE, WHOLE] and held[-1] == held[30]
    assert all(len(timeline.rates) == 1 for timeline in bucket.rationer.holding)  # the old ones are forgotten


def test_stored_entries_are_thinned_when_the_rate_has_fallen() -> None:
    plan = plan_of(TEXT.replace("6 MICRO", "1000 MICRO") + " SHED TO HOLD 9 ROWS", "k INT, v INT")
    query = Query(plan, labels=(1,))
    (kept,) = query.buckets
    with at_shares([(EVERYTHING, EVERYTHING)] * 9 + [(Share(1, 0.3), EVERYTHING)] * 3):
        for number in range(12):
            query.run({name: [row(100 * number + place) for place in range(50)] for name in "ab"})
    assert sum(run.entries for run in kept.state.chunks.runs if stored_name(run.stored) == "entries of a") < 250


def test_ids_that_nobody_uses_are_given_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joinfold.operators.stages.join_as_found.MANY", 4)
    machine, found = InProcess(plan_with("SHED TO HOLD 9 ROWS")), []
    with at_shares([(Share(1, 0.5), EVERYTHING), (Share(0.5, 1), EVERYTHING)]):
        for ts in range(0, 80, 2):
            feed(machine, {"a": [row(ts, ts)], "b": [row(ts, ts)]})
            found += answer(machine)
    assert bucket_of(machine).vocabulary.given < 30
    assert 10 < len(found) < 40 and all(one == other for _, one, other in found)
