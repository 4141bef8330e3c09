"""The exceptions that joinfold raises for mistakes of its users and for failures of a run.

An error says what is wrong, where, what exists instead, and the next step::

    QueryError: unknown column 'celcius' in stream 'temperature'
      … WHERE a.celcius >= 40
              ^^^^^^^^^
    Hint: did you mean 'celsius'? It has: location, ts, celsius.

Bugs in joinfold itself are ``AssertionError`` instead.
"""

import difflib
import re
import traceback
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

EXCERPT_WIDTH = 76
# controls of C0 and C1, line and paragraph separators, and what changes the direction of text
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class JoinfoldError(Exception):
    """The base class of all errors of joinfold."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join([self.message, *self.details()])

    def details(self) -> list[str]:
        """The lines below the message."""
        return [f"Hint: {self.hint}"] if self.hint else []

    def report(self) -> str:
        """The text that a user sees instead of a traceback."""
        return f"{type(self).__name__}: {self}"

    def trace(self) -> str:
        """The whole traceback, with those of the errors that caused this one, such as Spark's."""
        return "".join(traceback.format_exception(self))

    def _render_traceback_(self) -> list[str]:
        """What IPython and Jupyter print when this error is not caught."""
        on_demand = "The traceback: import sys; print(sys.last_value.trace())"
        return [*printable(self.report(), kept="\n").split("\n"), on_demand]


class UsageError(JoinfoldError):
    """A wrong argument to a function or a command."""


class SetupError(JoinfoldError):
    """Something that joinfold needs is missing on this machine."""


class EvaluationError(JoinfoldError):
    """A running query met a value that it cannot compute or use, such as a sum that its type cannot hold."""


class RunError(JoinfoldError):
    """A query stopped while it ran, for a reason outside joinfold: Spark or the machine."""


class JoinfoldWarning(UserWarning):
    """Something that runs, but may not mean what its author wanted."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a query's text: characters ``start`` to ``end`` (exclusive)."""

    text: str
    start: int
    end: int

    @property
    def words(self) -> str:
        """The text of the part."""
        return self.text[self.start : self.end]

    def excerpt(self) -> list[str]:
        """The line of the query that has the span, cut to a readable width, and a line of carets below it."""
        line_start = self.text.rfind("\n", 0, self.start) + 1
        line_end = self.text.find("\n", self.start)
        line_end = len(self.text) if line_end < 0 else line_end
        line_start += len(self.text[line_start:line_end]) - len(self.text[line_start:line_end].lstrip())
        line_start = min(line_start, self.start)
        cut_start = max(line_start, min(self.start - EXCERPT_WIDTH // 2, line_end - EXCERPT_WIDTH))
        if cut_start > line_start:  # begin at a whole word
            cut_start = self.text.find(" ", cut_start, self.start) + 1 or cut_start
        cut_end = min(line_end, cut_start + EXCERPT_WIDTH)
        if cut_end < line_end:  # end after a whole word
            last_space = self.text.rfind(" ", min(self.end, cut_end), cut_end + 1)
            cut_end = last_space if last_space >= 0 else cut_end
        before = "… " if self.text[:cut_start].strip() else ""
        after = " …" if self.text[cut_end:line_end].strip() else ""
        shown = self.text[cut_start:cut_end].replace("\t", " ").rstrip()
        left = _display_width(before + self.text[cut_start : self.start])
        marked = _display_width(self.text[self.start : min(self.end, cut_end)])
        return [f"  {before}{shown}{after}", "  " + " " * left + "^" * max(1, marked)]


class QueryError(JoinfoldError):
    """A query that cannot be parsed or has no meaning."""

    def __init__(self, message: str, at: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.at = at

    def details(self) -> list[str]:
        """The place in the query, then the hint."""
        return (self.at.excerpt() if self.at else []) + super().details()


class UnknownNameError(QueryError):
    """A name that does not exist; the hint suggests the nearest one that does."""

    def __init__(self, what: str, name: str, exists: Iterable[str], at: Span | None, owner: str = "It") -> None:
        exists = list(exists)
        near = suggestion(name, exists)
        has = f"{owner} has: {', '.join(exists)}." if exists else f"{owner} has none yet."
        hint = f"did you mean '{near}'? {has}" if near else has[0].lower() + has[1:]
        super().__init__(f"unknown {what}", at, hint)

    def report(self) -> str:
        """The text, under the name of the public class QueryError."""
        return f"QueryError: {self}"

    def __reduce__(self) -> tuple[type[QueryError], tuple[object, ...]]:
        return QueryError, (self.message, self.at, self.hint)


def suggestion(name: str, exists: Iterable[str]) -> str | None:
    """The name in ``exists`` that is most similar to ``name``, or else begins with it; case does not matter."""
    by_lower = {candidate.lower(): candidate for candidate in exists}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    near += [candidate for candidate in by_lower if len(name) > 1 and candidate.startswith(name.lower())]
    return by_lower[near[0]] if near else None


def keyword_hint(word: str, keywords: Iterable[str], hint: str | None = None) -> str | None:
    """The hint, preceded by a suggestion if ``word`` looks like a misspelling of one of the keywords."""
    near = suggestion(word, keywords)
    if near is None or near == word.upper():  # not misspelt, but in the wrong place
        return hint
    return f"did you mean {near}?" + (f" {hint[0].upper()}{hint[1:]}" if hint else "")


def printable(text: str, kept: str = "") -> str:
    """The text with escapes such as ``\\x1b`` in place of characters that a terminal would obey, except ``kept``."""
    return UNPRINTABLE.sub(lambda found: found[0] if found[0] in kept else ascii(found[0])[1:-1], text)


def _display_width(text: str) -> int:
    return sum(
        0
        if unicodedata.category(char) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )
