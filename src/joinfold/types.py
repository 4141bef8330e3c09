"""Spark's data types, and the rules that give an expression its type.

The rules are those of Spark in ANSI mode (``spark.sql.ansi.enabled``). They are repeated here so that a query can be
bound, or refused, without a JVM. A test compares them with Spark for every pair of types.
"""

from collections.abc import Iterator
from dataclasses import dataclass

MAX_PRECISION = 38
_MINIMUM_ADJUSTED_SCALE = 6

INTEGER_NAMES = ("TINYINT", "SMALLINT", "INT", "BIGINT")
INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_INTEGER_PRECISION = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
_SCALAR_NAMES = frozenset(
    "TINYINT SMALLINT INT BIGINT BOOLEAN FLOAT DOUBLE STRING BINARY DATE TIMESTAMP TIMESTAMP_NTZ INTERVAL VOID".split()
)


@dataclass(frozen=True, slots=True)
class DataType:
    """A Spark SQL type: a scalar by its name, a decimal with precision and scale, or a nested type by its text."""

    name: str
    precision: int | None = None
    scale: int | None = None

    def __post_init__(self) -> None:
        if self.name == "DECIMAL":
            assert self.precision is not None and self.scale is not None
            assert 0 <= self.scale <= self.precision <= MAX_PRECISION
        else:
            assert self.name in _SCALAR_NAMES or "<" in self.name, self.name

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})" if self.is_decimal else self.name

    @property
    def is_integer(self) -> bool:
        """Whether it is one of the four integer types."""
        return self.name in INTEGER_NAMES

    @property
    def is_decimal(self) -> bool:
        """Whether it is a fixed-point type."""
        return self.name == "DECIMAL"

    @property
    def is_floating(self) -> bool:
        """Whether it is FLOAT or DOUBLE: the types whose sums are rounded."""
        return self.name in ("FLOAT", "DOUBLE")

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.is_integer or self.is_decimal or self.is_floating

    @property
    def is_nested(self) -> bool:
        """Whether it is an array, map or struct; these are compared for equality only."""
        return "<" in self.name

    @property
    def is_ordered(self) -> bool:
        """Whether ``<``, MIN and MAX are defined on it."""
        return not self.is_nested and self.name != "VOID"


BOOLEAN = DataType("BOOLEAN")
INT = DataType("INT")
BIGINT = DataType("BIGINT")
FLOAT = DataType("FLOAT")
DOUBLE = DataType("DOUBLE")
STRING = DataType("STRING")
BINARY = DataType("BINARY")
DATE = DataType("DATE")
TIMESTAMP = DataType("TIMESTAMP")
TIMESTAMP_NTZ = DataType("TIMESTAMP_NTZ")
INTERVAL = DataType("INTERVAL")
VOID = DataType("VOID")


