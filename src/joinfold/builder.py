"""Queries as a chain of Python calls instead of SQL text. Each call adds to the clauses of a parsed query.

    session["bids"].window("1 hour", slide="1 minute")
        .join(session["auctions"].unbounded(), on="auction_id")
        .group_by("category").agg(n=jf.count(), top=jf.max("price")).having("n > 5")

Every call returns a new builder. A builder is a `Query`, bound when one of its properties is first read. The binder is
the one for SQL text, so both ways give the same logical query.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from math import isfinite
from typing import Self

from joinfold.dialect import Fragment, ParsedInput, ParsedQuery, ParsedShed, read_expression
from joinfold.errors import QueryError, Span, UsageError
from joinfold.logical.expressions import Value
from joinfold.logical.query import Emit, Every, OnArrival, OnFull, OnSlide, OnTime, OnTrigger, OnWindowId, Sync
from joinfold.logical.shedding import (
    FAVOURS,
    UNSTATED,
    AllTo,
    Budget,
    Favour,
    HoldBytes,
    HoldRows,
    KeepUp,
    Process,
    Sampler,
    budget_to_hold,
)
from joinfold.names import find_name, identifier_text
from joinfold.notebook import fragment, lines
from joinfold.query import Query, SparkOwner
from joinfold.registered import Registered
from joinfold.timetext import duration_us, timestamp_us
from joinfold.window import Continuous, Landmark, PartitionedRows, RangeByRows, Rows, Sliding, Window

_EMITS: dict[str, Emit] = {"slide": OnSlide(), "arrival": OnArrival(), "trigger": OnTrigger()}
_SAMPLERS: dict[str, Sampler] = {"key": "key", "row": "row"}
_FAVOURS: dict[str, Favour] = {favour: favour for favour in FAVOURS}
_SYNCS: dict[str, Sync] = {"time": OnTime(), "full": OnFull(), "window id": OnWindowId()}


@dataclass(frozen=True, slots=True)
class Measure:
    """An aggregate for `Builder.agg`, which gives it a name; made by `count`, `sum`, `max` and similar functions."""

    text: str

    def filter(self, condition: str) -> "Measure":
        """Aggregates only the combinations for which the condition is true."""
        return Measure(f"{self.text} FILTER (WHERE {condition})")


class Builder(Query):
    """A query that is being built by calls."""

    @classmethod
    def of(cls, name: str, inputs: Mapping[str, Registered], session: SparkOwner) -> "Builder":
        """A query over one input, still without a window."""
        found = find_name(name, inputs)
        name = found[0] if found else name
        return cls(ParsedQuery((), (ParsedInput(name, None, None, Span(name, 0, len(name))),)), inputs, session)

    # --- inputs ---------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        try:
            return super().__repr__()
        except QueryError:
            return f"<joinfold.Builder over {self._inputs_text()}, not yet a query>"

    def _repr_html_(self) -> str:
        """The query as HTML, for a notebook, or what is missing to make one."""
        try:
            return super()._repr_html_()
        except QueryError as error:
            return fragment(lines(f"{self!r}\n{error.report()}"))

    def alias(self, name: str) -> Self:
        """Gives the input another name."""
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"an alias cannot be {name!r}", "give a name, as text.")
        return self._with_input(alias=name)

    def window(
        self, size: str | timedelta, slide: str | timedelta | int | None = None, start: str | None = None
    ) -> Self:
        """Sets a window in time; it slides by a time, by a number of rows, or, without ``slide``, continuously."""
        window: Window
        if slide is None:
            window = Continuous(duration_us(size))
        elif isinstance(slide, int):
            window = RangeByRows(duration_us(size), slide)
        else:
            window = Sliding(duration_us(size), duration_us(slide), None if start is None else timestamp_us(start))
        if start is not None and not isinstance(window, Sliding):
            raise UsageError("start needs a window with a slide in time", "give slide, such as slide='1 minute'.")
        return self._with_input(window=window)

    def tumble(self, size: str | timedelta, start: str | None = None) -> Self:
        """Sets a tumbling window: its slide is its size."""
        return self.window(size, slide=size, start=start)

    def rows(self, size: int, slide: int = 1, partition_by: str | tuple[str, ...] = ()) -> Self:
        """Sets a window of the last ``size`` rows, or with ``partition_by`` of the last rows of each key."""
        if not isinstance(partition_by, str | tuple | list) or not all(isinstance(own, str) for own in partition_by):
            raise UsageError(f"partition_by cannot be {partition_by!r}", "give the name of a column, or several.")
        by = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
        if by and slide != 1:
            raise UsageError(
                "a window with partition_by cannot have a slide", "it moves at every row. Leave out slide."
            )
        return self._with_input(window=PartitionedRows(by, size) if by else Rows(size, slide))

    def unbounded(self, since: str | None = None) -> Self:
        """Sets a window of all rows so far, or of all since a timestamp."""
        return self._with_input(window=Landmark(None if since is None else timestamp_us(since)))

    def join(self, other: "Builder", on: str | tuple[str, ...] | list[str]) -> Self:
        """Joins another input, on columns that both have or on conditions."""
        joined: object = other
        condition: object = on
        if not isinstance(joined, Builder):
            hint = "write session['bids'].window('1 hour')."
            raise UsageError(f"join takes an input of a session, not {type(other).__name__}", hint)
        if not isinstance(condition, str | tuple | list):
            hint = "give a column that both have, on='k', a condition, on='a.x = b.y', or several of them."
            raise UsageError(f"a join cannot be on {on!r}", hint)
        if replace(other._parsed, inputs=(), where=()) != ParsedQuery((), ()):
            hint = "call group_by, agg and select after join."
            raise UsageError("join takes inputs with windows and conditions, not a query with other clauses", hint)
        where = [*self._parsed.where, *other._parsed.where]
        for part in (on,) if isinstance(on, str) else on:
            where.append(read_expression(self._equality(part, other) if part.isidentifier() else part))
        inputs = (*self._parsed.inputs, *other._parsed.inputs)
        together = replace(self._parsed, inputs=inputs, where=tuple(where))
        return type(self)(together, {**self._inputs, **other._inputs}, self._session)

    # --- clauses --------------------------------------------------------------------------------------------

    def where(self, *conditions: str) -> Self:
        """Keeps only the combinations for which all conditions are true."""
        return self._with(where=(*self._parsed.where, *map(read_expression, conditions)))

    def group_by(self, *expressions: str) -> Self:
        """Groups by the expressions, which also become the first output columns."""
        fragments = tuple(map(read_expression, expressions))
        return self._with(group_by=(*self._parsed.group_by, *fragments))

    def agg(self, **measures: Measure | str) -> Self:
        """Adds named aggregates, or expressions over aggregates, after the output columns so far."""
        named = tuple(_named(measure, name) for name, measure in measures.items())
        chosen = self._parsed.select or self._parsed.group_by
        return self._with(select=(*chosen, *named))

    def select(self, *expressions: str, **named: Measure | str) -> Self:
        """Sets the output columns, in order; they replace all earlier ones."""
        fragments = (*map(read_expression, expressions), *(_named(part, name) for name, part in named.items()))
        return self._with(select=fragments)

    def having(self, *conditions: str) -> Self:
        """Keeps only the groups for which all conditions are true."""
        return self._with(having=(*self._parsed.having, *map(read_expression, conditions)))

    def emit(self, on: str | None = None, every: str | timedelta | None = None) -> Self:
        """Sets when to answer: ``on`` 'slide', 'arrival' or 'trigger', or ``every`` duration."""
        if (on is None) == (every is None):
            raise UsageError("emit takes either on or every", "write emit('arrival') or emit(every='5 seconds').")
        if on is not None:
            return self._with(emit=_EMITS[_choice("emit", on, _EMITS)])
        period_us = duration_us("" if every is None else every)
        if period_us == 0:
            raise UsageError(
                f"the emit period must be positive, not '{every}'", "give a longer one, such as '5 seconds'."
            )
        return self._with(emit=Every(period_us))

    def changes(self) -> Self:
        """Emits only the rows that appeared, changed or vanished since the instant before."""
        return self._with(changes=True)

    def snapshot(self) -> Self:
        """Emits all rows at each instant (the default)."""
        return self._with(changes=False)

    def sync(self, on: str, mod: int | None = None) -> Self:
        """Sets which windows of the inputs are joined: on 'time', 'full' or 'window id'."""
        rule = _SYNCS[_choice("sync", on, _SYNCS)]
        if mod is not None:
            if not isinstance(rule, OnWindowId) or mod <= 0:
                raise UsageError(
                    "mod must be a positive number and needs sync('window id')", "write sync('window id', mod=4)."
                )
            rule = OnWindowId(mod)
        return self._with(sync=rule)

    def shed(
        self,
        *,
        keep_up: bool | str = False,
        process: int | None = None,
        hold: int | str | None = None,
        sample: str | None = None,
        confidence: float | None = None,
        favour: str | None = None,
        at_least: int | None = None,
        at_least_per_second: int | None = None,
        seed: int | None = None,
    ) -> Self:
        """Sets how the query degrades when CPU or memory is short, as SHED does; without a budget as SHED alone.

        Budgets: ``keep_up`` True or within a duration, ``process`` rows per second, ``hold`` a number of rows or a
        size such as '64 megabytes'. Aggregates: ``sample`` by 'key' or 'row', ``confidence`` in percent. Plain joins:
        ``favour`` 'most pairs', 'rates', 'inverse rates', 'windows', 'equal' or 'all to alias', and ``at_least`` so
        many rows, or rows per second, of each stream.
        """
        try:
            budgets: list[Budget] = []
            if keep_up is not False:
                budgets.append(KeepUp(None if keep_up is True else duration_us(str(keep_up))))
            if process is not None:
                budgets.append(Process(process))
            if hold is not None:
                budgets.append(_held(hold) if isinstance(hold, str) else HoldRows(hold))
            shed = ParsedShed(
                budgets=tuple(budgets) or UNSTATED,
                sampler=None if sample is None else _SAMPLERS[_choice("sample", sample, _SAMPLERS)],
                confidence=confidence,
                favour=None if favour is None else _favour(favour),
                least_rows=at_least,
                least_rows_per_second=at_least_per_second,
                seed=seed,
            )
        except UsageError as error:
            hint = "write shed(hold='64 megabytes'), shed(process=50000), or shed(keep_up=True, confidence=95)."
            raise UsageError(error.message, error.hint or hint) from error
        return self._with(shed=shed)

    def option(self, **options: Value) -> Self:
        """Sets options, as OPTION (…) does."""
        for name, value in options.items():
            if not isinstance(value, bool | int | float | str) or (isinstance(value, float) and not isfinite(value)):
                raise UsageError(f"option '{name}' cannot be {value!r}", "give a string, a number, True or False.")
        lower = {name.lower(): value for name, value in options.items()}
        return self._with(options=tuple({**dict(self._parsed.options), **lower}.items()))

    # --- internals ------------------------------------------------------------------------------------------

    def _with(self, **changes: object) -> Self:
        return type(self)(replace(self._parsed, **changes), self._inputs, self._session)  # type: ignore[arg-type]

    def _with_input(self, **changes: object) -> Self:
        if len(self._parsed.inputs) != 1:
            hint = "write a.window(…).join(b.window(…), on=…)."
            raise UsageError("the window or alias of an input must be set before the join", hint)
        return self._with(inputs=(replace(self._parsed.inputs[0], **changes),))  # type: ignore[arg-type]

    def _equality(self, column: str, other: "Builder") -> str:
        left, right = self._holder(column), other._holder(column)
        return f"{left}.{identifier_text(column)} = {right}.{identifier_text(column)}"

    def _holder(self, column: str) -> str:
        """The alias of the first input that has the column."""
        for entry in self._parsed.inputs:
            input_ = self._inputs.get(entry.name)
            if input_ is not None and find_name(column, input_.source.schema.names):
                return identifier_text(entry.alias or entry.name.rsplit(".", 1)[-1])
        raise QueryError(
            f"cannot join on '{column}': {self._inputs_text()} has no such column",
            hint="give a condition, such as on='a.x = b.y'.",
        )

    def _inputs_text(self) -> str:
        return ", ".join(entry.alias or entry.name for entry in self._parsed.inputs)


def _named(measure: Measure | str, name: str) -> Fragment:
    return read_expression(measure.text if isinstance(measure, Measure) else measure).named(name)


def _held(text: str) -> HoldRows | HoldBytes:
    """The budget of '64 megabytes' or '1000 rows'."""
    found = re.fullmatch(r"\s*(-?[0-9]{1,25})\s+(\S+)\s*", text)
    if found is None:
        raise UsageError(f"'{text}' is not an amount to hold", "write '64 megabytes' or '1000 rows'.")
    return budget_to_hold(int(found[1]), found[2])


def _favour(text: str) -> Favour | AllTo:
    if text.startswith("all to "):
        return AllTo(text.removeprefix("all to ").strip())
    return _FAVOURS[_choice("favour", text, _FAVOURS, "all to alias")]


def _choice(what: str, word: str, choices: Mapping[str, object], *others: str) -> str:
    """The word, which is one of the choices; errors also name ``others``."""
    if word not in choices:
        raise UsageError(f"unknown {what} rule '{word}'", f"the rules are: {', '.join((*choices, *others))}.")
    return word
