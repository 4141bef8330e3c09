"""A physical plan as a small tree: the stages that rows go through, from the answer down to the streams."""

from joinfold.logical.expressions import Expression
from joinfold.logical.sql import expression_text, input_text
from joinfold.logical.tree import Tree, when_text
from joinfold.operators.choice import SUMS
from joinfold.operators.layout import FoldLayout, InputLayout
from joinfold.operators.probing import steps_from
from joinfold.planner.plan import PhysicalPlan
from joinfold.timetext import duration_text


def plan_tree(plan: PhysicalPlan) -> Tree:
    """SELECT over HAVING over MERGE over FOLD over the PACK of each input."""
    query = plan.query
    tree = Tree(_merge_text(plan), (_fold_tree(plan),))
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
    classes = [query.graph.keys[number].members for number in sorted(layout.bucket_classes)]
    loose = [members for members in classes if not set(query.groups) & set(members)]
    keys = " and ".join(_equality(members) for members in loose) or "the bucket"
    return f"MERGE, stateless: adds the parts of a group by bucket, since GROUP BY does not determine {keys}"


def _fold_tree(plan: PhysicalPlan) -> Tree:
    query, layout = plan.query, plan.layout
    keys = ", ".join(_equality(query.graph.keys[number].members) for number in sorted(layout.bucket_classes))
    replicated = [input_.alias for place, input_ in enumerate(query.inputs) if layout.is_replicated(place)]
    title = f"FOLD per bucket of the join key {keys}" if keys else "FOLD in one bucket"
    if not keys and layout.is_distributed:
        title = f"FOLD per bucket of the values of {query.inputs[0].alias}"
    title += f"; every bucket has all of {' and '.join(replicated)}" if replicated else ""
    facts = [Tree("answers " + when_text(query)), *_method_trees(plan), *_window_trees(plan)]
    packs = [_pack_tree(plan, place) for place in range(len(plan.frames))]
    return Tree(title, (*facts, *packs))


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
    return [*trees, Tree(f"TC over leaving times: {extremes}")] if extremes else trees


def _window_trees(plan: PhysicalPlan) -> list[Tree]:
    """How each window is kept in memory, and how combinations are found where they are looked for."""
    query, layout, choice = plan.query, plan.layout, plan.choice
    if choice.is_fused:
        return [Tree("windows: a hashed aggregation set of each input, multiplied as keys are found")]
    if SUMS in choice.indexes:
        (join,) = layout.combining.ranges
        value, bounds = query.inputs[join.value_place].alias, query.inputs[join.bound_place].alias
        return [Tree(f"windows: sums in the order of values of {value} and of bounds of {bounds}, range by range")]
    windows = []
    for place, input_ in enumerate(query.inputs):
        kept = "entries aggregated" if place in choice.early and not layout.is_plain else "entries kept apart"
        windows.append(Tree(f"window of {input_.alias}: {choice.indexes[place]}, {kept}"))
    return [*windows, *(_probe_tree(plan, place) for place in range(len(query.inputs)) if len(query.inputs) > 1)]


def _probe_tree(plan: PhysicalPlan, first: int) -> Tree:
    query, layout = plan.query, plan.layout
    steps = []
    for step in steps_from(layout, plan.choice.order, first):
        found = ["key"] if step.classes else []
        found += ["range"] if step.range is not None else []
        checks = len(step.conditions) + max(0, len(step.checked) - 1)
        by = f" by {' and '.join(found)}" if found else ", all"
        by += f", then {_counted(checks, 'condition')}" if checks else ""
        steps.append(query.inputs[step.place].alias + by)
    return Tree(f"an entry of {query.inputs[first].alias} probes {'; '.join(steps)}")


def _pack_tree(plan: PhysicalPlan, place: int) -> Tree:
    frame, side = plan.frames[place], plan.layout.inputs[place]
    columns = ["ts"]
    if frame.keep is not None:
        columns.append(f"keep = {expression_text(frame.keep)}")
    columns += [f"{name} = {expression_text(expression)}" for name, expression in frame.columns]
    projected = Tree("Spark projects " + ", ".join(columns), (Tree("stream " + input_text(frame.input)),))
    return Tree(
        f"PACK {frame.input.alias}: {_cut_text(plan.layout, place)}",
        (Tree(f"in state: {_entry_text(plan.layout, side)}"), projected),
    )


def _cut_text(layout: FoldLayout, place: int) -> str:
    if layout.on_arrival:
        return "row by row, since every row is answered"
    cell = duration_text(layout.timeline.cell_us(place))
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
