"""A physical plan as a small tree: the stages that rows go through, from the answer down to the streams."""

from collections.abc import Callable
from typing import TypeAlias, assert_never

from joinfold.amounts import number_text
from joinfold.explain.logical_tree import when_text
from joinfold.explain.tree import Tree
from joinfold.logical.expressions import Expression
from joinfold.logical.shedding import AllTo
from joinfold.logical.sql import expression_text, input_text
from joinfold.physical.choice import FoldChoice, can_loop
from joinfold.physical.payload import InputSpec
from joinfold.physical.plan import Attachment, Frame, FrameColumn, PhysicalPlan
from joinfold.physical.probe_order import steps_from
from joinfold.physical.shedding import KeySampling, PairRationing, RowSampling
from joinfold.physical.source import ConstantRow, StreamRows, ViewOf
from joinfold.physical.stage import (
    Body,
    Concatenate,
    FoldAtArrivals,
    JoiningStage,
    LastRowsPerKey,
    Merge,
    NumberRows,
    is_distributed,
    is_plain,
    is_replicated,
    makes_view,
)
from joinfold.physical.timing import CountingWindow
from joinfold.planner.chaining import needs_chain
from joinfold.planner.cost.estimates import StageKind
from joinfold.timetext import duration_text
from joinfold.window import RangeByRows, Rows

Note: TypeAlias = Callable[[StageKind, int], str]


def no_note(kind: StageKind, number: int) -> str:
    """No note, for any stage."""
    return ""


def plan_tree(plan: PhysicalPlan, note: Note = no_note) -> Tree:
    """The tree of a plan, from SELECT down to the PACK of each input; ``note`` is appended to the line of a stage."""
    query, last = plan.query, len(plan.stages) - 1
    tree = Tree(_merge_text(plan) + note("MERGE", last), (_stage_tree(plan, last, note),))
    if query.having is not None:
        tree = Tree("HAVING in Spark: " + expression_text(query.expanded(query.having)), (tree,))
    columns = ", ".join(output.name for output in query.outputs)
    changes = "; old and new values are compared here" if query.changes else ""
    return Tree(f"SELECT in Spark: {columns}{changes}", (tree,))


def _merge_text(plan: PhysicalPlan) -> str:
    query = plan.query
    match plan.pipeline.last:
        case Concatenate():
            return "combinations go out as they come"
        case Merge(crosses_buckets=False):
            return "no MERGE: GROUP BY determines every join key, so a group is in one bucket; totals become aggregates"
        case Merge() if not plan.pipeline.is_distributed:
            return "MERGE, stateless: one bucket, since there is no join key to distribute by; totals become aggregates"
        case Merge() if not query.groups:
            return "MERGE, stateless: adds the parts of the one group that is in every bucket"
        case Merge():
            classes = [plan.keys[number] for number in sorted(plan.body.bucket_classes)]
            loose = [members for members in classes if not set(query.groups) & set(members)]
            keys = " and ".join(_equality(members) for members in loose) or "the bucket"
            why = f"GROUP BY does not determine {keys}"
            return f"MERGE, stateless: adds the parts of a group from all buckets, since {why}"
        case _:
            assert_never(plan.pipeline.last)


def _stage_tree(plan: PhysicalPlan, number: int, note: Note) -> Tree:
    """The tree of a stage; below it, the PACK of its streams and the stages that make its views."""
    stage = plan.stages[number]
    match stage:
        case NumberRows():
            return _number_rows_tree(plan, stage, number, note)
        case LastRowsPerKey():
            return _last_rows_tree(plan, stage, number, note)
        case _:
            return _joining_tree(plan, stage, number, note)


