"""SHED in a bound query: what its parts mean there, and why a query cannot have it."""

from joinfold.algebra import AGGREGATES
from joinfold.dialect.syntax import ParsedQuery
from joinfold.errors import QueryError, UnknownNameError
from joinfold.logical.query import Input, LogicalQuery, OnArrival
from joinfold.logical.sampling import divided_partitions, every_pair_matches, sampling_keys, shared_keys
from joinfold.logical.shedding import (
    USUAL_CONFIDENCE,
    USUAL_FAVOUR,
    AllTo,
    Estimating,
    Favour,
    Favouring,
    HoldAvailable,
    HoldBytes,
    HoldRows,
    KeepUp,
    Process,
    Shed,
    in_order,
)
from joinfold.names import find_name
from joinfold.window import PartitionedRows

OF_ESTIMATES = {"sampler": "SAMPLE", "confidence": "CONFIDENCE"}
OF_PAIRS = {"favour": "FAVOUR", "least_rows": "AT LEAST", "least_rows_per_second": "AT LEAST"}


def bind_shed(parsed: ParsedQuery, inputs: tuple[Input, ...], aggregated: bool) -> Shed | None:
    """The clause with its defaults: estimates for aggregates, or a division of pairs for a plain join."""
    written = parsed.shed
    if written is None:
        return None
    how: Estimating | Favouring
    if aggregated:
        hint = "SAMPLE, CONFIDENCE and SEED are for aggregates."
        _refuse_parts(parsed, OF_PAIRS, "divides pairs; this query aggregates", hint)
        how = Estimating(written.sampler, float(written.confidence or USUAL_CONFIDENCE))
    else:
        hint = "FAVOUR, AT LEAST and SEED are for plain joins."
        _refuse_parts(parsed, OF_ESTIMATES, "is about estimates; this query has no aggregates", hint)
        how = Favouring(_favour(parsed, inputs), written.least_rows or 0, written.least_rows_per_second or 0)
    return Shed(in_order(written.budgets), how, written.seed or 0)


def _refuse_parts(parsed: ParsedQuery, parts: dict[str, str], reason: str, others: str) -> None:
    for part, words in parts.items():
        if getattr(parsed.shed, part) is not None:
            raise QueryError(f"{words} {reason}", parsed.shed_span(part), f"leave out {words}. {others}")


def _favour(parsed: ParsedQuery, inputs: tuple[Input, ...]) -> Favour | AllTo:
    """The rule of FAVOUR; ALL TO names a stream as FROM spells it."""
    favour = parsed.shed.favour if parsed.shed else None
    if not isinstance(favour, AllTo):
        return favour or USUAL_FAVOUR
    streams = [input_.alias for input_ in inputs if input_.window is not None]
    found = find_name(favour.alias, streams)
    if not found:
        what, at = f"stream '{favour.alias}' in FAVOUR ALL TO", parsed.shed_span("favour")
        raise UnknownNameError(what, favour.alias, streams, at, owner="The query")
    return AllTo(found[0])


def check_shed(query: LogicalQuery, parsed: ParsedQuery) -> None:
    """The query can be estimated from a sample, or divides its budgets among at least two streams."""
    if query.shed is None:
        return
    match query.shed.how:
        case Estimating():
            _check_arrivals(query, query.shed, parsed)
            _check_aggregates(query, parsed)
            _check_key(query, parsed)
            if query.shed.how.sampler == "row":
                _check_rows(query, parsed)
        case Favouring() as favouring:
            _check_floors(query, query.shed, favouring, parsed)
            _check_partitions(query, query.shed, parsed)


def _check_arrivals(query: LogicalQuery, shed: Shed, parsed: ParsedQuery) -> None:
    if not isinstance(query.emit, OnArrival):
        return
    hint = "use EMIT EVERY 5 SECONDS or EMIT ON TRIGGER, or shed only to hold: SHED TO HOLD 64 MEGABYTES."
    for budget in shed.budgets:
        if isinstance(budget, KeepUp | Process):
            what = f"SHED TO {budget.kind} cannot be kept under EMIT ON ARRIVAL, which answers every row"
            raise QueryError(what, parsed.shed_span(budget.kind), hint)


