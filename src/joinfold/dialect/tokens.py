"""Tokens and expression trees from sqlglot, in Spark's lexical rules.

The statement is read by `dialect.grammar`, token by token; sqlglot's parser is asked for expressions only, with
every function left as it was called, so that names and places in the text survive for the binder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from joinfold.errors import QueryError, Span

OPENING = {TokenType.L_PAREN: ")", TokenType.L_BRACKET: "]", TokenType.L_BRACE: "}"}
CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}


class _Expressions(Spark):
    """Spark's expressions without sqlglot's own knowledge of functions."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens; a doubled quote stands for itself, as in SQL."""

        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    class Parser(SparkParser):
        """Spark's operators; CAST is the only function with a syntax of its own."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CAST": SparkParser.FUNCTION_PARSERS["CAST"]}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        STRICT_CAST: ClassVar[bool] = True


_DIALECT = _Expressions()


@dataclass(frozen=True, slots=True)
class Fragment:
    """An expression tree of sqlglot's with the text it was read from."""

    tree: exp.Expr
    span: Span

    def named(self, name: str) -> "Fragment":
        """The expression with an alias."""
        return Fragment(exp.alias_(self.tree, name, quoted=True), self.span)

    def span_of(self, node: exp.Expr) -> Span:
        """The text of a node: from its first word to its last that have a place; else the whole fragment."""
        placed = [part.meta for part in node.walk() if "start" in part.meta]
        if not placed:
            return self.span
        start, end = min(meta["start"] for meta in placed), max(meta["end"] for meta in placed) + 1
        return Span(self.span.text, start, end)


def tokenize(text: str) -> list[Token]:
    """The tokens of a query; comments are gone."""
    try:
        return _DIALECT.tokenize(text)
    except TokenError as error:
        at = _unclosed_quote(text)
        raise QueryError("a string or quoted name does not end", at, "close the quote.") from error


def span_of(tokens: Sequence[Token], text: str) -> Span:
    """The text from the first token to the last."""
    return Span(text, tokens[0].start, tokens[-1].end + 1)


def parse_expression(tokens: Sequence[Token], text: str) -> Fragment:
    """One expression, possibly with an alias, from a slice of a query's tokens."""
    span = span_of(tokens, text)
    try:
        trees = _DIALECT.parser().parse(list(tokens), text)
    except ParseError as error:
        raise QueryError(*_explained(error, span)) from error
    tree = trees[0]
    if tree is None or len(trees) != 1:
        raise QueryError("this is not an expression", span)
    return Fragment(tree, span)


def read_expression(text: str) -> Fragment:
    """One expression from a text of its own."""
    tokens = tokenize(text)
    if not tokens:
        raise QueryError("an expression is empty", hint="write one, such as 'price * 2'.")
    return parse_expression(tokens, text)


def _explained(error: ParseError, span: Span) -> tuple[str, Span]:
    detail = error.errors[0]
    line_start = 0
    for _ in range((detail["line"] or 1) - 1):
        line_start = span.text.index("\n", line_start) + 1
    highlight = detail["highlight"] or " "
    end = line_start + (detail["col"] or 1)
    start = max(end - len(highlight), 0)
    description = str(detail["description"])
    if description.startswith("Required keyword"):
        message = f"something is missing after '{highlight}'"
    elif description.startswith("Expecting"):
        message = f"expected '{description.removeprefix('Expecting ')}' after '{highlight}'"
    else:
        message = f"unexpected '{highlight}'"
    return message, Span(span.text, start, end)


def _unclosed_quote(text: str) -> Span:
    quote: str | None = None
    opened = position = 0
    while position < len(text):
        char = text[position]
        if quote is None and char in "'\"`":
            quote, opened = char, position
        elif quote is not None and char == "\\" and quote != "`":
            position += 1
        elif char == quote:
            quote = None
        position += 1
    return Span(text, opened, min(opened + 12, len(text)))
