"""A physical plan as a small tree: the stages that rows go through, from the answer down to the streams."""

from collections.abc import Callable
from typing import TypeAlias

from joinfold.logical.expressions import Expression
from joinfold.logical.sql import expression_text, input_text
from joinfold.logical.tree import Tree, when_text
from joinfold.operators.choice import SUMS, FoldChoice
from joinfold.operators.layout import CONSTANT_ROW, FoldLayout, InputLayout
from joinfold.operators.probing import steps_from
from joinfold.operators.timeline import CountingWindow
from joinfold.planner.chaining import has_one_key, needs_chain
from joinfold.planner.estimates import StageKind
from joinfold.planner.plan import Attachment, PhysicalPlan
from joinfold.timetext import duration_text
from joinfold.window import RangeByRows, Rows

Note: TypeAlias = Callable[[StageKind, int], str]


def nothing_noted(kind: StageKind, number: int) -> str:
    """The note of a stage of which nothing is said."""
    return ""


def plan_tree(plan: PhysicalPlan, note: Note = nothing_noted) -> Tree:
    """SELECT over HAVING over MERGE over FOLD over the PACK of each input; ``note`` ends the line of a stage."""
    query, last = plan.query, len(plan.folds) - 1
    tree = Tree(_merge_text(plan) + note("MERGE", last), (_fold_tree(plan, last, note),))
    if query.having is not None:
        tree = Tree("HAVING in Spark: " + expression_text(query.expanded(query.having)), (tree,))
    columns = ", ".join(output.name for output in query.outputs)
    changes = "; what was and what is are compared here" if query.changes else ""
    return Tree(f"SELECT in Spark: {columns}{changes}", (tree,))


def _merge_text(plan: PhysicalPlan) -> str:
    query, layout = plan.query, plan.layout
    if layout.is_plain:
        return "combinations go out as they come"
    if not plan.merges:
        return "no MERGE: GROUP BY determines every join key, so a group is in one bucket; totals become aggregates"
    if not layout.is_distributed:
        return "MERGE, stateless: one bucket, since there is no join key to distribute by; totals become aggregates"
    if not query.groups:
        return "MERGE, stateless: adds the parts of the one group that is in every bucket"
    classes = [plan.keys[number] for number in sorted(layout.bucket_classes)]
    loose = [members for members in classes if not set(query.groups) & set(members)]
    keys = " and ".join(_equality(members) for members in loose) or "the bucket"
    return f"MERGE, stateless: adds the parts of a group by bucket, since GROUP BY does not determine {keys}"


def _fold_tree(plan: PhysicalPlan, number: int, note: Note) -> Tree:
    """A fold over the PACK of its streams, and over the folds that make its views."""
    query, layout = plan.query, plan.folds[number]
    if layout.partition:
        return _partition_tree(plan, number, note)
    keys = ", ".join(_equality(plan.keys[number]) for number in sorted(layout.bucket_classes))
    names = _names(plan, number)
    replicated = [name for place, name in enumerate(names) if layout.is_replicated(place)]
    title = f"FOLD per bucket of the join key {keys}" if keys else "FOLD in one bucket"
    if not keys and layout.is_distributed:
        title = f"FOLD per bucket of the values of {query.streams[0].alias}"
    title += f"; every bucket has all of {' and '.join(replicated)}" if replicated else ""
    if layout.is_view:
        title = f"{_view_name(plan, layout.streams + number)} = {title}"
        facts = [_view_tree(plan, layout)]
    else:
        facts = [Tree("answers " + when_text(query)), *_one_fold_trees(plan), *_method_trees(plan)]
    read = [
        _pack_tree(plan, feed, note) if feed < layout.streams else _fold_tree(plan, feed - layout.streams, note)
        for feed in layout.feeds
        if feed != CONSTANT_ROW
    ]
    read += [_numbering_tree(plan, note)] if plan.folds[0].is_numbering and number == len(plan.folds) - 1 else []
    return Tree(title + note("FOLD", number), (*facts, *_window_trees(plan, number), *read))


