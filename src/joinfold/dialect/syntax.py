"""The parsed query: the clauses as written in the text or built by the builder, before any name is resolved."""

from dataclasses import dataclass

from joinfold.dialect.tokens import Fragment
from joinfold.errors import Span
from joinfold.logical.expressions import Value
from joinfold.logical.query import Emit, Sync
from joinfold.logical.shedding import AllTo, Budget, Favour, Sampler, check_amount, check_confidence, check_seed
from joinfold.window import Window


@dataclass(frozen=True, slots=True)
class ParsedInput:
    """An input in FROM; ``span`` is where its name is written."""

    name: str
    alias: str | None
    window: Window | None
    span: Span
    alias_span: Span | None = None
    window_span: Span | None = None


@dataclass(frozen=True, slots=True)
class ParsedUsing:
    """A column of JOIN … USING: the input with this ordinal has it in common with an earlier input."""

    ordinal: int
    column: str
    span: Span


@dataclass(frozen=True, slots=True)
class ParsedShed:
    """The clause SHED; a part is None if it is not written. The binder decides which parts the query may have."""

    budgets: tuple[Budget, ...]
    sampler: Sampler | None = None
    confidence: float | None = None
    favour: Favour | AllTo | None = None
    least_rows: int | None = None
    least_rows_per_second: int | None = None
    seed: int | None = None
    spans: tuple[tuple[str, Span], ...] = ()

    def __post_init__(self) -> None:
        for rows in (self.least_rows, self.least_rows_per_second):
            if rows is not None:
                check_amount("the number of AT LEAST", rows)
        if self.confidence is not None:
            check_confidence(self.confidence)
        if self.seed is not None:
            check_seed(self.seed)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """All clauses of a query. ON, WHERE and HAVING may have several fragments, which must all be true."""

    select: tuple[Fragment, ...]
    inputs: tuple[ParsedInput, ...]
    using: tuple[ParsedUsing, ...] = ()
    on: tuple[Fragment, ...] = ()
    where: tuple[Fragment, ...] = ()
    group_by: tuple[Fragment, ...] = ()
    having: tuple[Fragment, ...] = ()
    emit: Emit | None = None
    changes: bool | None = None
    sync: Sync | None = None
    shed: ParsedShed | None = None
    options: tuple[tuple[str, Value], ...] = ()
    spans: tuple[tuple[str, Span], ...] = ()

    def span(self, clause: str) -> Span | None:
        """Where a clause is written; None if the query was not written as text or lacks the clause."""
        return dict(self.spans).get(clause)

    def shed_span(self, part: str) -> Span | None:
        """Where a part of SHED is written, by its field or the kind of its budget; or else the whole clause."""
        return dict(self.shed.spans if self.shed else ()).get(part, self.span("shed"))