def _joining_tree(plan: PhysicalPlan, stage: JoiningStage, number: int, note: Note) -> Tree:
    query, body = plan.query, stage.body
    keys = ", ".join(_equality(plan.keys[number]) for number in sorted(body.bucket_classes))
    replicated = [name for ordinal, name in enumerate(_names(plan, body)) if is_replicated(stage, ordinal)]
    title = f"FOLD per bucket of the join key {keys}" if keys else "FOLD in one bucket"
    if not keys and is_distributed(stage):
        title = f"FOLD per bucket of the values of {query.streams[0].alias}"
    title += f"; every bucket has all of {' and '.join(replicated)}" if replicated else ""
    if makes_view(stage):
        title = f"{_view_name(plan, number)} = {title}"
        facts = [_view_tree(plan, body)]
    else:
        facts = [
            Tree("answers " + when_text(query)),
            *_arrival_trees(plan),
            *_shed_trees(plan),
            *_one_fold_trees(plan),
            *_method_trees(plan),
        ]
    read = [tree for spec in body.inputs if (tree := _source_tree(plan, spec, note)) is not None]
    if plan.pipeline.numbers_rows and stage is plan.answering:
        read.append(_stage_tree(plan, 0, note))
    return Tree(title + note("FOLD", number), (*facts, *_window_trees(plan, stage, plan.choices[number]), *read))


def _source_tree(plan: PhysicalPlan, spec: InputSpec, note: Note) -> Tree | None:
    match spec.source:
        case StreamRows(stream=stream):
            return _pack_tree(plan, stream, note)
        case ViewOf(stage=number):
            return _stage_tree(plan, number, note)
        case ConstantRow():
            return None
        case _:
            assert_never(spec.source)


def _last_rows_tree(plan: PhysicalPlan, stage: LastRowsPerKey, number: int, note: Note) -> Tree:
    """The stage that keeps the last rows of each key."""
    columns = plan.frames[stage.stream].expressions
    by = ", ".join(expression_text(columns[name]) for name in stage.by)
    rows = _counted(stage.rows, "row")
    title = f"{_view_name(plan, number)} = the last {rows} for each {by}, per bucket of it"
    return Tree(title + note("FOLD", number), (_pack_tree(plan, stage.stream, note),))


def _number_rows_tree(plan: PhysicalPlan, stage: NumberRows, number: int, note: Note) -> Tree:
    """The stage that numbers rows. The order of each stream goes through one bucket; the rows do not."""
    trees = []
    for stream in stage.streams:
        window = plan.timing.windows[stream]
        assert isinstance(window, Rows | RangeByRows)
        trees.append(
            Tree(f"order of {plan.timing.names[stream]}: a row boundary every {_counted(window.block, 'row')}")
        )
    title = "NUMBER rows in the order of their stream; every bucket gets the row boundaries"
    return Tree(title + note("FOLD", number), tuple(trees))


def _shed_trees(plan: PhysicalPlan) -> list[Tree]:
    """What SHED samples, and which streams stay whole; in a plain join, how it divides what there is."""
    shedding = plan.pipeline.shedding
    match shedding:
        case KeySampling(streams=streams):
            sampled = next(spec for spec in map(plan.pipeline.input_of, streams))
            number = next(number for number, members in enumerate(plan.keys) if _drawn(plan, sampled) & set(members))
            title = f"sheds keys of {_equality(plan.keys[number])}; the heaviest stay"
        case RowSampling(streams=streams):
            title = "sheds rows of each stream by themselves"
        case PairRationing(favour=AllTo(alias=alias)):
            return [Tree(f"rations which rows probe and which are held: all to {alias}")]
        case PairRationing(favour=favour):
            return [Tree(f"rations which rows probe and which are held: {favour}")]
        case None:
            return []
        case _:
            assert_never(shedding)
    whole = [name for stream, name in enumerate(plan.timing.names) if stream not in streams]
    return [Tree(title + (f"; all rows of {' and '.join(whole)} stay" if whole else ""))]


def _drawn(plan: PhysicalPlan, spec: InputSpec) -> set[Expression]:
    """The expressions that decide what is kept of an input."""
    assert isinstance(spec.source, StreamRows)
    columns = plan.frames[spec.source.stream].expressions
    return {columns[name] for name in spec.drawn_by}


