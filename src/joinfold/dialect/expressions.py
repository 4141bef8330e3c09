"""Binding of expressions: from sqlglot's trees to typed expressions with resolved names.

A binder binds one fragment. Aggregates are allowed only in SELECT and HAVING. ``named`` has the outputs that a clause
may refer to by their alias.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NoReturn, ParamSpec, TypeVar

from sqlglot import exp

from joinfold.algebra import AGGREGATES, ALIASES
from joinfold.dialect.literals import (
    beside_decimal,
    binary_literal,
    interval_literal,
    negated,
    number_literal,
    time_literal,
)
from joinfold.dialect.refusals import (
    CLOCKS,
    INSTEAD,
    INSTEAD_OF_CLOCK,
    NO_CLOCK,
    NO_STAR,
    NO_SUBQUERY,
    aggregate_mismatch,
    mismatch,
    unread,
)
from joinfold.dialect.schema import data_type
from joinfold.dialect.scope import Scope
from joinfold.dialect.tokens import Fragment
from joinfold.errors import QueryError, UsageError, suggestion
from joinfold.logical.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    walk,
)
from joinfold.logical.functions import FUNCTIONS, SYNONYMS, TRUNCATION_UNITS
from joinfold.names import find_name
from joinfold.types import (
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

CALLABLE = (*(name for name, function in FUNCTIONS.items() if not function.is_operator), "cast", "concat", "mod")


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
        binder = _BINDERS.get(type(node))
        if binder is None or unread(node):
            self._refuse(node)
        bound = binder(self, node)
        return self._call("not", (bound,), node) if node.args.get("negate") else bound

    def condition(self, node: exp.Expr) -> Expression:
        """The bound form of a node that must be a condition."""
        bound = self.bind(node)
        if bound.type not in (BOOLEAN, VOID):
            self._fail(f"{self.clause} needs a condition, not a value of type {bound.type}", node)
        return bound

    # --- operators ------------------------------------------------------------------------------------------

    def _binary(self, node: exp.Expr) -> Expression:
        return self._operation(BINARY_OPERATORS[type(node)], (self.bind(node.this), self.bind(node.expression)), node)

    def _chain(self, node: exp.Expr) -> Expression:
        """One call for a chain such as ``a AND b AND c`` of any length, which sqlglot nests to the left."""
        kind, sides = type(node), [node.expression]
        first = node.this.unnest()
        while type(first) is kind:
            sides.append(first.expression)
            first = first.this.unnest()
        arguments = tuple(self.bind(side) for side in (first, *reversed(sides)))
        return self._operation(CHAINED_OPERATORS[kind], arguments, node)

    def _operation(self, operator: str, arguments: tuple[Expression, ...], node: exp.Expr) -> Expression:
        """A call in canonical form: MOD(x, y) becomes x % y, CONCAT(x) becomes x, -(5) becomes -5."""
        if operator in ("+", "-", "*", "/", "%") and len(arguments) == 2:
            left, right = arguments
            arguments = (beside_decimal(left, right), beside_decimal(right, left))
        if operator in CHAINED_OPERATORS.values():
            arguments = flattened(operator, arguments)
            if len(arguments) == 1:
                return arguments[0]
        if operator == "negate" and len(arguments) == 1 and isinstance(arguments[0], Literal):
            constant = negated(arguments[0])
            if constant is not None:
                return constant
        return self._call(operator, arguments, node)

    def _not(self, node: exp.Expr) -> Expression:
        return self._call("not", (self.bind(node.this),), node)

    def _negate(self, node: exp.Expr) -> Expression:
        return self._operation("negate", (self.bind(node.this),), node)

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
            when = self._when(branch.this) if subject is None else self._equals(subject, branch.this)
            branches.append((when, self.bind(branch.args["true"])))
        default = node.args.get("default")
        return self._typed_case(branches, None if default is None else self.bind(default), node)

    def _if(self, node: exp.Expr) -> Expression:
        otherwise = node.args.get("false")
        branch = (self._when(node.this), self.bind(node.args["true"]))
        return self._typed_case([branch], None if otherwise is None else self.bind(otherwise), node)

    def _when(self, node: exp.Expr) -> Expression:
        condition = self.bind(node)
        if condition.type != BOOLEAN:
            self._fail(f"WHEN needs a condition, not a value of type {condition.type}", node)
        return condition

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
        return self._checked(node, binary_literal, node.this)

    def _interval(self, node: exp.Expr) -> Expression:
        amount, unit = node.this, node.args.get("unit")
        if not isinstance(amount, exp.Literal) or not isinstance(unit, exp.Var):
            self._fail("this is not a valid interval", node, "write INTERVAL 5 SECONDS or INTERVAL '5' SECOND.")
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
        """The result of ``read``; its `UsageError` becomes a `QueryError` at the node."""
        try:
            return read(*args, **kwargs)
        except UsageError as error:
            self._fail(error.message, node, error.hint)

    def _column(self, node: exp.Expr) -> Expression:
        assert isinstance(node, exp.Column)
        if isinstance(node.this, exp.Star):
            self._star(node.this)
        named = [] if node.table else find_name(node.name, self.named)
        return self.named[named[0]] if named else self.scope.column(node, self.fragment)

    # --- calls ----------------------------------------------------------------------------------------------

    def _function(self, node: exp.Expr) -> Expression:
        name = str(node.this).lower()
        function = ALIASES.get(name, name)
        if function in AGGREGATES:
            return self._aggregate(function, node, None)
        function = SYNONYMS.get(name, name)
        if function not in FUNCTIONS or (FUNCTIONS[function].is_operator and function == name):
            known = sorted(key.upper() for key in (*AGGREGATES, *CALLABLE))
            near = suggestion(name, known)
            whole = self.fragment.span_of(node)
            at = replace(whole, end=whole.start + len(str(node.this)))
            if name.upper() in CLOCKS:
                raise QueryError(NO_CLOCK, at, INSTEAD_OF_CLOCK)
            hint = f"did you mean {near}?" if near else f"the functions are: {', '.join(known)}."
            raise QueryError(f"unknown function '{node.this}'", at, hint)
        if function == "date_trunc":
            self._check_truncation(node)
        return self._operation(function, tuple(self.bind(part) for part in node.expressions), node)

    def _check_truncation(self, node: exp.Expr) -> None:
        unit = node.expressions[0] if node.expressions else node
        if not isinstance(unit, exp.Literal) or unit.this.upper() not in TRUNCATION_UNITS:
            hint = f"the units are: {', '.join(TRUNCATION_UNITS)}."
            self._fail("DATE_TRUNC needs a unit of time in quotes", unit, hint)

    def _filtered(self, node: exp.Expr) -> Expression:
        name = str(node.this.this).lower() if isinstance(node.this, exp.Anonymous) else ""
        function = ALIASES.get(name, name)
        if function not in AGGREGATES:
            self._fail("only an aggregate can have FILTER", node, "put conditions on rows in WHERE.")
        return self._aggregate(function, node.this, node.expression.this)

    def _aggregate(self, function: str, node: exp.Expr, condition: exp.Expr | None) -> Expression:
        if not self.aggregates:
            hint = "put conditions on aggregates in HAVING." if self.clause in ("ON", "WHERE") else None
            self._fail(f"the aggregate {function.upper()} is not allowed in {self.clause}", node, hint)
        inner = ExpressionBinder(self.scope, self.fragment, f"an argument of {function.upper()}")
        arguments: tuple[Expression, ...] = ()
        entry = AGGREGATES[function]
        if not (entry.counts_rows and self._counts_combinations(node)):
            if any(isinstance(part, exp.Distinct) for part in node.expressions):
                hint = "remove duplicates in Spark before registering the stream (dropDuplicatesWithinWatermark)."
                self._fail(f"{function.upper()}(DISTINCT …) is not supported", node, hint)
            arguments = tuple(inner.bind(part) for part in node.expressions)
        if entry.counts_rows and len(arguments) == 1 and _is_present_constant(arguments[0]):
            arguments = ()
        types = tuple(argument.type for argument in arguments)
        if not entry.accepts(types):
            message, hint = aggregate_mismatch(function, types)
            self._fail(message, node, hint)
        where = ExpressionBinder(self.scope, self.fragment, "FILTER")
        return Aggregate(function, arguments, None if condition is None else where.condition(condition))

    def _counts_combinations(self, node: exp.Expr) -> bool:
        """Whether the argument is * or, as in the papers, b.*."""
        match node.expressions:
            case [exp.Star() as star] if not unread(star):
                return True
            case [exp.Column(this=exp.Star() as star) as column] if not unread(star):
                self.scope.input(column.table, self.fragment.span_of(column))
                return True
            case _:
                return False

    def _call(self, function: str, arguments: tuple[Expression, ...], node: exp.Expr) -> Expression:
        if FUNCTIONS[function].signature(tuple(argument.type for argument in arguments)) is None:
            message, hint = mismatch(function, arguments)
            self._fail(message, node, hint)
        return Call(function, arguments)

    # --- refusals -------------------------------------------------------------------------------------------

    def _subquery(self, node: exp.Expr) -> NoReturn:
        self._fail("subqueries are not supported", node, NO_SUBQUERY)

    def _over(self, node: exp.Expr) -> NoReturn:
        self._fail("OVER is not supported", node, "write the window after the stream in FROM: stream [10 MINUTE].")

    def _star(self, node: exp.Expr) -> NoReturn:
        if unread(node):
            self._fail("nothing may follow *", node, "list the columns that you want.")
        self._fail("* is not a value", node, NO_STAR)

    def _refuse(self, node: exp.Expr) -> NoReturn:
        if isinstance(node, exp.Star):
            self._star(node)
        if isinstance(node, exp.Alias):
            self._fail(f"unexpected '{node.alias}'", node.args["alias"])
        self._fail("this expression is not supported", node, INSTEAD.get(type(node)))

    def _fail(self, message: str, node: exp.Expr, hint: str | None = None) -> NoReturn:
        raise QueryError(message, self.fragment.span_of(node), hint)


_Binder = Callable[[ExpressionBinder, exp.Expr], Expression]

_BINDERS: dict[type[exp.Expr], _Binder] = {
    **dict.fromkeys(BINARY_OPERATORS, ExpressionBinder._binary),
    **dict.fromkeys(CHAINED_OPERATORS, ExpressionBinder._chain),
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
    exp.Window: ExpressionBinder._over,
    exp.Star: ExpressionBinder._star,
}


def _is_present_constant(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is not None


def flattened(function: str, arguments: Iterable[Expression]) -> tuple[Expression, ...]:
    """The arguments of a chain; an argument that is a call of the same function is replaced by its arguments."""
    return tuple(
        part
        for argument in arguments
        for part in (
            argument.arguments if isinstance(argument, Call) and argument.function == function else (argument,)
        )
    )


def conjunction(parts: tuple[Expression, ...]) -> Expression | None:
    """The parts joined by AND; None if there are no parts."""
    return None if not parts else parts[0] if len(parts) == 1 else Call("and", flattened("and", parts))


def contains_aggregate(expression: Expression) -> bool:
    """Whether the expression contains an aggregate."""
    return any(isinstance(node, Aggregate) for node in walk(expression))