def _check_aggregates(query: LogicalQuery, parsed: ParsedQuery) -> None:
    for aggregate in query.aggregates:
        if not AGGREGATES[aggregate.function].is_estimable:
            word = aggregate.function.upper()
            what = f"{word} cannot be estimated: the sample says nothing about the rows that were shed"
            raise QueryError(what, parsed.span("shed"), f"leave out {word} or SHED.")


def _check_key(query: LogicalQuery, parsed: ParsedQuery) -> None:
    """Some key that two streams share can be sampled."""
    at = parsed.span("shed")
    if len(query.streams) < 2:
        hint = "SAMPLE BY ROW of a single stream is not supported yet. Leave out SHED, or aggregate in Spark."
        raise QueryError("there is no key to sample by: the query reads one stream", at, hint)
    shared = shared_keys(query)
    if not shared:
        first, second, *_ = (input_.alias for input_ in query.streams)
        hint = f"join streams by an equality, such as {first}.key = {second}.key, or leave out SHED."
        raise QueryError("there is no key to sample by: no equality joins two streams", at, hint)
    if not sampling_keys(query):
        alias = divided_partitions(query, shared[0])[0]
        hint = f"add the columns of a join key of '{alias}' to its PARTITION BY, or leave out SHED."
        what = f"a partition must be kept or shed as a whole, but one of '{alias}' may have several keys"
        raise QueryError(what, at, hint)


def _check_rows(query: LogicalQuery, parsed: ParsedQuery) -> None:
    at, hint = parsed.shed_span("sampler"), "use SAMPLE BY KEY, or leave out SAMPLE."
    for input_ in query.streams:
        if isinstance(input_.window, PartitionedRows):
            what = f"a partition must be kept or shed as a whole, but BY ROW divides those of '{input_.alias}'"
            raise QueryError(what, at, hint)
    if not every_pair_matches(query):
        reason = "other conditions also join the streams"
        if any(input_.alias not in key.inputs for key in shared_keys(query) for input_ in query.streams):
            reason = "the streams are joined over several keys"
        raise QueryError(f"BY ROW needs every pair of a key to match, but {reason}", at, hint)


def _check_floors(query: LogicalQuery, shed: Shed, favouring: Favouring, parsed: ParsedQuery) -> None:
    """There are streams to divide a budget among, and the budget is enough for what each gets at least."""
    streams = len(query.streams)
    if streams < 2:
        hint = "leave out SHED, or filter the stream in WHERE."
        raise QueryError("SHED divides pairs of streams, but the query reads one stream", parsed.span("shed"), hint)
    for budget in shed.budgets:
        match budget:
            case HoldRows(rows=most):
                part, least = "least_rows", favouring.least_rows
            case Process(rows_per_second=most):
                part, least = "least_rows_per_second", favouring.least_rows_per_second
            case _:
                continue
        if least * streams > most:
            hint = f"AT LEAST can be {most // streams} here. Lower it, or raise the budget."
            if most < streams:
                hint = "leave out AT LEAST, or raise the budget."
            what = f"AT LEAST needs {least * streams} rows for {streams} streams, more than {budget.to_sql()}"
            raise QueryError(what, parsed.shed_span(part), hint)


def _check_partitions(query: LogicalQuery, shed: Shed, parsed: ParsedQuery) -> None:
    """No budget for memory, if a window has the last rows of each partition: all of them are needed to know these."""
    alias = next((own.alias for own in query.streams if isinstance(own.window, PartitionedRows)), None)
    for budget in shed.budgets:
        if alias is not None and isinstance(budget, HoldRows | HoldBytes | HoldAvailable):
            what = f"SHED TO HOLD cannot be kept: the last rows of each partition of '{alias}' are all needed"
            hint = "use SHED TO KEEP UP or SHED TO PROCESS 50000 ROWS PER SECOND, or leave out SHED."
            raise QueryError(what, parsed.shed_span(budget.kind), hint)
