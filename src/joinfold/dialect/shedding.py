"""Parsing of SHED: the budgets after TO, then how the query sheds, in any order."""

from collections.abc import Callable
from typing import Any, TypeVar

from sqlglot.tokenizer_core import TokenType

from joinfold.dialect.durations import read_duration
from joinfold.dialect.reader import CLAUSES, REFUSED, TRAILING, TokenReader
from joinfold.dialect.syntax import ParsedShed
from joinfold.errors import QueryError, Span, UsageError, keyword_hint
from joinfold.logical.shedding import (
    FAVOURS,
    UNSTATED,
    AllTo,
    Budget,
    Favour,
    KeepUp,
    Process,
    Sampler,
    budget_to_hold,
    check_amount,
    check_confidence,
    check_seed,
)

BUDGETS = "write SHED TO KEEP UP, PROCESS 50000 ROWS PER SECOND or HOLD 64 MEGABYTES. Write AND between budgets."
PROCESS = "write PROCESS 50000 ROWS PER SECOND."
HOLD = "write HOLD 1000 ROWS or HOLD 64 MEGABYTES."
SAMPLE = "write SAMPLE BY KEY or SAMPLE BY ROW."
CONFIDENCE = "write CONFIDENCE 95 PERCENT."
FAVOUR = "write FAVOUR MOST PAIRS, RATES, INVERSE RATES, WINDOWS, EQUAL or ALL TO alias."
AT_LEAST = "write AT LEAST 10 ROWS OF EACH or AT LEAST 10 ROWS PER SECOND OF EACH."
FLOORS = {"least_rows": "AT LEAST … ROWS", "least_rows_per_second": "AT LEAST … ROWS PER SECOND"}
PARTS = ("SAMPLE", "CONFIDENCE", "FAVOUR", "FAVOR", "AT", "SEED")
AFTER = "SAMPLE, CONFIDENCE, FAVOUR, AT LEAST and SEED may follow the budgets of SHED."

Checked = TypeVar("Checked")


def read_shed(reader: TokenReader) -> ParsedShed:
    """Reads what follows the word SHED."""
    return _ShedText(reader).read()


