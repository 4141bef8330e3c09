"""A chart of the rates: horizontal bars on a log scale, as SVG."""

import math
from collections.abc import Sequence
from html import escape

from joinfold.timetext import duration_text
from joinfold_bench.engines.measurements import Measurement

LABEL_WIDTH, BAR_AREA, MARGIN = 330, 520, 110
ROW_HEIGHT, BAR_HEIGHT, TOP = 26, 16, 56
OURS, OTHERS, WHISKER = "#c2410c", "#64748b", "#0f172a"


def rates_svg(measurements: Sequence[Measurement]) -> str:
    """The chart. A measurement is a bar as long as its median, with a line from its slowest to its fastest run."""
    low = math.floor(math.log10(min(measurement.rate.low for measurement in measurements)))
    high = math.ceil(math.log10(max(measurement.rate.high for measurement in measurements)))
    high = max(high, low + 1)

    def x(rate: float) -> float:
        return LABEL_WIDTH + BAR_AREA * (math.log10(rate) - low) / (high - low)

    width, height = LABEL_WIDTH + BAR_AREA + MARGIN, TOP + ROW_HEIGHT * len(measurements) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        '<text x="16" y="22" font-size="15">Input rows per second, median and spread (log scale)</text>',
    ]
    for power in range(low, high + 1):
        at = x(10**power)
        parts.append(f'<line x1="{at:.1f}" y1="{TOP - 8}" x2="{at:.1f}" y2="{height - 12}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{at:.1f}" y="{TOP - 12}" text-anchor="middle" fill="#475569">{10**power:,}</text>')
    for number, measurement in enumerate(measurements):
        parts += _bar(measurement, TOP + ROW_HEIGHT * number, x(10**low), x(measurement.rate.middle))
        parts.append(_whisker(TOP + ROW_HEIGHT * number, x(measurement.rate.low), x(measurement.rate.high)))
    return "\n".join([*parts, "</svg>", ""])


def _bar(measurement: Measurement, top: float, start: float, end: float) -> list[str]:
    name = f"{measurement.engine} ({measurement.dataset.name}, slide {duration_text(measurement.slide_us).lower()})"
    colour = OURS if measurement.engine == "joinfold" else OTHERS
    middle = top + BAR_HEIGHT - 3
    return [
        f'<text x="{LABEL_WIDTH - 8}" y="{middle}" text-anchor="end">{escape(name)}</text>',
        f'<rect x="{start:.1f}" y="{top}" width="{end - start:.1f}" height="{BAR_HEIGHT}" fill="{colour}"/>',
        f'<text x="{LABEL_WIDTH + BAR_AREA + 12}" y="{middle}">{measurement.rate.middle:,.0f}</text>',
    ]


def _whisker(top: float, low: float, high: float) -> str:
    middle = top + BAR_HEIGHT / 2
    return f'<line x1="{low:.1f}" y1="{middle}" x2="{high:.1f}" y2="{middle}" stroke="{WHISKER}" stroke-width="2"/>'
