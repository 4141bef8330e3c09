"""A logical query as a small tree: what is answered, when, over which join of which windows."""

from joinfold.explain.tree import Tree
from joinfold.logical.expressions import inputs_read
from joinfold.logical.graph import JoinGraph
from joinfold.logical.query import (
    Every,
    Input,
    LogicalQuery,
    OnArrival,
    OnFull,
    OnSlide,
    OnTime,
    OnTrigger,
    OnWindowId,
)
from joinfold.logical.shedding import (
    AllTo,
    Budget,
    Estimating,
    Favouring,
    HoldAvailable,
    HoldBytes,
    HoldRows,
    KeepUp,
    Process,
    Shed,
    percent_text,
)
from joinfold.logical.sql import expression_text, input_text
from joinfold.timetext import duration_text


def query_tree(query: LogicalQuery) -> Tree:
    """The tree of a logical query."""
    facts = [Tree("select " + _outputs(query))]
    if query.having is not None:
        facts.append(Tree("having " + expression_text(query.expanded(query.having))))
    if query.groups:
        facts.append(Tree("group by " + ", ".join(expression_text(group) for group in query.groups)))
    for aggregate in query.aggregates:
        reads = ", ".join(sorted(inputs_read(aggregate))) or "no column"
        facts.append(Tree(f"aggregate {expression_text(aggregate)}, reads {reads}"))
    if query.shed is not None:
        facts.append(Tree(shed_text(query.shed)))
    inputs = tuple(_input_tree(query, input_) for input_ in query.inputs)
    below = (_join_tree(query.graph, inputs),) if len(inputs) > 1 else inputs
    return Tree(_title(query), (*facts, *below))


def shed_text(shed: Shed) -> str:
    """The clause SHED in words, with its defaults."""
    budgets = " and ".join(map(_budget_text, shed.budgets))
    match shed.how:
        case Estimating(sampler=sampler, confidence=confidence):
            sampled = "key or row, as planned" if sampler is None else sampler
            how = f"estimates from a sample by {sampled}, confidence {percent_text(confidence)} percent"
        case Favouring(favour=favour, floors=floors):
            to = f"all to {favour.alias}" if isinstance(favour, AllTo) else favour
            how = f"favours {to}" + "".join(f", at least {floor.lower()} of each" for floor in floors)
    return f"shed to {budgets}; {how}; seed {shed.seed}"


def _budget_text(budget: Budget) -> str:
    match budget:
        case KeepUp(within_us=within_us):
            interval = "the trigger interval" if within_us is None else duration_text(within_us)
            return f"keep up within {interval}"
        case HoldAvailable():
            return "hold what fits into the memory of the workers"
        case Process() | HoldRows() | HoldBytes():
            return budget.to_sql().lower()


def _title(query: LogicalQuery) -> str:
    kind = "Join" if query.is_plain_join else "Answer"
    return f"{kind}: {when_text(query)}" + (", changes only" if query.changes else "")


def when_text(query: LogicalQuery) -> str:
    """When answers are given."""
    match query.sync, query.emit:
        case OnWindowId(modulus=None), _:
            return "for every window id"
        case OnWindowId(modulus=modulus), _:
            return f"for every window id of {query.streams[1].alias}, id mod {modulus} of {query.streams[0].alias}"
        case OnFull(), _:
            return "where all windows move together"
        case OnTime(), None:
            return "each combination once, as soon as it exists"
        case OnTime(), OnSlide():
            return "at every move of a window"
        case OnTime(), Every(period_us=period_us):
            return f"every {duration_text(period_us)}"
        case OnTime(), OnTrigger():
            return "at every advance of the watermark"
        case OnTime(), OnArrival():
            return "at every arrival of a row"


def _outputs(query: LogicalQuery) -> str:
    texts = []
    for output in query.outputs:
        text = expression_text(query.expanded(output.expression))
        texts.append(f"{text} AS {output.name} {output.expression.type}")
    return ", ".join(texts)


def _join_tree(graph: JoinGraph, inputs: tuple[Tree, ...]) -> Tree:
    shape = "one common key" if graph.common_key else "acyclic" if graph.is_acyclic else "cyclic"
    facts = [Tree("key " + " = ".join(expression_text(member) for member in key.members)) for key in graph.keys]
    facts += [
        Tree(
            f"band {expression_text(band.low)} {'<=' if band.low_inclusive else '<'} {expression_text(band.value)} "
            f"{'<=' if band.high_inclusive else '<'} {expression_text(band.high)}"
        )
        for band in graph.bands
    ]
    facts += [
        Tree(f"inequality {expression_text(part.left)} {part.operator} {expression_text(part.right)}")
        for part in graph.inequalities
    ]
    facts += [Tree("residual " + expression_text(part)) for part in graph.residual]
    if graph.keys and any(len(key.inputs) < len(inputs) for key in graph.keys):
        facts.append(Tree(_shape_text(graph)))
    return Tree(
        f"join of {len(inputs)} inputs, {shape}" if graph.keys else "join without an equality",
        (*facts, *inputs),
    )


def _shape_text(graph: JoinGraph) -> str:
    """The join tree of a join over different keys, or why there is none."""
    if graph.tree is not None:
        return "join tree: " + ", ".join(f"{upper} ─ {lower}" for upper, lower in graph.tree)
    if graph.cycle:
        return f"no join tree: the keys of {', '.join(graph.cycle)} form a cycle"
    return "no join tree: equalities do not connect all inputs"


def _input_tree(query: LogicalQuery, input_: Input) -> Tree:
    source = input_.source
    facts = [Tree("reads " + (", ".join(query.columns_read(input_.alias)) or "no column"))]
    facts += [Tree("filter " + expression_text(part)) for part in query.filters(input_.alias)]
    kind = "relation"
    if source.is_stream:
        kind = "stream"
        delay = f", delay {duration_text(source.delay_us)}" if source.delay_us else ""
        idle = f", idle after {duration_text(source.idle_us)}" if source.idle_us is not None else ""
        facts.append(Tree(f"time {source.time or 'of arrival'}{delay}{idle}"))
    return Tree(f"{kind} {input_text(input_)}", tuple(facts))
