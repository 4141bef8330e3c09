"""The parsed query: the clauses as written in the text or built by the builder, before any name is resolved."""

from dataclasses import dataclass

from joinfold.dialect.tokens import Fragment
from joinfold.errors import Span
from joinfold.logical.expressions import Value
from joinfold.logical.query import Emit, Sync
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
class ParsedQuery:
    """All clauses of a query. The builder may give several fragments for WHERE and HAVING; all must be true."""

    select: tuple[Fragment, ...]
    inputs: tuple[ParsedInput, ...]
    where: tuple[Fragment, ...] = ()
    group_by: tuple[Fragment, ...] = ()
    having: tuple[Fragment, ...] = ()
    emit: Emit | None = None
    changes: bool | None = None
    sync: Sync | None = None
    options: tuple[tuple[str, Value], ...] = ()
    spans: tuple[tuple[str, Span], ...] = ()

    def span(self, clause: str) -> Span | None:
        """Where a clause is written; None if the query was not written as text or lacks the clause."""
        return dict(self.spans).get(clause)
