"""From text to logical query. Only this package imports sqlglot."""

from joinfold.dialect.bind import bind
from joinfold.dialect.grammar import parse
from joinfold.dialect.schema import read_schema
from joinfold.dialect.syntax import ParsedInput, ParsedQuery, ParsedShed
from joinfold.dialect.tokens import Fragment, read_expression

__all__ = ["Fragment", "ParsedInput", "ParsedQuery", "ParsedShed", "bind", "parse", "read_expression", "read_schema"]
