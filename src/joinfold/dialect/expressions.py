"""Expressions: from sqlglot's trees to typed, resolved ones.

One binder reads one fragment. Aggregates are allowed in SELECT and HAVING only; `named` gives the outputs that a
clause may refer to by their alias.
"""

from collections.abc import Callable, Mapping
from typing import NoReturn, ParamSpec, TypeVar

from sqlglot import exp

from joinfold.algebra import AGGREGATES, ALIASES
from joinfold.dialect.literals import beside_decimal, interval_literal, negated, number_literal, time_literal
from joinfold.dialect.schema import data_type
from joinfold.dialect.scope import Scope
from joinfold.dialect.tokens import Fragment
from joinfold.errors import QueryError, UnknownNameError, UsageError
from joinfold.logical.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    inputs_read,
    walk,
)
from joinfold.logical.functions import FUNCTIONS, SYNONYMS, TRUNCATION_UNITS
from joinfold.logical.sql import expression_text
from joinfold.types import (
    BINARY,
    BOOLEAN,
    STRING,
    VOID,
    DataType,
    castable,
    common_type,
)

BINARY_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Like: "like",
}
CHAINED_OPERATORS: dict[type[exp.Expr], str] = {exp.And: "and", exp.Or: "or", exp.DPipe: "||"}
P = ParamSpec("P")
T = TypeVar("T")

NO_SUBQUERY = "register the inner query's result as a stream or relation of its own."


class ExpressionBinder:
    """Turns one fragment into an expression over the columns of a scope."""

    def __init__(
        self,
        scope: Scope,
        fragment: Fragment,
        clause: str,
        aggregates: bool = False,
        named: Mapping[str, Expression] | None = None,
    ) -> None:
        self.scope = scope
        self.fragment = fragment
        self.clause = clause
        self.aggregates = aggregates
        self.named = named or {}

    def bind(self, node: exp.Expr) -> Expression:
        """The bound form of a node of the fragment's tree."""
        node = node.unnest()
        if type(node) in BINARY_OPERATORS:
            return self._binary(node)
        if type(node) in CHAINED_OPERATORS:
            return self._chain(node)
        binder = _BINDERS.get(type(node))
        if binder is None:
            self._refuse(node)
        return binder(self, node)

    def condition(self, node: exp.Expr) -> Expression:
        """A bound node that must be true or false."""
        bound = self.bind(node)
        if bound.type not in (BOOLEAN, VOID):
            self._fail(f"{self.clause} needs a condition, not a value of type {bound.type}", node)
        return bound

    # --- operators ------------------------------------------------------------------------------------------

    def _binary(self, node: exp.Expr) -> Expression:
        left, right = self.bind(node.this), self.bind(node.expression)
        operator = BINARY_OPERATORS[type(node)]
        if operator in "+-*/%":
            left, right = beside_decimal(left, right), beside_decimal(right, left)
        return self._call(operator, (left, right), node)

    def _chain(self, node: exp.Expr) -> Expression:
        function = CHAINED_OPERATORS[type(node)]
        arguments: list[Expression] = []
        for side in (self.bind(node.this), self.bind(node.expression)):
            nested = isinstance(side, Call) and side.function == function
            arguments += side.arguments if isinstance(side, Call) and nested else (side,)
        return self._call(function, tuple(arguments), node)

    def _not(self, node: exp.Expr) -> Expression:
        return self._call("not", (self.bind(node.this),), node)

    def _negate(self, node: exp.Expr) -> Expression:
        argument = self.bind(node.this)
        constant = negated(argument) if isinstance(argument, Literal) else None
        return constant or self._call("negate", (argument,), node)

    def _between(self, node: exp.Expr) -> Expression:
        value, low, high = (self.bind(node.args[part]) for part in ("this", "low", "high"))
        bounds = (self._call(">=", (value, low), node), self._call("<=", (value, high), node))
        return self._call("and", bounds, node)

    def _in(self, node: exp.Expr) -> Expression:
        if not node.expressions:
            self._fail("IN takes a list of values; subqueries are not supported", node, NO_SUBQUERY)
        return self._call("in", tuple(self.bind(part) for part in (node.this, *node.expressions)), node)

    def _is(self, node: exp.Expr) -> Expression:
        argument, test = self.bind(node.this), node.expression
        if isinstance(test, exp.Null):
            return self._call("is null", (argument,), node)
        if not isinstance(test, exp.Boolean):
            self._refuse(node)
        wanted = argument if test.this else self._call("not", (argument,), node)
        return self._call("coalesce", (wanted, Literal(False, BOOLEAN)), node)

    def _case(self, node: exp.Expr) -> Expression:
        subject = node.this
        branches = []
        for branch in node.args["ifs"]:
            when = self.bind(branch.this) if subject is None else self._equals(subject, branch.this)
            branches.append((when, self.bind(branch.args["true"])))
        default = node.args.get("default")
        return self._typed_case(branches, None if default is None else self.bind(default), node)

    def _if(self, node: exp.Expr) -> Expression:
        otherwise = node.args.get("false")
        branch = (self.bind(node.this), self.bind(node.args["true"]))
        return self._typed_case([branch], None if otherwise is None else self.bind(otherwise), node)

    def _equals(self, subject: exp.Expr, value: exp.Expr) -> Expression:
        return self._call("=", (self.bind(subject), self.bind(value)), value)

    def _typed_case(
        self,
        branches: list[tuple[Expression, Expression]],
        otherwise: Expression | None,
        node: exp.Expr,
    ) -> Expression:
        otherwise = otherwise or Literal(None, VOID)
        values = [then for _, then in branches] + [otherwise]
        type_: DataType | None = VOID
        for value in values:
            type_ = None if type_ is None else common_type(type_, value.type)
        if type_ is None:
            found = ", ".join(str(value.type) for value in values)
            self._fail(f"the branches of CASE have no common type: {found}", node, "cast them to one type.")
        if any(when.type != BOOLEAN for when, _ in branches):
            self._fail("WHEN needs a condition", node)
        return Case(tuple(branches), otherwise, type_)

    # --- constants and names --------------------------------------------------------------------------------

    def _literal(self, node: exp.Expr) -> Expression:
        if node.args["is_string"]:
            return Literal(node.this, STRING)
        return self._checked(node, number_literal, node.this)

    def _boolean(self, node: exp.Expr) -> Expression:
        return Literal(bool(node.this), BOOLEAN)

    def _null(self, node: exp.Expr) -> Expression:
        return Literal(None, VOID)

    def _hex(self, node: exp.Expr) -> Expression:
        return Literal(bytes.fromhex(node.this), BINARY)

    def _interval(self, node: exp.Expr) -> Expression:
        amount, unit = node.this, node.args.get("unit")
        if not isinstance(amount, exp.Literal) or not isinstance(unit, exp.Var):
            self._fail("this interval cannot be read", node, "write INTERVAL 5 SECONDS or INTERVAL '5' SECOND.")
        return self._checked(node, interval_literal, amount.this, unit.name)

    def _cast(self, node: exp.Expr) -> Expression:
        type_ = self._checked(node, data_type, node.args["to"])
        argument = self.bind(node.this)
        if isinstance(argument, Literal) and isinstance(argument.value, str):
            constant = self._checked(node, time_literal, argument.value, type_)
            if constant is not None:
                return constant
        if not castable(argument.type, type_):
            self._fail(f"{argument.type} cannot be cast to {type_}", node)
        return Cast(argument, type_)

    def _checked(self, node: exp.Expr, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a reader whose complaint gets the place of the node."""
        try:
            return read(*args, **kwargs)
        except UsageError as error:
            self._fail(error.message, node, error.hint)

    def _column(self, node: exp.Expr) -> Expression:
        assert isinstance(node, exp.Column)
        if isinstance(node.this, exp.Star):
            self._fail("* is not a value", node, "COUNT(*) counts combinations; name the columns elsewhere.")
        if not node.table and node.name in self.named:
            return self.named[node.name]
        return self.scope.column(node, self.fragment.span_of(node))

    # --- calls ----------------------------------------------------------------------------------------------

    def _function(self, node: exp.Expr) -> Expression:
        name = str(node.this).lower()
        function = ALIASES.get(name, name)
        if function in AGGREGATES:
            return self._aggregate(function, node, None)
        function = SYNONYMS.get(name, name)
        if function not in FUNCTIONS or (FUNCTIONS[function].is_operator and function == name):
            known = [key for key in (*AGGREGATES, *FUNCTIONS) if key.isidentifier() and key not in ("and", "or", "not")]
            raise UnknownNameError(
                f"function '{node.this}'",
                name,
                sorted({*known} - {"like", "in", "negate"}),
                self.fragment.span_of(node),
                owner="The language",
            )
        if function == "date_trunc":
            self._check_truncation(node)
        return self._call(function, tuple(self.bind(part) for part in node.expressions), node)

    def _check_truncation(self, node: exp.Expr) -> None:
        unit = node.expressions[0] if node.expressions else None
        if not isinstance(unit, exp.Literal) or unit.this.upper() not in TRUNCATION_UNITS:
            self._fail("DATE_TRUNC needs a unit in quotes", node, f"one of: {', '.join(TRUNCATION_UNITS)}.")

    def _filtered(self, node: exp.Expr) -> Expression:
        name = str(node.this.this).lower() if isinstance(node.this, exp.Anonymous) else ""
        function = ALIASES.get(name, name)
        if function not in AGGREGATES:
            self._fail("FILTER belongs to an aggregate", node)
        return self._aggregate(function, node.this, node.expression.this)

    def _aggregate(self, function: str, node: exp.Expr, condition: exp.Expr | None) -> Expression:
        if not self.aggregates:
            hint = "conditions on aggregates go to HAVING." if self.clause == "WHERE" else None
            self._fail(f"the aggregate {function.upper()} cannot stand in {self.clause}", node, hint)
        inner = ExpressionBinder(self.scope, self.fragment, f"an argument of {function.upper()}")
        arguments: tuple[Expression, ...] = ()
        if not (function == "count" and self._counts_combinations(node)):
            if any(isinstance(part, exp.Distinct) for part in node.expressions):
                hint = "aggregate over a stream that Spark has deduplicated (dropDuplicatesWithinWatermark)."
                self._fail("DISTINCT is not supported", node, hint)
            arguments = tuple(inner.bind(part) for part in node.expressions)
        if function == "count" and len(arguments) == 1 and _is_present_constant(arguments[0]):
            arguments = ()
        types = tuple(argument.type for argument in arguments)
        if not AGGREGATES[function].accepts(types):
            self._fail(f"{function.upper()} is not defined for ({', '.join(map(str, types))})", node)
        where = ExpressionBinder(self.scope, self.fragment, "FILTER")
        return Aggregate(function, arguments, None if condition is None else where.condition(condition))

    def _counts_combinations(self, node: exp.Expr) -> bool:
        """COUNT(*) and the papers' COUNT(b.*)."""
        match node.expressions:
            case [exp.Star()]:
                return True
            case [exp.Column(this=exp.Star()) as column]:
                self.scope.input(column.table, self.fragment.span_of(column))
                return True
            case _:
                return False

    def _call(self, function: str, arguments: tuple[Expression, ...], node: exp.Expr) -> Expression:
        types = tuple(argument.type for argument in arguments)
        entry = FUNCTIONS[function]
        if entry.signature(types) is None:
            self._mistyped(function, arguments, node)
        return Call(function, arguments)

    def _mistyped(self, function: str, arguments: tuple[Expression, ...], node: exp.Expr) -> NoReturn:
        types, entry = [argument.type for argument in arguments], FUNCTIONS[function]
        if function == "=" and len(inputs_read(arguments[0]) | inputs_read(arguments[1])) == 2:
            sides = " and ".join(f"{expression_text(side)} is {side.type}" for side in arguments)
            hint = f"cast one side: CAST({expression_text(arguments[0])} AS {types[1]})."
            self._fail(f"the types of a join key differ: {sides}", node, hint)
        shown = ", ".join(map(str, types))
        word = f"'{function}'" if entry.is_operator else function.upper()
        self._fail(f"{word} is not defined for ({shown})", node, f"it is used as {entry.usage}.")

    # --- refusals -------------------------------------------------------------------------------------------

    def _subquery(self, node: exp.Expr) -> NoReturn:
        self._fail("subqueries are not supported", node, NO_SUBQUERY)

    def _over(self, node: exp.Expr) -> NoReturn:
        self._fail("OVER is not supported", node, "an aggregate's window is the bracket behind its stream.")

    def _star(self, node: exp.Expr) -> NoReturn:
        self._fail("* is not a value", node, "COUNT(*) counts combinations; name the columns elsewhere.")

    def _refuse(self, node: exp.Expr) -> NoReturn:
        self._fail(f"this expression is not supported ({type(node).__name__})", node)

    def _fail(self, message: str, node: exp.Expr, hint: str | None = None) -> NoReturn:
        raise QueryError(message, self.fragment.span_of(node), hint)


_Binder = Callable[[ExpressionBinder, exp.Expr], Expression]

_BINDERS: dict[type[exp.Expr], _Binder] = {
    exp.Not: ExpressionBinder._not,
    exp.Neg: ExpressionBinder._negate,
    exp.Between: ExpressionBinder._between,
    exp.In: ExpressionBinder._in,
    exp.Is: ExpressionBinder._is,
    exp.Case: ExpressionBinder._case,
    exp.If: ExpressionBinder._if,
    exp.Literal: ExpressionBinder._literal,
    exp.Boolean: ExpressionBinder._boolean,
    exp.Null: ExpressionBinder._null,
    exp.HexString: ExpressionBinder._hex,
    exp.Interval: ExpressionBinder._interval,
    exp.Cast: ExpressionBinder._cast,
    exp.Column: ExpressionBinder._column,
    exp.Anonymous: ExpressionBinder._function,
    exp.Filter: ExpressionBinder._filtered,
    exp.Subquery: ExpressionBinder._subquery,
    exp.Select: ExpressionBinder._subquery,
    exp.Exists: ExpressionBinder._subquery,
    exp.Any: ExpressionBinder._subquery,
    exp.All: ExpressionBinder._subquery,
    exp.Window: ExpressionBinder._over,
    exp.Star: ExpressionBinder._star,
}


def _is_present_constant(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is not None


def conjunction(parts: tuple[Expression, ...]) -> Expression | None:
    """The parts joined by AND; None for none."""
    return None if not parts else parts[0] if len(parts) == 1 else Call("and", parts)


def contains_aggregate(expression: Expression) -> bool:
    """Whether an aggregate occurs in it."""
    return any(isinstance(node, Aggregate) for node in walk(expression))
