"""Tokens and expression trees from sqlglot, by Spark's lexical rules.

`dialect.grammar` reads the statement token by token. sqlglot parses only the expressions, and its knowledge of
functions is switched off: the binder gets the names as written, with their positions in the text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from joinfold.errors import QueryError, Span, UsageError

TYPES = (
    "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, "
    "DECIMAL(p, s)"
)
OPENING = {TokenType.L_PAREN: ")", TokenType.L_BRACKET: "]", TokenType.L_BRACE: "}"}
CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}


class _Expressions(Spark):
    """Spark's expressions, without sqlglot's knowledge of functions."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens; inside quotes, a doubled quote means one quote, as in SQL."""

        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    class Parser(SparkParser):
        """Spark's operators; CAST is the only function with a special syntax.

        sqlglot records the positions of words. The methods below record those of calls, parentheses and intervals.
        """

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CAST": SparkParser.FUNCTION_PARSERS["CAST"]}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        STRICT_CAST: ClassVar[bool] = True

        def _parse_function(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            return self._placed(self._curr, super()._parse_function(*args, **kwargs))

        def _parse_paren(self) -> exp.Expr | None:
            return self._placed(self._curr, super()._parse_paren())

        def _parse_interval(self, *args: Any, **kwargs: Any) -> Any:
            return self._placed(self._curr, super()._parse_interval(*args, **kwargs))

        def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
            if isinstance(this, exp.Anonymous):  # before FILTER or OVER, if any
                this.meta["end"] = self._prev.end
            return super()._parse_window(this, alias)

        def _warn_unsupported(self) -> None:
            self.raise_error("Not an expression")  # sqlglot itself would log a warning and parse a command

        def _placed(self, first: Token, node: exp.Expr | None) -> exp.Expr | None:
            if node is not None:
                node.meta.update(start=first.start, end=self._prev.end)
            return node


_DIALECT = _Expressions()


@dataclass(frozen=True, slots=True)
class Fragment:
    """An expression tree of sqlglot, with the text that it was parsed from."""

    tree: exp.Expr
    span: Span

    def named(self, name: str) -> "Fragment":
        """The expression with an alias."""
        return Fragment(exp.alias_(self.tree, name, quoted=True), self.span)

    @property
    def is_star(self) -> bool:
        """Whether it is ``*`` or ``alias.*``, without EXCEPT or the like."""
        star = self.tree.this if isinstance(self.tree, exp.Column) else self.tree
        return isinstance(star, exp.Star) and not any(star.args.values())

    @property
    def name_span(self) -> Span:
        """The span of the alias, or of the whole fragment if it has none."""
        alias = self.tree.args.get("alias") if isinstance(self.tree, exp.Alias) else None
        return self.span if alias is None else self.span_of(alias)

    def span_of(self, node: exp.Expr) -> Span:
        """The span of a node, from the first to the last word with a known position, or else the whole fragment."""
        placed = [part.meta for part in node.walk() if "start" in part.meta]
        if not placed:
            return self.span
        start, end = min(meta["start"] for meta in placed), max(meta["end"] for meta in placed) + 1
        return Span(self.span.text, start, end)


def tokenize(text: str) -> list[Token]:
    """The tokens of a query, without comments."""
    try:
        return _DIALECT.tokenize(text)
    except TokenError as error:
        raise _token_error(text) from error


def token_like(place: Token, token_type: TokenType, text: str) -> Token:
    """A token in the place of another: errors point there."""
    return Token(token_type, text, place.line, place.col, place.start, place.end)


def span_of(tokens: Sequence[Token], text: str) -> Span:
    """The span from the first token to the last."""
    return Span(text, tokens[0].start, tokens[-1].end + 1)


def parse_expression(tokens: Sequence[Token], text: str) -> Fragment:
    """Parses one expression, possibly with an alias, from a slice of a query's tokens."""
    span = span_of(tokens, text)
    try:
        trees = _DIALECT.parser().parse_into(exp.Expr, list(tokens), text)
    except ParseError as error:
        raise _explained(error, tokens, text) from error
    except RecursionError as error:
        raise QueryError("this expression is nested too deeply", span) from error
    match trees:
        case [exp.Expr() as tree]:
            return Fragment(_with_calls_of_any(tree), span)
        case _:
            raise QueryError("this is not an expression", span)


def _with_calls_of_any(tree: exp.Expr) -> exp.Expr:
    """The tree with each ANY(x) as a call, unless it is the right side of a comparison, as sqlglot assumes."""
    for node in list(tree.find_all(exp.Any)):
        inner, is_compared = node.this, isinstance(node.parent, exp.Predicate) and node.arg_key == "expression"
        if is_compared or not isinstance(inner, exp.Paren | exp.Tuple):
            continue
        arguments = [inner.this] if isinstance(inner, exp.Paren) else inner.expressions
        call = exp.Anonymous(this="ANY", expressions=arguments)
        placed = [part.meta for part in (node, node.parent, inner) if part is not None and "start" in part.meta]
        if placed:
            call.meta.update(start=placed[0]["start"], end=max(meta["end"] for meta in (placed[0], inner.meta)))
        tree = call if node is tree else tree
        node.replace(call)
    return tree


def parse_type(tokens: Sequence[Token], text: str) -> exp.Expr | None:
    """The type that the tokens name; None if they do not name exactly one type."""
    try:
        (tree,) = _DIALECT.parser().parse_into(exp.DataType, list(tokens), text)
    except ParseError:
        return None
    return tree


def read_expression(text: str) -> Fragment:
    """Parses a text that consists of one expression."""
    if not isinstance(text, str):
        raise UsageError(f"an expression is a text, not {text!r}", "write it as in SQL, such as 'price * 2 > 5'.")
    tokens = tokenize(text)
    if not tokens:
        raise QueryError("an expression is empty", hint="write one, such as 'price * 2'.")
    return parse_expression(tokens, text)


def _explained(error: ParseError, tokens: Sequence[Token], text: str) -> QueryError:
    """The error of sqlglot as one that does not mention sqlglot's internals."""
    detail = error.errors[0]
    place = (detail["line"], detail["col"])
    token = next((token for token in tokens if (token.line, token.col) == place), tokens[-1])
    at = span_of([token], text)
    description = str(detail["description"])
    if description.startswith("Required keyword"):
        return QueryError(f"something is missing after '{at.words}'", at)
    if description.startswith("Expecting "):
        return QueryError(f"expected '{description.removeprefix('Expecting ')}' after '{at.words}'", at)
    if description.startswith("Expected END"):
        return QueryError("this CASE has no END", at, "write CASE WHEN … THEN … ELSE … END.")
    if description.startswith(("Expected TYPE", "Expected type")):
        return QueryError(f"unknown type '{at.words}'", at, f"the types are {TYPES}.")
    if description.startswith("Expected AS after CAST"):
        return QueryError("this CAST has no type", at, "write CAST(… AS type).")
    return QueryError(f"unexpected '{at.words}'", at)


def _token_error(text: str) -> QueryError:
    """The error for a text without valid tokens: a quote or comment is not closed, or X'…' is not hexadecimal."""
    opened, position, depth = 0, 0, 0
    closing: str | None = None
    while position < len(text):
        pair = text[position : position + 2]
        if closing is None:
            opened = position
            closing = {"--": "\n", "/*": "*/"}.get(pair) or (pair[0] if pair[0] in "'\"`" else None)
            position += len(closing) if closing == "*/" else 1
        elif pair[0] == "\\" and closing in "'\"":
            position += 2
        elif pair == "/*" == closing[::-1]:  # comments nest
            position += 2
            depth += 1
        elif text.startswith(closing, position):
            position += len(closing)
            closing = None if depth == 0 else closing
            depth = max(depth - 1, 0)
        else:
            position += 1
    if closing is None:
        wrong = re.search(r"\bx(['\"])(?![0-9a-f]*\1).*?\1", text, flags=re.IGNORECASE | re.DOTALL)
        at = Span(text, *wrong.span()) if wrong else None
        return QueryError("a binary constant may contain hexadecimal digits only", at, "write it as X'1F00'.")
    at = Span(text, opened, opened + len(text[opened : opened + 12].split("\n")[0]))
    if closing == "*/":
        return QueryError("a comment is not closed", at, "close it with */.")
    return QueryError("a string or quoted name is not closed", at, "add the closing quote.")
