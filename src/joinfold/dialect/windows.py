"""Parsing of a window: the text between the brackets after a stream."""

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from joinfold.dialect.durations import is_number, read_duration, spelled_out
from joinfold.dialect.tokens import span_of, tokenize
from joinfold.errors import QueryError, Span, UsageError, keyword_hint
from joinfold.timetext import timestamp_us
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window

FORMS = (
    "write [10 MINUTE SLIDE 1 MINUTE], [TUMBLE 10 MINUTE], [10 MINUTE], [ROWS 100 SLIDE 10], "
    "[PARTITION BY k ROWS 5], [RANGE 5 MINUTE SLIDE 100 ROWS], [UNBOUNDED] or [FROM TIMESTAMP '2025-01-01']."
)
BEGINNINGS = ("RANGE", "WINDOW", "TUMBLE", "ROWS", "PARTITION BY", "UNBOUNDED", "FROM")


def parse_window(tokens: Sequence[Token], span: Span) -> Window:
    """The window that the tokens between ``[`` and ``]`` describe; ``span`` includes the brackets."""
    try:
        return _WindowText(tokens, span).read()
    except UsageError as error:
        raise QueryError(error.message, span, error.hint) from error


def partition_span(window: Span, column: str) -> Span:
    """Where the text of a window names a column of its PARTITION BY."""
    tokens = tokenize(window.words)
    named = next(token for token in tokens[2:] if token.text == column)
    return Span(window.text, window.start + named.start, window.start + named.end + 1)


