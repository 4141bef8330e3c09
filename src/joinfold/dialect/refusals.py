"""Messages and hints of the expression binder for expressions that are not supported or not defined."""

from sqlglot import exp

from joinfold.algebra import AGGREGATES
from joinfold.logical.expressions import Expression, Literal, inputs_read
from joinfold.logical.functions import FUNCTIONS
from joinfold.logical.sql import expression_text
from joinfold.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType, castable, common_type

NO_SUBQUERY = "register the result of the inner query as a stream or relation."
NO_STAR = "only COUNT takes *. Name a column instead."

_BY_NAME = "values have names: write WHERE k = :key, and give session.sql(…, key=5) or --param key=5."
INSTEAD: dict[type[exp.Expr], str] = {
    exp.Placeholder: _BY_NAME,
    exp.Parameter: _BY_NAME,
    exp.Struct: _BY_NAME,
    exp.RegexpLike: "use LIKE, CONTAINS, STARTSWITH or ENDSWITH.",
    exp.ILike: "use LOWER(x) LIKE 'pattern'.",
    exp.NullSafeEQ: "use =. A NULL key joins nothing.",
    exp.Tuple: "compare column by column: a.x = b.x AND a.y = b.y.",
    exp.Bracket: "select the elements of arrays and maps before registering the stream.",
    exp.Dot: "select nested fields before registering the stream.",
    exp.IntDiv: "use FLOOR(x / y).",
    exp.Any: "write one comparison for each value and combine them with OR.",
    exp.All: "write one comparison for each value and combine them with AND.",
}

CLOCKS = ("CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIMESTAMP", "NOW", "GETDATE", "CURDATE")
"""Names by which other dialects read the clock."""
NO_CLOCK = "a query cannot read the clock: its answers follow from its rows"
INSTEAD_OF_CLOCK = (
    "compare the times of rows with each other, filter in the DataFrame before registering it, or give a parameter, "
    ":since."
)

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "in")

_READ = {"this", "expression", "expressions", "negate"}
_ALSO_READ: dict[type[exp.Expr], set[str]] = {
    exp.Between: {"low", "high"},
    exp.Case: {"ifs", "default"},
    exp.Cast: {"to"},
    exp.Column: {"table", "db", "catalog"},
    exp.Div: {"safe", "typed"},
    exp.DPipe: {"safe"},
    exp.If: {"true", "false"},
    exp.In: {"query"},
    exp.Interval: {"unit"},
    exp.Literal: {"is_string"},
    exp.Select: set(exp.Select.arg_types),
    exp.Subquery: set(exp.Subquery.arg_types),
    exp.Window: set(exp.Window.arg_types),
}


def unread(node: exp.Expr) -> list[str]:
    """The arguments of a node that sqlglot parsed but no binder reads, such as SYMMETRIC, EXCEPT and FORMAT."""
    read = _READ | _ALSO_READ.get(type(node), set())
    return [name for name, value in node.args.items() if value and name not in read]


def mismatch(function: str, arguments: tuple[Expression, ...]) -> tuple[str, str | None]:
    """Message and hint for a call that is not defined for the types of its arguments."""
    types, entry = tuple(argument.type for argument in arguments), FUNCTIONS[function]
    usage = f"use it as {entry.usage}."
    if function in COMPARISONS:
        incomparable = [other for other in arguments[1:] if common_type(types[0], other.type) is None]
        if incomparable:
            return _incomparable(function, arguments[0], incomparable[0]), _cast(arguments[0], incomparable[0])
    if entry.is_operator and len(types) == 2 and types[0] != types[1]:
        usage = _cast(*arguments) or usage
    return _undefined(f"'{function.upper()}'" if entry.is_operator else function.upper(), types), usage


def aggregate_mismatch(function: str, types: tuple[DataType, ...]) -> tuple[str, str]:
    """Message and hint for an aggregate that is not defined for arguments of these types."""
    aggregate = AGGREGATES[function]
    word, noun = function.upper(), aggregate.signature.noun
    usage = f"{word}(*) or " if aggregate.counts_rows else ""
    usage += f"{word}({', '.join(aggregate.arguments)})"
    usage += f" with {noun}" if noun and len(types) in aggregate.arities else ""
    return _undefined(function.upper(), types), f"use it as {usage}."


def _undefined(word: str, types: tuple[DataType, ...]) -> str:
    return f"{word} is not defined for {' and '.join(map(str, types))}" if types else f"{word} needs an argument"


def _incomparable(function: str, left: Expression, right: Expression) -> str:
    readers = inputs_read(left), inputs_read(right)
    if function == "=" and all(readers) and readers[0] != readers[1]:
        sides = " and ".join(f"{expression_text(side)} is {side.type}" for side in (left, right))
        return f"the types of a join key differ: {sides}"
    return f"{left.type} and {right.type} cannot be compared"


def _cast(left: Expression, right: Expression) -> str | None:
    """A hint that gives two expressions the same type; None if no cast does."""
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Literal) and side.type == STRING and other.type in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
            return f"write {other.type} {expression_text(side)}."
    for side, other in ((left, right), (right, left)):
        if castable(side.type, other.type):
            return f"cast one side: CAST({expression_text(side)} AS {other.type})."
    return None
