"""Durations in a query: ``10 SECONDS``, ``10s``, ``1h30m`` or ``INTERVAL '10' SECOND``.

sqlglot's tokens follow Spark's rules for numbers, where ``10s`` is a SMALLINT and ``1h30m`` a name. `spelled_out` gives
all of them the form ``10 s``: a number, then its unit.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from sqlglot.tokenizer_core import Token, TokenType

from joinfold.dialect.tokens import span_of, token_like
from joinfold.errors import QueryError, UsageError, keyword_hint
from joinfold.timetext import duration_text, duration_us

_SHORT = re.compile(r"([0-9.]+[A-Za-z]+)+")
_BEFORE_TIMES = ("TIMESTAMP", "START", "FROM")
_NUMBER_OR_UNIT = re.compile(r"[0-9.]+|[A-Za-z]+")


def spelled_out(tokens: Sequence[Token], text: str) -> list[Token]:
    """The tokens with short durations and intervals as numbers and units. Other tokens stay as they are."""
    found: list[Token] = []
    for (start, end), group in groupby(tokens, lambda token: (token.start, token.end)):
        own, written = list(group), text[start : end + 1]
        is_short = own[0].token_type in (TokenType.NUMBER, TokenType.VAR) and _SHORT.fullmatch(written)
        found += _numbers_and_units(own[0], written) if is_short else own
    return list(_without_interval(found, text))


def _numbers_and_units(place: Token, written: str) -> list[Token]:
    """``1h30m`` as ``1 h 30 m``."""
    return [
        token_like(place, TokenType.VAR if part.isalpha() else TokenType.NUMBER, part)
        for part in _NUMBER_OR_UNIT.findall(written)
    ]


def _without_interval(tokens: list[Token], text: str) -> Iterator[Token]:
    """``INTERVAL '10' MINUTE`` and ``'10 minutes'`` without the word and the quotes. Timestamps keep theirs."""
    before = ""
    for token in tokens:
        if token.token_type == TokenType.STRING and before not in _BEFORE_TIMES:
            for part in _quoted(token, text).split():
                kind = TokenType.NUMBER if part.isdecimal() else TokenType.DASH if part == "-" else TokenType.VAR
                yield token_like(token, kind, part)
        elif token.token_type != TokenType.INTERVAL:
            yield token
        before = token.text.upper()


def _quoted(token: Token, text: str) -> str:
    """The number or the duration inside quotes. Nothing else may be there, such as a slide."""
    number = re.fullmatch(r"\s*(-?)\s*([0-9]+)\s*", token.text)
    if number is not None:
        return f"{number[1]} {number[2]}"
    try:
        return duration_text(duration_us(token.text))
    except UsageError as error:
        raise QueryError(error.message, span_of([token], text), error.hint) from error


def read_duration(
    tokens: Sequence[Token], text: str, what: str, following: tuple[str, ...], units: tuple[str, ...] = ("SECOND",)
) -> int:
    """The microseconds of a positive duration such as ``10 SECONDS``.

    Errors call the duration ``what``, suggest ``units`` where there is none, and name the keywords that may follow.
    """
    span = span_of(tokens, text)
    tokens = spelled_out(tokens, text)
    words = " ".join(token.text for token in tokens)
    if not tokens:
        raise QueryError(f"{what} is missing", span, "write INTERVAL '10' MINUTE or 10 MINUTE.")
    if tokens[0].token_type == TokenType.DASH or all(token.text == "0" for token in tokens[::2]):
        raise QueryError(f"{what} must be positive, not '{span.words}'", span)
    if len(tokens) == 1 and is_number(tokens[0]):
        raise QueryError(f"{what} needs a unit", span, f"write {' or '.join(f'{words} {unit}' for unit in units)}.")
    for token in tokens[2::2]:  # 1 HOUR 30 MINUTES is a duration, 1 HOUR SLIDING 30 MINUTES is not
        if not is_number(token):
            keywords = f"{', '.join(following[:-1])} or {following[-1]}"
            hint = f"write a duration as numbers and units, such as 1 HOUR 30 MINUTE. {keywords} may follow it."
            at = span_of([token], text)
            raise QueryError(f"unexpected '{token.text}'", at, keyword_hint(token.text, following, hint))
    try:
        return duration_us(words)
    except UsageError as error:
        raise QueryError(error.message, span, error.hint) from error


def is_number(token: Token) -> bool:
    """Whether a token is a number without a sign."""
    return token.token_type == TokenType.NUMBER