class _WindowText:
    def __init__(self, tokens: Sequence[Token], span: Span) -> None:
        self.tokens = spelled_out(tokens, span.text)
        self.span = span
        self.start_us: int | None = None
        self.start_span: Span | None = None

    def read(self) -> Window:
        """The window, with START applied."""
        if not self.tokens:
            raise QueryError("this window is empty", self.span, FORMS)
        self._take_start()
        window = self._window()
        if self.start_us is None:
            return window
        if not isinstance(window, Sliding):
            hint = "write [10 MINUTE SLIDE 1 MINUTE START TIMESTAMP '2025-01-01']."
            raise QueryError("START needs a window with a slide in time", self.start_span, hint)
        return Sliding(window.size_us, window.slide_us, self.start_us)

    def _window(self) -> Window:
        words = self._words(self.tokens)
        match words:
            case ["UNBOUNDED"] | ["WINDOW", "UNTIL", "NOW"]:
                return Landmark()
            case ["UNBOUNDED", *_]:
                hint = "an unbounded window holds all rows so far. It has no size and no slide."
                raise QueryError("nothing may follow UNBOUNDED", self._at(self.tokens[1:]), hint)
            case ["FROM", "TIMESTAMP", _]:
                return Landmark(self._timestamp(self.tokens[2]))
            case ["FROM", *_]:
                raise QueryError("FROM needs a timestamp", self.span, "write [FROM TIMESTAMP '2025-01-01'].")
            case ["PARTITION BY", *_]:
                return self._partitioned()
            case ["TUMBLE", *_]:
                size, slide = self._split(self.tokens[1:])
                if slide is not None:
                    hint = "a tumbling window slides by its size. Leave out TUMBLE or SLIDE."
                    raise QueryError("TUMBLE cannot have a SLIDE", self._at(self.tokens[1 + len(size) :]), hint)
                size_us = self._duration(size, "a window's size")
                return Sliding(size_us, size_us)
            case ["ROWS", *_]:
                return self._rows()
            case ["RANGE" | "WINDOW", *_]:
                return self._range(self.tokens[1:])
            case [first, *_] if first == "-" or is_number(self.tokens[0]):
                return self._range(self.tokens)
            case _:
                what = f"a window cannot begin with '{self.tokens[0].text}'"
                raise QueryError(what, self._at(self.tokens[:1]), keyword_hint(words[0], BEGINNINGS, FORMS))

    def _rows(self) -> Window:
        size, slide = self._split(self.tokens[1:])
        count = self._count(size, "a window's size")
        if slide is None:
            return Rows(count)
        if any(word not in ("ROW", "ROWS") for word in self._words(slide[2 if self._negative(slide) else 1 :])):
            hint = "a window of rows slides by rows, such as [ROWS 100 SLIDE 10]."
            raise QueryError("the window's size is in rows, but its slide is in time", self._at(slide), hint)
        return Rows(count, self._count(slide, "a window's slide"))

    def _range(self, tokens: list[Token]) -> Window:
        size, slide = self._split(tokens)
        if self._words(size)[-1:] in (["ROW"], ["ROWS"]):
            raise QueryError("a window of rows begins with ROWS", self._at(size), f"write ROWS {size[0].text}.")
        size_us = self._duration(size, "a window's size")
        if slide is None:
            return Continuous(size_us)
        if self._words(slide)[-1] in ("ROW", "ROWS"):
            return RangeByRows(size_us, self._count(slide, "a window's slide"))
        return Sliding(size_us, self._duration(slide, "a window's slide", ("SECOND", "ROWS")))

    def _partitioned(self) -> Window:
        words = self._words(self.tokens)
        if "ROWS" not in words:
            hint = "write [PARTITION BY k ROWS 5]."
            raise QueryError("PARTITION BY needs ROWS after its columns", self.span, hint)
        split = words.index("ROWS")
        columns, commas = self.tokens[1:split:2], self.tokens[2:split:2]
        fits = columns and all(token.text == "," for token in commas) and len(columns) == len(commas) + 1
        if not fits or not all(
            token.token_type == TokenType.IDENTIFIER or token.text.isidentifier() for token in columns
        ):
            at = self._at(self.tokens[1:split] or self.tokens)
            hint = "write [PARTITION BY k ROWS 5] or [PARTITION BY k, l ROWS 5]."
            raise QueryError("PARTITION BY takes column names, separated by commas", at, hint)
        size, slide = self._split(self.tokens[split + 1 :])
        if slide is not None:
            hint = "it moves at every row. Leave out SLIDE."
            at = self._at(self.tokens[split + 1 + len(size) :])
            raise QueryError("a window with PARTITION BY cannot have a SLIDE", at, hint)
        return PartitionedRows(tuple(token.text for token in columns), self._count(size, "a window's size"))

    def _take_start(self) -> None:
        words = self._words(self.tokens)
        if "START" in words:
            split = words.index("START")
            clause = self.tokens[split:]
            if len(clause) != 3 or words[split + 1] != "TIMESTAMP":
                hint = "write START TIMESTAMP '2025-01-01 00:00:07'."
                raise QueryError("START needs a timestamp", self._at(clause), hint)
            self.start_us = self._timestamp(clause[2])
            self.start_span = self._at(clause)
            self.tokens = self.tokens[:split]

    def _split(self, tokens: list[Token]) -> tuple[list[Token], list[Token] | None]:
        """The tokens of the size and, after SLIDE, of the slide."""
        words = self._words(tokens)
        if "SLIDE" not in words:
            return tokens, None
        split = words.index("SLIDE")
        if split + 1 == len(tokens):
            hint = "write SLIDE 1 MINUTE or SLIDE 100 ROWS."
            raise QueryError("SLIDE needs a duration or a number of rows", self._at(tokens[split:]), hint)
        return tokens[:split], tokens[split + 1 :]

    def _duration(self, tokens: list[Token], what: str, units: tuple[str, ...] = ("SECOND",)) -> int:
        if not tokens:
            raise QueryError(f"{what} is missing", self.span, FORMS)
        return read_duration(tokens, self.span.text, what, ("SLIDE", "START"), units)

    def _count(self, tokens: list[Token], what: str) -> int:
        if not tokens:
            raise QueryError(f"{what} is missing", self.span, FORMS)
        number = tokens[1] if self._negative(tokens) and len(tokens) > 1 else tokens[0]
        rest = self._words(tokens[tokens.index(number) + 1 :])
        at = self._at(tokens)
        if not (is_number(number) and number.text.isdecimal()) or rest not in ([], ["ROW"], ["ROWS"]):
            hint = keyword_hint(rest[0] if rest else "", ("SLIDE",), FORMS)
            raise QueryError(f"{what} in rows must be a whole number, not '{at.words}'", at, hint)
        if self._negative(tokens) or int(number.text) == 0:
            raise QueryError(f"{what} must be positive, not '{at.words}'", at)
        return int(number.text)

    def _timestamp(self, token: Token) -> int:
        if token.token_type != TokenType.STRING:
            raise QueryError("a timestamp must be in quotes", self._at([token]), "write TIMESTAMP '2025-01-01'.")
        try:
            return timestamp_us(token.text)
        except UsageError as error:
            raise QueryError(error.message, self._at([token]), error.hint) from error

    def _at(self, tokens: Sequence[Token]) -> Span:
        return span_of(tokens, self.span.text)

    @staticmethod
    def _negative(tokens: Sequence[Token]) -> bool:
        return tokens[0].token_type == TokenType.DASH

    @staticmethod
    def _words(tokens: Sequence[Token]) -> list[str]:
        return [
            "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else " ".join(token.text.upper().split())
            for token in tokens
        ]
