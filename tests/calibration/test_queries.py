"""What is tried: queries over the streams that they name, under every method and structure."""

from joinfold.calibration.queries import band, plans, trials
from joinfold.dialect import bind, parse, read_schema
from joinfold.kernels.structures import STRUCTURES
from joinfold.logical.query import LogicalQuery, Source
from joinfold.planner.planning import plan_query
from tests.calibration.tiny import TINY

SCHEMA = read_schema("ts TIMESTAMP, k BIGINT, g BIGINT, x BIGINT, v BIGINT, f DOUBLE")


def query_of(sql: str) -> LogicalQuery:
    return bind(parse(sql), {name: Source(name, SCHEMA, True, "ts") for name in "abc"})


def test_trials_have_names_of_their_own_and_are_run_under_many_plans() -> None:
    found = list(trials())
    assert len({trial.name for trial in found}) == len(found) > 20
    names = [name for name, _ in plans(TINY[1])]
    assert names[0] == "usual" and len(set(names)) == len(names)
    assert {name.split()[0] for name in names[1:]} == {"ic", "tc", "pc"}
    assert {name.split()[1] for name in names[1:]} == set(STRUCTURES)


def test_every_trial_is_a_query_of_its_streams() -> None:
    for trial in trials():
        query = query_of(trial.sql)
        assert tuple(input_.alias for input_ in query.streams) == trial.names


def test_a_band_has_the_reach_and_the_groups_that_are_asked_for() -> None:
    alone, grouped = (query_of(band(20, group).format(window="[9 SECOND SLIDE 1 SECOND]")) for group in ("", "g"))
    (join,) = plan_query(alone).body.combining.ranges
    assert join.low is not None and join.high is not None
    assert (len(alone.groups), len(grouped.groups)) == (0, 1)