@dataclass(frozen=True, slots=True)
class Field:
    """A named column of a schema."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a stream, a relation or a result, in order."""

    fields: tuple[Field, ...]

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __str__(self) -> str:
        return ", ".join(f"{field.name} {field.type}" for field in self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(field.name for field in self.fields)

    def type_of(self, name: str) -> DataType:
        """The type of the column with exactly this name."""
        return next(field.type for field in self.fields if field.name == name)


def decimal(precision: int, scale: int) -> DataType:
    """The decimal type of that precision and scale, which must be within Spark's bounds."""
    return DataType("DECIMAL", precision, scale)


def as_decimal(type_: DataType) -> DataType:
    """The decimal type that holds every value of an integer or decimal type."""
    return type_ if type_.is_decimal else decimal(_INTEGER_PRECISION[type_.name], 0)


def _precision_scale(type_: DataType) -> tuple[int, int]:
    exact = as_decimal(type_)
    assert exact.precision is not None and exact.scale is not None
    return exact.precision, exact.scale


def common_type(left: DataType, right: DataType) -> DataType | None:
    """The type in which values of two types are compared or combined; None if there is none.

    Strings are not converted to numbers, nor dates to timestamps: the user has to write the cast.
    """
    if left == right:
        return left
    if VOID in (left, right):
        return right if left == VOID else left
    if not (left.is_numeric and right.is_numeric):
        return None
    if left.is_floating or right.is_floating:
        return FLOAT if left == right == FLOAT else DOUBLE
    if left.is_integer and right.is_integer:
        return max(left, right, key=lambda type_: INTEGER_BITS[type_.name])
    (p1, s1), (p2, s2) = _precision_scale(left), _precision_scale(right)
    scale = max(s1, s2)
    return _bounded(max(p1 - s1, p2 - s2) + scale, scale)


def arithmetic_type(operator: str, left: DataType, right: DataType) -> DataType | None:
    """The type of ``left operator right`` for + - * / %; None if the operator is not defined for these types."""
    time = {"+": _add_times, "-": _subtract_times}.get(operator, _no_times)(left, right)
    if time is not None:
        return time
    if VOID in (left, right):
        left = right if left == VOID else left
        right = left
    if not (left.is_numeric and right.is_numeric):
        return None
    if left.is_floating or right.is_floating:
        return DOUBLE if operator == "/" else common_type(left, right)
    if left.is_integer and right.is_integer:
        return DOUBLE if operator == "/" else common_type(left, right)
    (p1, s1), (p2, s2) = _precision_scale(left), _precision_scale(right)
    match operator:
        case "+" | "-":
            scale = max(s1, s2)
            return _adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return _adjusted(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(_MINIMUM_ADJUSTED_SCALE, s1 + p2 + 1)
            return _adjusted(p1 - s1 + s2 + scale, scale)
        case "%":
            scale = max(s1, s2)
            return _adjusted(min(p1 - s1, p2 - s2) + scale, scale)
        case _:
            raise AssertionError(operator)


def castable(source: DataType, target: DataType) -> bool:
    """Whether CAST is defined: between numbers, to and from strings, between dates and timestamps."""
    if source in (target, VOID):
        return True
    plain = {"BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING"}
    if source.is_numeric or source == BOOLEAN:
        return target.is_numeric or target in (STRING, BOOLEAN)
    if source == STRING:
        return target.is_numeric or target.name in plain
    times = {"DATE", "TIMESTAMP", "TIMESTAMP_NTZ"}
    return source.name in times and (target.name in times or target == STRING)


def sum_type(argument: DataType) -> DataType:
    """The type of SUM: DOUBLE, BIGINT for integers, or for decimals a decimal with up to 10 more digits."""
    if argument.is_decimal:
        precision, scale = _precision_scale(argument)
        return _bounded(precision + 10, scale)
    return BIGINT if argument.is_integer else DOUBLE


def average_type(argument: DataType) -> DataType:
    """The type of AVG: DOUBLE, or for decimals a decimal with up to 4 more digits, all of them after the point."""
    if argument.is_decimal:
        precision, scale = _precision_scale(argument)
        return _bounded(precision + 4, scale + 4)
    return DOUBLE


def _add_times(left: DataType, right: DataType) -> DataType | None:
    if INTERVAL not in (left, right):
        return None
    other = right if left == INTERVAL else left
    return other if other in (TIMESTAMP, TIMESTAMP_NTZ, INTERVAL) else None


def _subtract_times(left: DataType, right: DataType) -> DataType | None:
    if right == INTERVAL:
        return _add_times(left, right)
    return INTERVAL if left == right and left in (TIMESTAMP, TIMESTAMP_NTZ) else None


def _no_times(left: DataType, right: DataType) -> None:
    return None


def _bounded(precision: int, scale: int) -> DataType:
    return decimal(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


def _adjusted(precision: int, scale: int) -> DataType:
    """The decimal type; if it has too many digits, the scale is reduced, but not below 6, to keep the integral part."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    integral = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - integral, min(scale, _MINIMUM_ADJUSTED_SCALE)))
