"""Parameters: ``:name`` in a query stands for a value of Python.

A parameter becomes the tokens of a constant with the value's type, in its place among the tokens of the query. Its text
is never read as SQL, so it cannot change the rest of the query.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from joinfold.dialect.tokens import span_of, token_like, tokenize
from joinfold.errors import QueryError, Span, UsageError, suggestion

Part = tuple[TokenType, str]

TAKES = "a value is None, bool, int, float, Decimal, str, bytes, date, datetime or timedelta"


def with_values(tokens: list[Token], parameters: Mapping[str, object], text: str) -> list[Token]:
    """The tokens with a constant in the place of each parameter."""
    found: list[Token] = []
    used: set[str] = set()
    is_name = False
    for token, following in pairwise([*tokens, None]):
        assert token is not None
        if is_name:
            is_name = False
            continue
        if token.token_type != TokenType.COLON or following is None or following.start != token.end + 1:
            found.append(token)
            continue
        name, is_name, at = following.text, True, span_of([token, following], text)
        if name not in parameters:
            raise _without_value(name, parameters, at)
        used.add(name)
        place = Token(TokenType.COLON, token.text, token.line, token.col, token.start, following.end)
        found += [token_like(place, kind, part) for kind, part in _constant(name, parameters[name], at)]
    for name in parameters:
        if name not in used:
            hint = f"write :{name} where its value belongs, or leave it out."
            raise UsageError(f"the query has no parameter ':{name}'", hint)
    return found


def _without_value(name: str, parameters: Mapping[str, object], at: Span) -> QueryError:
    near = suggestion(name, parameters)
    hint = f"did you mean ':{near}'?" if near else f"give it one: session.sql(text, {name}=…)."
    return QueryError(f"the parameter ':{name}' has no value", at, hint)


def _constant(name: str, value: object, at: Span) -> list[Part]:
    """The tokens of a value. A string is one token, whatever it contains; no other value has text of its own."""
    if isinstance(value, str):
        return [(TokenType.STRING, value)]
    for kind, written in _WRITTEN.items():
        if isinstance(value, kind):
            return [(token.token_type, token.text) for token in tokenize(written(value))]
    raise QueryError(f"the parameter ':{name}' cannot be a {type(value).__name__}", at, f"{TAKES}.")


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _float(value: float) -> str:
    if not math.isfinite(value):
        return f"CAST('{value}' AS DOUBLE)"
    text = repr(value)
    return _signed(text if "e" in text else f"{text}E0")


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise UsageError(f"the decimal {value} has no digits", "give NaN and infinities as float.")
    text = f"{value:f}"
    return _signed(text if "." in text else f"{text}.")


def _timestamp(value: datetime) -> str:
    if value.tzinfo is None:
        return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
    return f"TIMESTAMP '{value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=' ')}'"


def _interval(value: timedelta) -> str:
    microseconds = value // timedelta(microseconds=1)
    return f"INTERVAL '{microseconds}' MICROSECOND"


_WRITTEN: dict[type, Callable[[Any], str]] = {
    type(None): lambda value: "NULL",
    bool: lambda value: str(value).upper(),
    int: lambda value: _signed(str(value)),
    float: _float,
    Decimal: _decimal,
    bytes: lambda value: f"X'{value.hex()}'",
    datetime: _timestamp,
    date: lambda value: f"DATE '{value.isoformat()}'",
    timedelta: _interval,
}
"""How the constants of each type are written. A type comes before those that it is a kind of."""
