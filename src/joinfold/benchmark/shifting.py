"""The stream that shifts, in process: what FOLD takes if the plan follows the data, and if it stays with one plan.

On Spark a micro-batch costs about a second whatever the plan; here there is nothing but the plan.
"""

from dataclasses import dataclass

import pyarrow as pa

from joinfold.benchmark.environment import Say
from joinfold.benchmark.planner_on_spark import ADAPTIVE, FORCED, SHIFTING, Shift
from joinfold.errors import QueryError
from joinfold.inprocess import InProcess
from joinfold.planner.forcing import Plan
from joinfold.session import Session

HOPELESS_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ShiftRun:
    """A plan on the whole stream: seconds of FOLD's CPU, or more where it was given up; how often it was changed."""

    plan: str
    seconds: float
    changes: int
    is_whole: bool


def run_shift(shift: Shift, differences: list[str], say: Say) -> list[ShiftRun]:
    """The run that follows the data first, then every plan that can be forced."""
    tables = {name: shift.tables(place) for place, name in enumerate(("a", "b"))}
    found: list[ShiftRun] = []
    first: pa.Table | None = None
    for told in (ADAPTIVE, *FORCED):
        session = Session()
        for name, parts in tables.items():
            session.stream(name, parts[0].schema, time="ts")
        try:
            plan = session.sql(SHIFTING, None if told == ADAPTIVE else Plan.parse(told)).plan
        except QueryError:  # not every plan can do it
            continue
        machine, answers = InProcess(plan), []
        for step in zip(*tables.values(), strict=True):
            machine.feed(dict(zip(tables, step, strict=True)))
            answers.append(machine.answer())
            if machine.measures.fold_seconds > HOPELESS_SECONDS:
                break
        is_whole = len(answers) == len(tables["a"])
        found.append(ShiftRun(told, machine.measures.fold_seconds, len(machine.changes), is_whole))
        say(f"shifting in process, {told}: {found[-1].seconds:.1f} s{'' if is_whole else ', given up'}")
        given = pa.concat_tables(answers).sort_by([("instant", "ascending"), ("g", "ascending")])
        first = given if first is None else first
        if is_whole and not given.equals(first):
            differences.append(f"shifting in process, {told} and {ADAPTIVE}")
    return found
