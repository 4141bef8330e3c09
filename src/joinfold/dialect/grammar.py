"""The grammar of a query: SELECT … FROM inputs with windows …, and EMIT, SNAPSHOT or CHANGES, SYNC, SHED and OPTION.

A hand-written recursive-descent parser over sqlglot's tokens. The clauses after HAVING may come in any order, each at
most once.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from joinfold.dialect.durations import read_duration
from joinfold.dialect.parameters import with_values
from joinfold.dialect.reader import CLAUSES, REFUSED, TRAILING, TokenReader
from joinfold.dialect.refusals import NO_SUBQUERY
from joinfold.dialect.shedding import read_shed
from joinfold.dialect.syntax import ParsedInput, ParsedQuery, ParsedUsing
from joinfold.dialect.tokens import CLOSING, OPENING, Fragment, parse_expression, span_of, tokenize
from joinfold.dialect.windows import parse_window
from joinfold.errors import QueryError, Span, UsageError, keyword_hint
from joinfold.logical.expressions import Value
from joinfold.logical.query import (
    Emit,
    Every,
    OnArrival,
    OnFull,
    OnSlide,
    OnTime,
    OnTrigger,
    OnWindowId,
    Sync,
)

JOINS = ("JOIN", "INNER", "ON", "USING")
"""The words that may follow an input in FROM."""

ORDER = (
    "the clauses are, in order: SELECT, FROM, WHERE, GROUP BY, HAVING; "
    "then EMIT, SNAPSHOT or CHANGES, SYNC, SHED, OPTION."
)


def parse(text: str, parameters: Mapping[str, object] | None = None) -> ParsedQuery:
    """Parses a query, with the values of its parameters; raises `QueryError` with the place of the first mistake."""
    if not isinstance(text, str):
        raise UsageError(f"a query is a text, not {type(text).__name__}", 'write session.sql("SELECT …").')
    return _Statement(text, parameters or {}).read()


class _Statement(TokenReader):
    """A query, read from its first token to its last."""

    def __init__(self, text: str, parameters: Mapping[str, object]) -> None:
        super().__init__(text, with_values(tokenize(text), parameters, text))
        while self.tokens and self.tokens[-1].token_type == TokenType.SEMICOLON:
            self.tokens.pop()
        self._check_statements()
        self._check_brackets()

    def read(self) -> ParsedQuery:
        """Reads the whole statement."""
        if not self.tokens:
            hint = "write SELECT … FROM stream [window], …"
            raise QueryError("the query is empty", hint=hint)
        if self.word() == "WITH":
            raise self.error("subqueries are not supported", NO_SUBQUERY)
        if self.word() != "SELECT":
            hint = "write SELECT … FROM stream [window], …; where the answers go is the sink of start."
            if self.text.strip().endswith(".sql"):
                hint = f"if that is a file, give its text: session.sql(Path('{self.text.strip()}').read_text())."
            raise self.error(f"a query begins with SELECT, not '{self.here().text}'", hint)
        self.next()
        if self.word() == "DISTINCT":
            self.refuse()
        select = self.expressions("SELECT")
        self.expect("FROM", "after the SELECT list")
        inputs, using, on = self.inputs()
        where = self.condition("WHERE")
        group_by = self.expressions("GROUP BY") if self.accept("GROUP BY") else ()
        having = self.condition("HAVING")
        return self.trailing_clauses(ParsedQuery(select, inputs, using, on, where, group_by, having))

    def _check_statements(self) -> None:
        for token, following in pairwise(self.tokens):
            if token.token_type == TokenType.SEMICOLON:
                at = span_of([following], self.text)
                raise QueryError("a second query begins here", at, "give one query at a time.")

    def _check_brackets(self) -> None:
        opened: list[Token] = []
        for token in self.tokens:
            if token.token_type in OPENING:
                opened.append(token)
            elif token.token_type in CLOSING:
                at = span_of([token], self.text)
                if not opened:
                    raise QueryError(f"'{token.text}' has no opening bracket", at)
                expected = OPENING[opened[-1].token_type]
                if expected != token.text:
                    raise QueryError(f"'{opened[-1].text}' is closed by '{token.text}'", at, f"write '{expected}'.")
                opened.pop()
        if opened:
            closing = OPENING[opened[-1].token_type]
            at = span_of([opened[-1]], self.text)
            raise QueryError(f"this bracket is never closed: expected '{closing}'", at)

    # --- clauses --------------------------------------------------------------------------------------------

    def expressions(self, clause: str) -> tuple[Fragment, ...]:
        """Reads expressions separated by commas, up to the next clause."""
        found = [self.expression(clause)]
        while self.accept(","):
            found.append(self.expression(clause))
        return tuple(found)

    def condition(self, clause: str) -> tuple[Fragment, ...]:
        """Reads a clause with one condition, if it is next."""
        found = self.expressions(clause) if self.accept(clause) else ()
        if len(found) > 1:
            raise QueryError(f"{clause} takes one condition", found[1].span, "combine conditions with AND.")
        return found

    def inputs(self) -> tuple[tuple[ParsedInput, ...], tuple[ParsedUsing, ...], tuple[Fragment, ...]]:
        """``input, input JOIN input ON condition JOIN input USING (column, …)``: the inputs, and what joins them."""
        inputs, using, conditions = [self.input()], list[ParsedUsing](), list[Fragment]()
        while True:
            if self.accept(","):
                inputs.append(self.input())
                continue
            if self.accept("INNER"):
                self.expect("JOIN", "after INNER")
            elif not self.accept("JOIN"):
                return tuple(inputs), tuple(using), tuple(conditions)
            inputs.append(self.input())
            if self.accept("USING"):
                using += self.using(len(inputs) - 1)
            else:
                hint = "write JOIN b [window] ON a.key = b.key, or USING (key)."
                self.expect("ON", "after JOIN and its input", hint, others=("USING",))
                conditions.append(self.expression("ON", JOINS))

    def using(self, ordinal: int) -> list[ParsedUsing]:
        """``(column, …)``."""
        hint = "write USING (key)."
        self.expect("(", "after USING", hint)
        found: list[ParsedUsing] = []
        while True:
            start = self.at
            column = self.name("the name of a column")
            found.append(ParsedUsing(ordinal, column, self.since(start)))
            if self.accept(")"):
                return found
            self.expect(",", "between columns", hint)

    def expression(self, clause: str, ends: tuple[str, ...] = ()) -> Fragment:
        """Reads the tokens up to the next comma, clause or word of ``ends`` outside brackets as one expression."""
        start, depth = self.at, 0
        while not self.ended():
            token = self.here()
            after_dot = self.at > start and self.tokens[self.at - 1].token_type == TokenType.DOT
            if depth == 0 and not after_dot:
                called = self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].token_type == TokenType.L_PAREN
                if self.word() in (",", *CLAUSES, *ends):
                    break
                if self.word() in REFUSED and not called:
                    self.refuse()
            depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
            self.at += 1
        if self.at == start:
            is_ours = self.word() in TRAILING
            hint = f"put the name of a column in backticks: `{self.here().text}`." if is_ours else None
            raise self.error(f"{clause} needs an expression here", hint)
        return parse_expression(self.tokens[start : self.at], self.text)

    def input(self) -> ParsedInput:
        """``name [[AS] alias] [window] [[AS] alias]``."""
        start = self.at
        name = self.name("a stream or relation")
        while self.accept("."):
            name += "." + self.name("the rest of the name")
        span = self.since(start)
        alias, alias_span = self.alias()
        window = window_span = None
        if self.word() == "[":
            opened = self.at
            while self.word() != "]":
                self.next()
            self.next()
            window_span = self.since(opened)
            window = parse_window(self.tokens[opened + 1 : self.at - 1], window_span)
            second, second_span = self.alias()
            if alias is not None and second is not None:
                hint = "write one alias, before the window or after it."
                raise QueryError(f"this input has two aliases, '{alias}' and '{second}'", second_span, hint)
            alias, alias_span = alias or second, alias_span or second_span
        return ParsedInput(name, alias, window, span, alias_span, window_span)

    def alias(self) -> tuple[str | None, Span | None]:
        """``[AS] name`` and where it is written, if it is next."""
        stops = (*CLAUSES, *REFUSED, *JOINS, ",", "[", ".", "WITH")
        if self.word() == "(":
            hint = "write the stream and then its window in square brackets: bids b [1 HOUR SLIDE 1 MINUTE]."
            raise self.error("functions and round brackets are not supported in FROM", hint)
        if not self.accept("AS") and (self.word() in stops or self.ended()):
            return None, None
        return self.name("an alias"), span_of([self.tokens[self.at - 1]], self.text)

    def trailing_clauses(self, query: ParsedQuery) -> ParsedQuery:
        """EMIT, SNAPSHOT or CHANGES, SYNC, SHED and OPTION."""
        readers: dict[str, tuple[str, Callable[[], object]]] = {
            "EMIT": ("emit", self.emit),
            "SNAPSHOT": ("changes", lambda: False),
            "CHANGES": ("changes", lambda: True),
            "SYNC": ("sync", self.sync),
            "SHED": ("shed", lambda: read_shed(self)),
            "OPTION": ("options", self.options),
        }
        found: dict[str, Any] = {}
        spans: dict[str, Span] = {}
        while not self.ended():
            clause, start = self.word(), self.at
            if clause in REFUSED:
                self.refuse()
            if clause not in readers:
                raise self.error(f"unexpected '{self.here().text}'", keyword_hint(clause, readers, ORDER))
            field, reader = readers[clause]
            self.next()
            if field in found:
                what = "only one SNAPSHOT or CHANGES is allowed" if field == "changes" else f"{clause} is given twice"
                raise QueryError(what, span_of([self.tokens[start]], self.text))
            found[field] = reader()
            spans[field] = self.since(start)
        return replace(query, spans=tuple(spans.items()), **found)

    def emit(self) -> Emit:
        """The rule after EMIT."""
        if self.accept("EVERY"):
            start = self.at
            while not self.ended() and self.word() not in CLAUSES:
                self.next()
            if self.at == start:
                raise self.error("EMIT EVERY needs a duration", "write EMIT EVERY 5 SECONDS.")
            return Every(read_duration(self.tokens[start : self.at], self.text, "the EMIT period", TRAILING[1:]))
        rules: dict[str, Emit] = {"SLIDE": OnSlide(), "ARRIVAL": OnArrival(), "TRIGGER": OnTrigger()}
        hint = "write EMIT ON SLIDE, ON ARRIVAL, ON TRIGGER or EVERY 5 SECONDS."
        return rules[self.choice("EMIT", tuple(rules), hint, others=("EVERY",))]

    def sync(self) -> Sync:
        """The rule after SYNC."""
        hint = "write SYNC ON TIME, ON FULL, ON WINDOW ID or ON WINDOW ID MOD 7."
        rule = self.choice("SYNC", ("TIME", "FULL", "WINDOW"), hint)
        if rule != "WINDOW":
            return OnTime() if rule == "TIME" else OnFull()
        self.expect("ID", "after SYNC ON WINDOW", hint)
        if not self.accept("MOD"):
            return OnWindowId()
        if not re.fullmatch("[0-9]*[1-9][0-9]*", self.word()):
            raise self.error("MOD needs a positive whole number")
        return OnWindowId(int(self.next().text))

    def choice(self, clause: str, rules: tuple[str, ...], hint: str, others: tuple[str, ...] = ()) -> str:
        """``ON rule``; ``others`` are words that are also allowed in the place of ON."""
        self.expect("ON", f"after {clause}", hint, others)
        return self.one_of(rules, f"{clause} ON needs a rule", f"unknown {clause} rule", hint)

    def options(self) -> tuple[tuple[str, Value], ...]:
        """``(name = value, …)``."""
        self.expect("(", "after OPTION", "write OPTION (name = value).")
        found: dict[str, Value] = {}
        while True:
            at = span_of([self.here()], self.text)
            name = self.name("an option's name").lower()
            if name in found:
                raise QueryError(f"option '{name}' is given twice", at)
            self.expect("=", f"after option '{name}'", "write OPTION (name = value).")
            found[name] = self.option_value(name)
            if self.accept(")"):
                return tuple(found.items())
            self.expect(",", "between options")

    def option_value(self, name: str) -> Value:
        """A word, a string, a number, or on and off."""
        sign = -1 if self.accept("-") else 1
        if re.fullmatch(r"[0-9]+", self.word()):
            return sign * int(self.next().text)
        if re.fullmatch(r"[0-9]+\.?[0-9]*(E[+-]?[0-9]+)?", self.word()):
            return sign * float(self.next().text)
        switches: dict[str, Value] = {"ON": True, "TRUE": True, "OFF": False, "FALSE": False}
        if self.word() in switches:
            return switches[self.next().text.upper()]
        if sign == 1 and (self.here().token_type == TokenType.STRING or self.word().isidentifier()):
            return self.next().text
        raise self.error(f"option '{name}' needs a value", "write a word, a number, a quoted string, on or off.")
