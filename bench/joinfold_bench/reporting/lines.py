"""Charts of lines, bands and points over numbers, as SVG: panels below each other, which share the x axis."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

LEFT, RIGHT, TOP, BOTTOM = 76, 230, 48, 44
PLOT_WIDTH, PLOT_HEIGHT, GAP = 620, 190, 52
TICKS = 5
COLOURS = ("#c2410c", "#1d4ed8", "#15803d", "#7e22ce", "#0f766e", "#64748b")
GRID, TEXT, LEVEL = "#e2e8f0", "#475569", "#0f172a"
BAND_OPACITY = 0.18

Point = tuple[float, float]
Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Line:
    """Points in order of x, joined by a line. ``whiskers`` has for each point how far it reaches up and down."""

    name: str
    points: tuple[Point, ...]
    whiskers: tuple[float, ...] = ()
    with_dots: bool = False

    @property
    def all_points(self) -> list[Point]:
        """Everything that has to be in the picture."""
        reach = self.whiskers or (0.0,) * len(self.points)
        return [(x, y + sign * up) for (x, y), up in zip(self.points, reach, strict=True) for sign in (-1, 1)]


@dataclass(frozen=True, slots=True)
class Band:
    """The area between two lines over the same x."""

    name: str
    low: tuple[Point, ...]
    high: tuple[Point, ...]

    @property
    def all_points(self) -> list[Point]:
        """Everything that has to be in the picture."""
        return [*self.low, *self.high]


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line with a name, such as a limit."""

    name: str
    y: float


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: what is drawn over x, and horizontal lines. ``is_log``: the y axis is logarithmic.

    ``y_range`` is what the y axis shows at least.
    """

    title: str
    drawn: tuple[Line | Band, ...]
    levels: tuple[Level, ...] = ()
    is_log: bool = False
    y_range: tuple[float, float] | None = None


def lines_svg(title: str, x_title: str, panels: Sequence[Panel]) -> str:
    """The panels as one picture."""
    width = LEFT + PLOT_WIDTH + RIGHT
    height = TOP + len(panels) * (PLOT_HEIGHT + GAP) - GAP + BOTTOM + 20
    xs = [x for panel in panels for drawn in panel.drawn for x, _ in drawn.all_points]
    x_ticks = linear_ticks(min(xs, default=0.0), max(xs, default=1.0))
    x = _scale(x_ticks[0], x_ticks[-1], LEFT, LEFT + PLOT_WIDTH)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="16" y="22" font-size="15">{escape(title)}</text>',
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, x, x_ticks, TOP + 16 + number * (PLOT_HEIGHT + GAP))
    parts.append(_text(LEFT + PLOT_WIDTH / 2, height - 10, x_title, "middle"))
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, x: Scale, x_ticks: list[float], top: float) -> list[str]:
    bottom = top + PLOT_HEIGHT
    ys = [y for drawn in panel.drawn for _, y in drawn.all_points] + [level.y for level in panel.levels]
    ys += panel.y_range or ()
    y_ticks, y = _log_axis(ys, top, bottom) if panel.is_log else _linear_axis(ys, top, bottom)
    parts = [_text(LEFT, top - 8, panel.title, "start")]
    parts += [_line(LEFT, y(tick), LEFT + PLOT_WIDTH, y(tick), GRID) for tick in y_ticks]
    parts += [_text(LEFT - 8, y(tick) + 4, number_text(tick), "end") for tick in y_ticks]
    parts += [_line(x(tick), top, x(tick), bottom, GRID) for tick in x_ticks]
    parts += [_text(x(tick), bottom + 16, number_text(tick), "middle") for tick in x_ticks]
    for number, drawn in enumerate(panel.drawn):
        colour = COLOURS[number % len(COLOURS)]
        parts += _band(drawn, x, y, colour) if isinstance(drawn, Band) else _points(drawn, x, y, colour)
        at = top + 10 + 18 * number
        opacity = BAND_OPACITY if isinstance(drawn, Band) else 1
        swatch = f'<rect x="{LEFT + PLOT_WIDTH + 14}" y="{at - 8:g}" width="14" height="8" fill="{colour}"'
        parts.append(f'{swatch} fill-opacity="{opacity}"/>')
        parts.append(_text(LEFT + PLOT_WIDTH + 34, at, drawn.name, "start"))
    for level in panel.levels:
        dashed = _line(LEFT, y(level.y), LEFT + PLOT_WIDTH, y(level.y), LEVEL)
        parts.append(dashed.replace("/>", ' stroke-dasharray="5 4"/>'))
        parts.append(_text(LEFT + PLOT_WIDTH - 4, y(level.y) - 4, level.name, "end"))
    return parts


def _linear_axis(ys: list[float], top: float, bottom: float) -> tuple[list[float], Scale]:
    ticks = linear_ticks(min(ys, default=0.0), max(ys, default=1.0))
    return ticks, _scale(ticks[0], ticks[-1], bottom, top)


def _log_axis(ys: list[float], top: float, bottom: float) -> tuple[list[float], Scale]:
    """Values that are not positive are drawn at the bottom."""
    positive = [value for value in ys if value > 0]
    ticks = log_ticks(min(positive, default=1.0), max(positive, default=10.0))
    scale = _scale(math.log10(ticks[0]), math.log10(ticks[-1]), bottom, top)
    return ticks, lambda value: scale(math.log10(max(value, ticks[0])))


def _points(line: Line, x: Scale, y: Scale, colour: str) -> list[str]:
    at = [(x(own), y(value)) for own, value in line.points]
    parts = []
    if len(at) > 1:
        path = " ".join(f"{left:.1f},{top:.1f}" for left, top in at)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
    if line.with_dots or len(at) == 1:
        parts += [f'<circle cx="{left:.1f}" cy="{top:.1f}" r="2.6" fill="{colour}"/>' for left, top in at]
    for (left, _), (_, value), reach in zip(at, line.points, line.whiskers, strict=False):
        parts.append(_line(left, y(value - reach), left, y(value + reach), colour))
    return parts


def _band(band: Band, x: Scale, y: Scale, colour: str) -> list[str]:
    around = [*band.low, *reversed(band.high)]
    path = " ".join(f"{x(own):.1f},{y(value):.1f}" for own, value in around)
    return [f'<polygon points="{path}" fill="{colour}" fill-opacity="{BAND_OPACITY}"/>']


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (end - start) * (value - low) / (high - low)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{TEXT}">{escape(text)}</text>'


def linear_ticks(low: float, high: float) -> list[float]:
    """About five round numbers, from one that is at most ``low`` to one that is at least ``high``."""
    if high - low <= 1e-9 * abs(high):  # as good as equal
        low, high = low - 0.5, low + 0.5
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * number for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """The powers of ten from one that is at most ``low`` to one that is at least ``high``; two or more."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def number_text(number: float) -> str:
    """A number of an axis, without needless digits: 0, 0.25, 10, 12,000."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.6g}"


def points_of(xs: Iterable[float], ys: Iterable[float]) -> tuple[Point, ...]:
    """Points from their x and y."""
    return tuple(zip(xs, ys, strict=True))