def _arrival_trees(plan: PhysicalPlan) -> list[Tree]:
    """How a query goes from arrival to arrival: in a compiled loop, or one by one, and why."""
    stage = plan.answering
    if not isinstance(stage, FoldAtArrivals):
        return []
    if can_loop(stage, plan.choice) and plan.pipeline.shedding is None:
        return [Tree("goes through many arrivals in one compiled loop; emits the groups that each has changed")]
    if plan.pipeline.shedding is not None:
        why = "the sample may change at each"
    elif stage.body.extremes:
        why = "a MIN or MAX cannot be taken back"
    else:
        why = "more than two inputs are joined" if plan.choice.windows == "sets" else "conditions or values read pairs"
    return [Tree(f"goes from arrival to arrival, which takes tens of microseconds each: {why}")]


def _one_fold_trees(plan: PhysicalPlan) -> list[Tree]:
    """Why a join over different keys is not a chain of folds, if it is not."""
    stage = plan.answering
    if plan.root is not None or plan.timing.streams < 3 or is_plain(stage) or stage.body.has_one_key:
        return []
    if isinstance(stage, FoldAtArrivals):
        why = "every row is answered"
    elif stage.body.combining:
        why = "conditions or values read whole combinations"
    else:
        why = "one fold is forced or far cheaper" if needs_chain(stage) else "the keys form a cycle"
    return [Tree(f"no chain of folds, combinations are enumerated: {why}")]


def _names(plan: PhysicalPlan, body: Body) -> list[str]:
    """The names of the inputs of a stage, without the constant row."""
    found = []
    for spec in body.inputs:
        match spec.source:
            case StreamRows():
                found.append(spec.name)
            case ViewOf(stage=number):
                found.append(_view_name(plan, number))
            case ConstantRow():
                pass
            case _:
                assert_never(spec.source)
    return found


def _view_name(plan: PhysicalPlan, number: int) -> str:
    return f"view {number + 1 - plan.pipeline.numbers_rows}"


def _view_tree(plan: PhysicalPlan, body: Body) -> Tree:
    """What a view is grouped by, and what each of its rows contains."""
    columns = {name: expression for frame in plan.frames for name, expression in frame.expressions.items()}
    groups = dict.fromkeys(expression_text(columns[name]) for name in body.groups if name not in body.replicates)
    sums = [_counted(len(body.integer_products), "integer product")]
    sums += [_counted(len(body.real_products), "double-double product")] if body.real_products else []
    sums += [_counted(len(body.extremes), "extreme")] if body.extremes else []
    return Tree(f"by {', '.join(groups)}: the groups that changed, at every instant, with {', '.join(sums)}")


def _method_trees(plan: PhysicalPlan) -> list[Tree]:
    """The methods of sums and of extremes, which have their own: what leaves cannot be subtracted from an extreme."""
    query, body, method, last = plan.query, plan.body, plan.choice.method, plan.pipeline.last
    if isinstance(last, Concatenate):
        return []
    named = [
        (expression_text(aggregate), column.extreme is None)
        for aggregate, column in zip(query.aggregates, last.aggregates, strict=True)
    ]
    sums = ", ".join(text for text, is_sum in named if is_sum) or "which groups exist"
    extremes = ", ".join(text for text, is_sum in named if not is_sum)
    products = [_counted(len(body.integer_products), "integer product")]
    if body.real_products:
        products.append(_counted(len(body.real_products), "double-double product"))
    if method == "pc":
        return [Tree(f"PC over all combinations: {', '.join(text for text, _ in named)}; {' and '.join(products)}")]
    title = "IC over sums" if method == "ic" else "TC over sums by leaving times"
    trees = [Tree(f"{title}: {sums}; {' and '.join(products)}")]
    how = "counted by group and value" if body.is_open_ended else "TC over leaving times"
    return [*trees, Tree(f"{how}: {extremes}")] if extremes else trees


def _window_trees(plan: PhysicalPlan, stage: JoiningStage, choice: FoldChoice) -> list[Tree]:
    """How each window is kept in memory, and how combinations are found in structures."""
    body, names = stage.body, _names(plan, stage.body)
    if choice.windows == "sets":
        return [Tree("windows: a hashed aggregation set of each input, multiplied as keys are found")]
    if choice.windows == "sums":
        (join,) = body.combining.ranges
        value, bounds = names[join.value_input], names[join.bound_input]
        return [Tree(f"windows: sums in the order of values of {value} and of bounds of {bounds}, range by range")]
    windows = []
    for ordinal, name in enumerate(names):
        kept = "entries aggregated" if ordinal in choice.early and not is_plain(stage) else "entries kept apart"
        kept = "the last row of each group" if ordinal in body.views else kept
        windows.append(Tree(f"window of {name}: {choice.indexes[ordinal]}, {kept}"))
    return [*windows, *(_probe_tree(body, choice, names, ordinal) for ordinal in range(len(names)) if len(names) > 1)]