def _partition_tree(plan: PhysicalPlan, number: int, note: Note) -> Tree:
    """The stage that keeps the last rows of each key."""
    layout = plan.folds[number]
    (stream,) = layout.feeds
    columns = dict(plan.frames[stream].columns)
    by = ", ".join(expression_text(columns[name]) for name in layout.partition)
    rows = _counted(layout.partition_rows, "row")
    title = f"{_view_name(plan, layout.streams + number)} = the last {rows} for each {by}, per bucket of it"
    return Tree(title + note("FOLD", number), (_pack_tree(plan, stream, note),))


def _numbering_tree(plan: PhysicalPlan, note: Note) -> Tree:
    """The stage that numbers rows: each stream's order goes through one of its buckets, the rows do not."""
    layout, trees = plan.folds[0], []
    for stream in layout.feeds:
        window = layout.timeline.windows[stream]
        assert isinstance(window, Rows | RangeByRows)
        trees.append(Tree(f"order of {plan.query.streams[stream].alias}: a cut every {_counted(window.block, 'row')}"))
    title = "NUMBER rows in the order of their stream; every bucket gets the cuts"
    return Tree(title + note("FOLD", 0), tuple(trees))


def _one_fold_trees(plan: PhysicalPlan) -> list[Tree]:
    """Of a join over different keys that is no chain: why not."""
    layout = plan.layout
    if plan.root is not None or layout.streams < 3 or layout.is_plain or has_one_key(layout):
        return []
    if layout.on_arrival:
        why = "every row is answered"
    elif layout.combining:
        why = "conditions or values read whole combinations"
    else:
        why = "the plan asks for it" if needs_chain(layout) else "the keys form a cycle"
    return [Tree(f"no chain of folds, combinations are enumerated: {why}")]


def _names(plan: PhysicalPlan, number: int) -> list[str]:
    """The inputs of a fold."""
    layout, streams = plan.folds[number], plan.query.streams
    feeds = [feed for feed in layout.feeds if feed != CONSTANT_ROW]
    return [streams[feed].alias if feed < layout.streams else _view_name(plan, feed) for feed in feeds]


def _view_name(plan: PhysicalPlan, feed: int) -> str:
    is_numbered = plan.folds[0].is_numbering
    return f"view {feed - plan.layout.streams + 1 - is_numbered}"


def _view_tree(plan: PhysicalPlan, layout: FoldLayout) -> Tree:
    """What a view is grouped by, and what each of its rows has."""
    columns = {name: expression for frame in plan.frames for name, expression in frame.columns}
    groups = dict.fromkeys(expression_text(columns[name]) for side in layout.inputs for name in side.groups)
    sums = [_counted(len(layout.integer_products), "integer product")]
    sums += [_counted(len(layout.real_products), "double-double product")] if layout.real_products else []
    sums += [_counted(len(layout.extremes), "extreme")] if layout.extremes else []
    return Tree(f"by {', '.join(groups)}: the groups that changed, at every instant, with {', '.join(sums)}")


def _method_trees(plan: PhysicalPlan) -> list[Tree]:
    """Sums subtract what leaves; extremes do not subtract, and are charged to what leaves first."""
    query, layout, method = plan.query, plan.layout, plan.choice.method
    if layout.is_plain:
        return []
    named = [
        (expression_text(aggregate), column.extreme is None)
        for aggregate, column in zip(query.aggregates, layout.aggregates, strict=True)
    ]
    sums = ", ".join(text for text, is_sum in named if is_sum) or "which groups exist"
    extremes = ", ".join(text for text, is_sum in named if not is_sum)
    products = [_counted(len(layout.integer_products), "integer product")]
    if layout.real_products:
        products.append(_counted(len(layout.real_products), "double-double product"))
    if method == "pc":
        return [Tree(f"PC over all combinations: {', '.join(text for text, _ in named)}; {' and '.join(products)}")]
    title = "IC over sums" if method == "ic" else "TC over sums by leaving times"
    trees = [Tree(f"{title}: {sums}; {' and '.join(products)}")]
    how = "counted by group and value" if layout.is_open_ended else "TC over leaving times"
    return [*trees, Tree(f"{how}: {extremes}")] if extremes else trees


