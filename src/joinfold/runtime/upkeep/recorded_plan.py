"""The plan of a checkpoint, from its manifest alone: the sources of the query are not needed.

The manifest has the text of the query and, for each input, the columns that the query reads. Their order counts: it
decides the order of rows that have the same time.
"""

from dataclasses import replace
from graphlib import TopologicalSorter
from itertools import pairwise

from joinfold.dialect import bind, parse
from joinfold.dialect.schema import read_schema
from joinfold.errors import UsageError
from joinfold.logical.query import Source
from joinfold.names import identifier_text
from joinfold.planner.declaring import assumed_statistics
from joinfold.planner.drafting.draft import draft
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.runtime.checkpoints.manifest import Guards, InputFacts, Manifest
from joinfold.types import Schema


def recorded_plan(manifest: Manifest, checkpoint: str) -> PlannedQuery:
    """A plan of the query of a checkpoint, with the stages that its state belongs to."""
    parsed = parse(manifest.query)
    read: dict[str, list[InputFacts]] = {}
    for input_, facts in zip(parsed.inputs, manifest.inputs, strict=True):
        read.setdefault(input_.name, []).append(facts)
    streams = {input_.name for input_ in parsed.inputs if input_.window is not None}
    sources = {name: _source(name, name in streams, inputs) for name, inputs in read.items()}
    drafted = draft(bind(parsed, sources), homes_of=manifest.homes)
    roots, statistics = frozenset({manifest.root}), assumed_statistics(drafted)
    plan = plan_query(drafted, statistics=statistics, roots=roots, sampler=manifest.sampler)
    if plan.root != manifest.root:
        hint = "run the command with the joinfold that wrote the checkpoint."
        raise UsageError(f"this joinfold plans the query of the checkpoint '{checkpoint}' in another way", hint)
    return replace(plan, pipeline=plan.pipeline.in_zone(manifest.zone or "UTC"))


def _source(name: str, is_stream: bool, inputs: list[InputFacts]) -> Source:
    """What was registered under a name, as far as some inputs read it."""
    first = inputs[0]
    guards = Guards(None, None) if first.guards is None else first.guards
    return Source(name, _schema(inputs), is_stream, first.time, first.delay_us, guards.ahead_us, guards.idle_us)


def _schema(inputs: list[InputFacts]) -> Schema:
    """The columns of all inputs, in an order that agrees with the order in each."""
    types = {name: type_ for facts in inputs for name, type_ in facts.columns.items()}
    order = TopologicalSorter[str](dict.fromkeys(types, ()))
    for facts in inputs:
        for before, after in pairwise(facts.columns):
            order.add(after, before)
    return read_schema(", ".join(f"{identifier_text(name)} {types[name]}" for name in order.static_order()))