def _probe_tree(body: Body, choice: FoldChoice, names: list[str], first: int) -> Tree:
    steps = []
    for step in steps_from(body, choice.order, first):
        found = ["key"] if step.classes else []
        found += ["range"] if step.range is not None else []
        checks = len(step.conditions) + max(0, len(step.checked) - 1)
        by = f" by {' and '.join(found)}" if found else ", all"
        by += f", then {_counted(checks, 'condition')}" if checks else ""
        steps.append(names[step.ordinal] + by)
    return Tree(f"an entry of {names[first]} probes {'; '.join(steps)}")


def _pack_tree(plan: PhysicalPlan, stream: int, note: Note) -> Tree:
    frame = plan.frames[stream]
    read = (*map(_attachment_tree, frame.attached), Tree("stream " + input_text(frame.input)))
    if frame.matching:
        read = (Tree("where " + " AND ".join(map(expression_text, frame.matching))), *read)
    return Tree(
        f"PACK {frame.input.alias}: {_cell_text(plan, stream)}" + note("PACK", stream),
        (Tree(f"in state: {_entry_text(plan, stream)}"), Tree(_frame_text(frame), read)),
    )


def _frame_text(frame: Frame) -> str:
    columns = ["ts"]
    if frame.keep is not None:
        columns.append(f"keep = {expression_text(frame.keep)}")
    columns += dict.fromkeys(map(_column_text, frame.columns))
    return "Spark projects " + ", ".join(columns)


def _column_text(column: FrameColumn) -> str:
    text = expression_text(column.expression)
    return f"order {text}" if column.role == "order" else text


def _attachment_tree(attachment: Attachment) -> Tree:
    relations = " and ".join(input_text(relation) for relation in attachment.relations)
    noun = "relation" if len(attachment.relations) == 1 else "relations"
    on = " AND ".join(expression_text(key.condition) for key in attachment.keys)
    how = f"on {on}" if on else "without an equality, all of it for every row,"
    conditions = tuple(Tree("where " + expression_text(part)) for part in attachment.conditions)
    matches = "" if attachment.matches is None else f": about {_matches_text(attachment.matches)} for each row"
    return Tree(f"joined with {noun} {relations} {how} before PACK{matches}", conditions)


def _matches_text(matches: float) -> str:
    number = number_text(matches)
    return f"{number} match" if number == "1" else f"{number} matches"


def _cell_text(plan: PhysicalPlan, stream: int) -> str:
    if isinstance(plan.answering, FoldAtArrivals):
        return "row by row, since every row is answered"
    if isinstance(plan.timing.windows[stream], CountingWindow):
        return "row by row, since rows are counted"
    return f"cells of {duration_text(plan.timing.cell_us(stream))}, aggregated early"


def _entry_text(plan: PhysicalPlan, stream: int) -> str:
    spec = plan.pipeline.input_of(stream)
    kept = [_counted(len(spec.integers), "integer sum")]
    if spec.reals:
        kept.append(_counted(len(spec.reals), "double-double sum"))
    if spec.extremes:
        kept.append(_counted(len(spec.extremes), "extreme"))
    by = ["cell", *(["key"] if spec.keys else []), *(["group"] if spec.stored_groups else [])]
    by += ["carried values"] if spec.carried else []
    each = " and ".join([", ".join(by[:-1]), by[-1]]) if len(by) > 1 else by[0]
    return f"an entry per {'row' if isinstance(plan.answering, FoldAtArrivals) else each}, with {', '.join(kept)}"


def _equality(members: tuple[Expression, ...]) -> str:
    return " = ".join(expression_text(member) for member in members)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