def _window_trees(plan: PhysicalPlan, number: int) -> list[Tree]:
    """How each window is kept in memory, and how combinations are found where they are looked for."""
    layout, choice, names = plan.folds[number], plan.choices[number], _names(plan, number)
    if choice.is_fused:
        return [Tree("windows: a hashed aggregation set of each input, multiplied as keys are found")]
    if SUMS in choice.indexes:
        (join,) = layout.combining.ranges
        value, bounds = names[join.value_place], names[join.bound_place]
        return [Tree(f"windows: sums in the order of values of {value} and of bounds of {bounds}, range by range")]
    windows = []
    for place, name in enumerate(names):
        kept = "entries aggregated" if place in choice.early and not layout.is_plain else "entries kept apart"
        kept = "the last row of each group" if place in layout.views else kept
        windows.append(Tree(f"window of {name}: {choice.indexes[place]}, {kept}"))
    return [*windows, *(_probe_tree(layout, choice, names, place) for place in range(len(names)) if len(names) > 1)]


def _probe_tree(layout: FoldLayout, choice: FoldChoice, names: list[str], first: int) -> Tree:
    steps = []
    for step in steps_from(layout, choice.order, first):
        found = ["key"] if step.classes else []
        found += ["range"] if step.range is not None else []
        checks = len(step.conditions) + max(0, len(step.checked) - 1)
        by = f" by {' and '.join(found)}" if found else ", all"
        by += f", then {_counted(checks, 'condition')}" if checks else ""
        steps.append(names[step.place] + by)
    return Tree(f"an entry of {names[first]} probes {'; '.join(steps)}")


def _pack_tree(plan: PhysicalPlan, stream: int, note: Note) -> Tree:
    frame, readers = plan.frames[stream], [layout for layout in plan.folds if stream in layout.feeds]
    layout = next(layout for layout in readers if not layout.is_numbering)
    columns = ["ts"]
    if frame.keep is not None:
        columns.append(f"keep = {expression_text(frame.keep)}")
    columns += [f"{name} = {expression_text(expression)}" for name, expression in frame.columns]
    read = (*map(_attachment_tree, frame.attached), Tree("stream " + input_text(frame.input)))
    if frame.matching:
        read = (Tree("where " + " AND ".join(map(expression_text, frame.matching))), *read)
    projected = Tree("Spark projects " + ", ".join(columns), read)
    return Tree(
        f"PACK {frame.input.alias}: {_cut_text(layout, stream)}" + note("PACK", stream),
        (Tree(f"in state: {_entry_text(layout, layout.input_of(stream))}"), projected),
    )


def _attachment_tree(attachment: Attachment) -> Tree:
    relations = " and ".join(input_text(relation) for relation in attachment.relations)
    noun = "relation" if len(attachment.relations) == 1 else "relations"
    on = " AND ".join(expression_text(key.condition) for key in attachment.keys)
    how = f"on {on}" if on else "without an equality, all of it for every row,"
    said = tuple(Tree("where " + expression_text(part)) for part in attachment.conditions)
    return Tree(f"joined with {noun} {relations} {how} before PACK", said)


def _cut_text(layout: FoldLayout, stream: int) -> str:
    if layout.on_arrival:
        return "row by row, since every row is answered"
    if isinstance(layout.timeline.windows[stream], CountingWindow):
        return "row by row, since rows are counted"
    cell = duration_text(layout.timeline.cell_us(stream))
    return f"cells of {cell}, aggregated early"


def _entry_text(layout: FoldLayout, side: InputLayout) -> str:
    kept = [_counted(len(side.integers), "integer sum")]
    if side.reals:
        kept.append(_counted(len(side.reals), "double-double sum"))
    if side.extremes:
        kept.append(_counted(len(side.extremes), "extreme"))
    by = ["cell", *(["key"] if side.keys else []), *(["group"] if side.groups else [])]
    by += ["carried values"] if side.carried else []
    each = " and ".join([", ".join(by[:-1]), by[-1]]) if len(by) > 1 else by[0]
    return f"an entry per {'row' if layout.on_arrival else each}, with {', '.join(kept)}"


def _equality(members: tuple[Expression, ...]) -> str:
    return " = ".join(expression_text(member) for member in members)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
