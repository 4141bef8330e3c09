"""A physical plan as a small tree: the stages that rows go through, from the answer down to the streams."""

from joinfold.logical.expressions import Expression
from joinfold.logical.query import LogicalQuery
from joinfold.logical.sql import expression_text, input_text
from joinfold.logical.tree import Tree, when_text
from joinfold.operators.layout import FoldLayout, InputLayout
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
    query = plan.query
    if not plan.merges:
        return "no MERGE: GROUP BY determines every join key, so a group is in one bucket; totals become aggregates"
    if not query.graph.keys:
        return "MERGE, stateless: one bucket, since there is no join key to distribute by; totals become aggregates"
    if not query.groups:
        return "MERGE, stateless: adds the parts of the one group that is in every bucket"
    loose = [key.members for key in query.graph.keys if not set(query.groups) & set(key.members)]
    keys = " and ".join(_equality(members) for members in loose)
    return f"MERGE, stateless: adds the parts of a group by bucket, since GROUP BY does not determine {keys}"


def _fold_tree(plan: PhysicalPlan) -> Tree:
    query, layout = plan.query, plan.layout
    keys = ", ".join(_equality(key.members) for key in query.graph.keys)
    title = f"FOLD per bucket of the join key {keys}" if keys else "FOLD in one bucket"
    facts = [Tree("answers " + when_text(query)), *_method_trees(query, layout)]
    packs = [_pack_tree(plan, place) for place in range(len(plan.frames))]
    return Tree(title, (*facts, *packs))


def _method_trees(query: LogicalQuery, layout: FoldLayout) -> list[Tree]:
    """Sums subtract what leaves; extremes do not subtract, and are charged to what leaves first."""
    named = [
        (expression_text(aggregate), column.extreme is None)
        for aggregate, column in zip(query.aggregates, layout.aggregates, strict=True)
    ]
    sums = [text for text, is_sum in named if is_sum]
    products = [_counted(len(layout.integer_products), "integer product")]
    if layout.real_products:
        products.append(_counted(len(layout.real_products), "double-double product"))
    trees = [Tree(f"IC over sums: {', '.join(sums) or 'which groups exist'}; {' and '.join(products)}")]
    extremes = [text for text, is_sum in named if not is_sum]
    return [*trees, Tree(f"TC over leaving times: {', '.join(extremes)}")] if extremes else trees


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
    each = " and ".join([", ".join(by[:-1]), by[-1]]) if len(by) > 1 else by[0]
    return f"an entry per {'row' if layout.on_arrival else each}, with {', '.join(kept)}"


def _equality(members: tuple[Expression, ...]) -> str:
    return " = ".join(expression_text(member) for member in members)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