class _ShedText:
    def __init__(self, reader: TokenReader) -> None:
        self.reader = reader
        self.spans: dict[str, Span] = {}

    def read(self) -> ParsedShed:
        """The budgets and the parts after them."""
        reader = self.reader
        budgets = self._budgets() if reader.accept("TO") else UNSTATED
        readers: dict[str, Callable[[], tuple[str, object]]] = {
            "SAMPLE": self._sample,
            "CONFIDENCE": self._confidence,
            "FAVOUR": self._favour,
            "FAVOR": self._favour,
            "AT": self._at_least,
            "SEED": self._seed,
        }
        found: dict[str, Any] = {}
        while reader.word() in readers:
            start, word = reader.at, reader.next().text.upper()
            field, value = readers[word]()
            found[field] = value
            self._place(field, FLOORS.get(field, word), start)
        if not (reader.ended() or reader.word() in (*CLAUSES, *REFUSED)):
            raise self._unexpected()
        return ParsedShed(budgets, spans=tuple(self.spans.items()), **found)

    def _unexpected(self) -> QueryError:
        hint = keyword_hint(self.reader.word(), (*PARTS, *TRAILING), AFTER)
        if self.reader.word() in ("TO", "AND", "KEEP", "PROCESS", "HOLD"):
            hint = BUDGETS
        return self.reader.error(f"unexpected '{self.reader.here().text}' in SHED", hint)

    def _place(self, part: str, words: str, start: int) -> None:
        """Records where a part is written. Errors call it by the words."""
        at = self.reader.since(start)
        if part in self.spans:
            raise QueryError(f"{words} is given twice", at)
        self.spans[part] = at

    # --- budgets --------------------------------------------------------------------------------------------

    def _budgets(self) -> tuple[Budget, ...]:
        readers = {"KEEP": self._keep_up, "PROCESS": self._process, "HOLD": self._hold}
        found: list[Budget] = []
        while True:
            start = self.reader.at
            word = self.reader.one_of(tuple(readers), "SHED TO needs a budget", "unknown budget", BUDGETS)
            budget = readers[word]()
            self._place(budget.kind, budget.kind, start)
            found.append(budget)
            if not self.reader.accept("AND"):
                return tuple(found)
            self.reader.accept("TO")

    def _keep_up(self) -> Budget:
        self.reader.expect("UP", "after KEEP", "write SHED TO KEEP UP.")
        return KeepUp(self._duration()) if self.reader.accept("WITHIN") else KeepUp()

    def _process(self) -> Budget:
        rows, at = self._whole_number("PROCESS needs a number of rows", PROCESS)
        budget = _checked(at, lambda: Process(rows), PROCESS)
        self._rows(PROCESS)
        self.reader.expect("PER", "after the rows", PROCESS)
        self.reader.expect("SECOND", "after PER", PROCESS)
        return budget

    def _hold(self) -> Budget:
        start = self.reader.at
        amount, _ = self._whole_number("HOLD needs an amount", HOLD)
        if self._part_ends():
            raise QueryError("HOLD needs a unit", self.reader.since(start), HOLD)
        unit = self.reader.next().text
        return _checked(self.reader.since(start), lambda: budget_to_hold(amount, unit), HOLD)

    # --- how the query sheds --------------------------------------------------------------------------------

    def _sample(self) -> tuple[str, Sampler]:
        self.reader.expect("BY", "after SAMPLE", SAMPLE)
        samplers: dict[str, Sampler] = {"KEY": "key", "ROW": "row"}
        word = self.reader.one_of(tuple(samplers), "SAMPLE BY needs KEY or ROW", "unknown sampler", SAMPLE)
        return "sampler", samplers[word]

    def _confidence(self) -> tuple[str, float]:
        number, at = self._number("CONFIDENCE needs a number", CONFIDENCE)
        confidence = _checked(at, lambda: check_confidence(float(number)), CONFIDENCE)
        self.reader.expect("PERCENT", "after the confidence", CONFIDENCE)
        return "confidence", confidence

    def _favour(self) -> tuple[str, Favour | AllTo]:
        favours = {favour.split()[0].upper(): favour for favour in FAVOURS}
        first = self.reader.one_of((*favours, "ALL"), "FAVOUR needs a rule", "unknown FAVOUR rule", FAVOUR)
        if first == "ALL":
            self.reader.expect("TO", "after FAVOUR ALL", FAVOUR)
            return "favour", AllTo(self.reader.name("an alias"))
        for word in favours[first].upper().split()[1:]:
            self.reader.expect(word, f"after FAVOUR {first}", FAVOUR)
        return "favour", favours[first]

    def _at_least(self) -> tuple[str, int]:
        self.reader.expect("LEAST", "after AT", AT_LEAST)
        number, at = self._whole_number("AT LEAST needs a number of rows", AT_LEAST)
        rows = _checked(at, lambda: check_amount("the number of AT LEAST", number), AT_LEAST)
        self._rows(AT_LEAST)
        is_rate = self.reader.accept("PER")
        if is_rate:
            self.reader.expect("SECOND", "after PER", AT_LEAST)
        self.reader.expect("OF", "after the rows", AT_LEAST, () if is_rate else ("PER",))
        self.reader.expect("EACH", "after OF", AT_LEAST)
        return "least_rows_per_second" if is_rate else "least_rows", rows

    def _seed(self) -> tuple[str, int]:
        seed, at = self._whole_number("SEED needs a whole number", "write SEED 7.")
        return "seed", _checked(at, lambda: check_seed(seed), "write SEED 7.")

    # --- amounts --------------------------------------------------------------------------------------------

    def _rows(self, hint: str) -> None:
        if not self.reader.accept("ROW"):
            self.reader.expect("ROWS", "after the number", hint)

    def _duration(self) -> int:
        reader, start = self.reader, self.reader.at
        reader.accept("-")
        while self._is_number():
            reader.next()
            if not self._part_ends():
                reader.next()
        if reader.at == start:
            raise reader.error("WITHIN needs a duration", "write KEEP UP WITHIN 5 SECONDS.")
        tokens = reader.tokens[start : reader.at]
        return read_duration(tokens, reader.text, "the budget of KEEP UP", ("AND", *PARTS))

    def _whole_number(self, missing: str, hint: str) -> tuple[int, Span]:
        number, at = self._number(missing, hint)
        digits = number.removeprefix("-")
        if not digits.isdecimal():
            raise QueryError(f"expected a whole number, not '{at.words}'", at, hint)
        # More digits are too large in any case, and int() raises an error beyond 4300 digits.
        amount = int(digits.lstrip("0")[:25] or "0")
        return -amount if number != digits else amount, at

    def _number(self, missing: str, hint: str) -> tuple[str, Span]:
        start = self.reader.at
        sign = "-" if self.reader.accept("-") else ""
        if not self._is_number():
            raise self.reader.error(missing, hint)
        number = sign + self.reader.next().text
        if self.reader.accept(","):
            while self._is_number():
                number += self.reader.next().text
                self.reader.accept(",")
            raise QueryError("a number has no commas", self.reader.since(start), f"write {number}.")
        return number, self.reader.since(start)

    def _is_number(self) -> bool:
        return not self.reader.ended() and self.reader.here().token_type == TokenType.NUMBER

    def _part_ends(self) -> bool:
        return self.reader.ended() or self.reader.word() in ("AND", *PARTS, *CLAUSES)


def _checked(at: Span, make: Callable[[], Checked], hint: str) -> Checked:
    """What ``make`` returns; a `UsageError` becomes a `QueryError` at the place, with its own hint or this one."""
    try:
        return make()
    except UsageError as error:
        raise QueryError(error.message, at, error.hint or hint) from error
