"""`Query`: a question to a session, bound when it is first looked at."""

from collections.abc import Mapping
from functools import cached_property

from joinfold.dialect import ParsedQuery, bind
from joinfold.errors import UsageError
from joinfold.logical.query import LogicalQuery, Source
from joinfold.logical.sql import query_text
from joinfold.logical.tree import query_tree
from joinfold.types import Schema

STAGES = ("logical",)


class Query:
    """What a user holds: the logical query, its canonical text and its plans."""

    def __init__(self, parsed: ParsedQuery, catalog: Mapping[str, Source]) -> None:
        self._parsed = parsed
        self._catalog = catalog

    def __repr__(self) -> str:
        return f"<joinfold.Query {' '.join(self.to_sql().split())}>"

    @cached_property
    def logical(self) -> LogicalQuery:
        """The bound query; raises `QueryError` where it has no meaning."""
        return bind(self._parsed, self._catalog)

    @property
    def schema(self) -> Schema:
        """The columns of the answer."""
        return self.logical.schema

    def to_sql(self) -> str:
        """Canonical SQL, which parses to the same logical query."""
        return query_text(self.logical)

    def explain(self, stage: str = "logical") -> str:
        """The query at a stage of its way from text to result, as a small tree."""
        if stage not in STAGES:
            raise UsageError(f"unknown stage '{stage}'", f"the stages are: {', '.join(STAGES)}.")
        return str(query_tree(self.logical))
