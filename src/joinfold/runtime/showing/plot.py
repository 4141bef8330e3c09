"""A plot of one column of the answers over their instants, drawn by matplotlib."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from math import nan
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from joinfold.errors import SetupError, UsageError, suggestion
from joinfold.runtime.showing.cells import value_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LINES = 10
CHANGE = "change"
Line = tuple[list[Any], list[float]]


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure of matplotlib, which a notebook shows."""

    figure: "Figure"
    title: str

    def __str__(self) -> str:
        return self.title

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        """The picture, for a notebook."""
        drawn = BytesIO()
        self.figure.savefig(drawn, format="png", dpi=110)
        return {"image/png": drawn.getvalue(), "text/plain": self.title}


def require_matplotlib() -> None:
    """Raises `SetupError` if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise SetupError("a plot needs matplotlib", "pip install 'joinfold[notebook]'.") from error


def check_columns(schema: pa.Schema, column: str, by: str | None) -> None:
    """Raises `UsageError` for columns that the answers do not have, or that cannot be drawn."""
    for name in (column, *(() if by is None else (by,))):
        if name not in schema.names:
            near = suggestion(str(name), schema.names)
            hint = f"did you mean '{near}'? The answers have" if near else "the answers have"
            raise UsageError(f"the answers have no column '{name}'", f"{hint}: {', '.join(schema.names)}.")
    type_ = schema.field(column).type
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    if not any(is_kind(type_) for is_kind in numeric):
        numbers = [own.name for own in schema if any(is_kind(own.type) for is_kind in numeric)]
        raise UsageError(
            f"the column '{column}' is {type_}, and only numbers can be drawn", f"they are: {', '.join(numbers)}."
        )


def lines_of(answers: pa.Table, order: Sequence[str], column: str, by: str | None) -> dict[str, Line]:
    """The points of each line: of each value of ``by``, or of one line. A group that vanished has a gap."""
    lines: dict[str, Line] = {}
    for row in answers.to_pylist():
        times, values = lines.setdefault(column if by is None else value_text(row[by]), ([], []))
        is_gone = row.get(CHANGE) == "delete"
        times.append(row[order[0]])
        values.append(nan if is_gone or row[column] is None else float(row[column]))
    return lines


def plot_of(answers: pa.Table, order: Sequence[str], column: str, by: str | None) -> Plot:
    """The plot. Of many lines those with the largest last values are drawn."""
    from matplotlib.figure import Figure

    lines = lines_of(answers, order, column, by)
    largest = sorted(lines, key=lambda name: -_last(lines[name]))[:MOST_LINES]
    style = "steps-post" if CHANGE in answers.column_names else "default"
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for name in sorted(largest):
        axes.plot(*lines[name], marker=".", drawstyle=style, label=name)
    shown = f"{len(largest)} of {len(lines)} values of {by}" if len(lines) > MOST_LINES else by
    title = f"{column} over {order[0]}" + ("" if by is None else f", by {shown}")
    axes.set_title(title, fontsize="medium")
    axes.set_ylabel(column)
    axes.grid(alpha=0.3)
    if not lines:
        axes.text(0.5, 0.5, "no answers yet", transform=axes.transAxes, ha="center")
    elif by is not None:
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", title=by)
    if lines and isinstance(next(iter(lines.values()))[0][0], datetime):
        figure.autofmt_xdate()
    return Plot(figure, title)


def _last(line: Line) -> float:
    values = [value for value in line[1] if value == value]
    return values[-1] if values else float("-inf")
