"""SHED: what a query may give up when CPU or memory is short.

Shedding changes answers, so it belongs to the meaning of a query. The budgets say how much the query may use. A query
with aggregates then answers with estimates; a plain join emits fewer combinations.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from joinfold.errors import UsageError, keyword_hint
from joinfold.names import identifier_text
from joinfold.timetext import duration_text

Sampler = Literal["key", "row"]
Favour = Literal["most pairs", "rates", "inverse rates", "windows", "equal"]
FAVOURS: tuple[Favour, ...] = get_args(Favour)

UNITS_BYTES = {"BYTE": 1, "KILOBYTE": 10**3, "MEGABYTE": 10**6, "GIGABYTE": 10**9}
LEAST_CONFIDENCE, MOST_CONFIDENCE = 50, 99.99
USUAL_CONFIDENCE = 95.0
USUAL_FAVOUR: Favour = "most pairs"
_LIMIT = 2**63


@dataclass(frozen=True, slots=True)
class KeepUp:
    """A micro-batch ends within this time; None: within the trigger interval."""

    kind: ClassVar[str] = "KEEP UP"
    within_us: int | None = None

    def __post_init__(self) -> None:
        if self.within_us is not None:
            check_amount("the budget of KEEP UP", self.within_us)

    def to_sql(self) -> str:
        """Canonical text."""
        return self.kind if self.within_us is None else f"{self.kind} WITHIN {duration_text(self.within_us)}"


@dataclass(frozen=True, slots=True)
class Process:
    """At most so many rows are processed per second of wall-clock time, of all streams together."""

    kind: ClassVar[str] = "PROCESS"
    rows_per_second: int

    def __post_init__(self) -> None:
        check_amount("the budget of PROCESS", self.rows_per_second)

    def to_sql(self) -> str:
        """Canonical text."""
        return f"{self.kind} {_counted(self.rows_per_second, 'ROW')} PER SECOND"


@dataclass(frozen=True, slots=True)
class HoldRows:
    """All windows together hold at most so many live entries."""

    kind: ClassVar[str] = "HOLD"
    rows: int

    def __post_init__(self) -> None:
        check_amount("the budget of HOLD", self.rows)

    def to_sql(self) -> str:
        """Canonical text."""
        return f"{self.kind} {_counted(self.rows, 'ROW')}"


@dataclass(frozen=True, slots=True)
class HoldBytes:
    """The live entries of all windows together have at most this size."""

    kind: ClassVar[str] = "HOLD"
    size_bytes: int

    def __post_init__(self) -> None:
        check_amount("the budget of HOLD", self.size_bytes)

    def to_sql(self) -> str:
        """Canonical text, in the largest unit that divides the size."""
        unit = max(
            (unit for unit in UNITS_BYTES if self.size_bytes % UNITS_BYTES[unit] == 0), key=UNITS_BYTES.__getitem__
        )
        return f"{self.kind} {_counted(self.size_bytes // UNITS_BYTES[unit], unit)}"


@dataclass(frozen=True, slots=True)
class HoldAvailable:
    """The live entries of all windows fit into the memory of the workers."""

    kind: ClassVar[str] = "HOLD"


Budget = KeepUp | Process | HoldRows | HoldBytes | HoldAvailable
KINDS = ("KEEP UP", "PROCESS", "HOLD")
UNSTATED: tuple[Budget, ...] = (KeepUp(), HoldAvailable())
"""The budgets of SHED alone, without TO. No other text gives a query `HoldAvailable`."""


@dataclass(frozen=True, slots=True)
class Estimating:
    """Aggregates become estimates from a sample; without a ``sampler`` the planner chooses. Confidence in percent."""

    sampler: Sampler | None = None
    confidence: float = USUAL_CONFIDENCE

    def __post_init__(self) -> None:
        check_confidence(self.confidence)

    def to_sql(self) -> str:
        """Canonical text, without defaults."""
        sampler = "" if self.sampler is None else f" SAMPLE BY {self.sampler.upper()}"
        usual = self.confidence == USUAL_CONFIDENCE
        return sampler + ("" if usual else f" CONFIDENCE {percent_text(self.confidence)} PERCENT")


@dataclass(frozen=True, slots=True)
class AllTo:
    """One stream gets as much as it can use, the others what is left."""

    alias: str


@dataclass(frozen=True, slots=True)
class Favouring:
    """How a plain join divides a budget among its streams, and the least that each stream gets."""

    favour: Favour | AllTo = USUAL_FAVOUR
    least_rows: int = 0
    least_rows_per_second: int = 0

    @property
    def floors(self) -> tuple[str, ...]:
        """What each stream gets at least, as text: 10 ROWS, 10 ROWS PER SECOND."""
        floors = ((self.least_rows, ""), (self.least_rows_per_second, " PER SECOND"))
        return tuple(f"{_counted(rows, 'ROW')}{per}" for rows, per in floors if rows)

    def to_sql(self) -> str:
        """Canonical text, without defaults."""
        if isinstance(self.favour, AllTo):
            favour = f" FAVOUR ALL TO {identifier_text(self.favour.alias)}"
        else:
            favour = "" if self.favour == USUAL_FAVOUR else f" FAVOUR {self.favour.upper()}"
        return favour + "".join(f" AT LEAST {floor} OF EACH" for floor in self.floors)


@dataclass(frozen=True, slots=True)
class Shed:
    """The clause SHED: budgets in the order of `KINDS`, what is done within them, and the seed of the sample."""

    budgets: tuple[Budget, ...]
    how: Estimating | Favouring
    seed: int = 0

    def __post_init__(self) -> None:
        order = [KINDS.index(budget.kind) for budget in self.budgets]
        assert order and order == sorted(set(order)), "one budget of each kind"
        assert self.budgets == UNSTATED or not any(isinstance(budget, HoldAvailable) for budget in self.budgets)
        check_seed(self.seed)

    @property
    def reads_clock(self) -> bool:
        """Whether a budget is in wall-clock time."""
        return any(isinstance(budget, KeepUp | Process) for budget in self.budgets)

    def to_sql(self) -> str:
        """Canonical text, without defaults."""
        stated = [budget.to_sql() for budget in self.budgets if not isinstance(budget, HoldAvailable)]
        budgets = "" if self.budgets == UNSTATED else f" TO {' AND '.join(stated)}"
        return f"SHED{budgets}{self.how.to_sql()}" + (f" SEED {self.seed}" if self.seed else "")


def in_order(budgets: tuple[Budget, ...]) -> tuple[Budget, ...]:
    """The budgets in the order of `KINDS`."""
    return tuple(sorted(budgets, key=lambda budget: KINDS.index(budget.kind)))


def budget_to_hold(amount: int, unit: str) -> HoldRows | HoldBytes:
    """The budget of HOLD for an amount in rows or in a unit of bytes, singular or plural, in any case."""
    check_amount("the budget of HOLD", amount)
    singular = unit.upper().removesuffix("S")
    if singular == "ROW":
        return HoldRows(amount)
    if singular in UNITS_BYTES:
        return HoldBytes(amount * UNITS_BYTES[singular])
    units = ("ROWS", *(f"{unit}S" for unit in UNITS_BYTES))
    raise UsageError(f"unknown unit '{unit}' of HOLD", keyword_hint(unit, units, f"the units are {', '.join(units)}."))


def check_amount(what: str, amount: int) -> int:
    """The amount itself; raises `UsageError` if it is not a positive whole number, or too large for 64 bits."""
    if not isinstance(amount, int) or isinstance(amount, bool):
        raise UsageError(f"{what} must be a whole number, not {amount!r}")
    if amount <= 0:
        raise UsageError(f"{what} must be positive, not {amount}")
    if amount >= _LIMIT:
        raise UsageError(f"{what} is too large")
    return amount


def check_confidence(percent: float) -> float:
    """The confidence as a floating number; raises `UsageError` if no interval can be given for it."""
    is_number = isinstance(percent, int | float) and not isinstance(percent, bool)
    if not is_number or not LEAST_CONFIDENCE <= percent <= MOST_CONFIDENCE:
        allowed = f"from {LEAST_CONFIDENCE} to {MOST_CONFIDENCE} percent"
        raise UsageError(f"a confidence must be {allowed}, not {percent_text(percent)}")
    return float(percent)


def check_seed(seed: int) -> int:
    """The seed itself; raises `UsageError` if it is not a whole number that fits 64 bits."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < _LIMIT:
        raise UsageError(f"a seed must be a whole number from 0 to 2^63 − 1, not {seed}")
    return seed


def percent_text(percent: float) -> str:
    """A percentage as it is written in a query: 95, 99.5."""
    return str(percent).removesuffix(".0")


def _counted(amount: int, noun: str) -> str:
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}S"
