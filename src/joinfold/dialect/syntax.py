"""The parsed query: what the text, or the builder, says, before any name is looked up."""

from dataclasses import dataclass

from joinfold.dialect.tokens import Fragment
from joinfold.errors import Span
from joinfold.logical.expressions import Value
from joinfold.logical.query import Emit, Sync
from joinfold.window import Window


@dataclass(frozen=True, slots=True)
class ParsedInput:
    """An entry of FROM; ``span`` is the place of its name."""

    name: str
    alias: str | None
    window: Window | None
    span: Span
    alias_span: Span | None = None
    window_span: Span | None = None


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """All clauses of a query; the conjuncts of WHERE may come from several fragments."""

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
        """Where a clause stands, if the query has a text."""
        return dict(self.spans).get(clause)
