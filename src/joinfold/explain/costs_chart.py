"""The CPU of plans as horizontal bars, stage by stage, in SVG. The page around it defines the colours.

Plans can differ by a factor of a thousand, and the parts of a bar add up only on a linear scale. So the scale ends at
`TIMES_CHOSEN` times the chosen plan, and longer bars are cut off:

    chosen   ■■■▒▒▒▒▒▒▒                        0.12 s
    other    ■■■▒▒▒▒▒▒▒▒▒▒▒▒                   0.18 s
    another  ■■■▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ ⫽    2.2 s
"""

import math
from collections.abc import Iterator
from html import escape

from joinfold.amounts import seconds_text
from joinfold.explain.costs import shown_alternatives
from joinfold.planner.cost.estimates import Alternative, Decision, Estimate, StageKind

STAGES: tuple[StageKind, ...] = ("PACK", "shuffle", "FOLD", "MERGE")
LABEL_WIDTH, BAR_AREA, MARGIN = 360, 460, 90
ROW_HEIGHT, BAR_HEIGHT, TOP = 28, 18, 64
LONGEST_LABEL = 52
TIMES_CHOSEN = 6


def alternatives_svg(decision: Decision) -> str:
    """A chart with a bar for each plan that is shown. The label of the chosen one is bold."""
    shown = shown_alternatives(decision)
    end = _scale_end(decision)
    width, height = LABEL_WIDTH + BAR_AREA + MARGIN, TOP + ROW_HEIGHT * len(shown) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'font-family="sans-serif" font-size="12">',
        "<title>CPU of the plans per second of stream, by stage</title>",
        *_legend(),
        *_grid(end, height),
    ]
    for number, alternative in enumerate(shown):
        parts += _bar(alternative, TOP + ROW_HEIGHT * number, end, alternative == decision.chosen)
    return "\n".join([*parts, "</svg>"])


def _scale_end(decision: Decision) -> float:
    """The seconds at the end of the scale: the longest bar, but at most `TIMES_CHOSEN` times the chosen one."""
    longest = max(alternative.estimate.cpu for alternative in shown_alternatives(decision))
    return min(longest, TIMES_CHOSEN * decision.chosen.estimate.cpu or longest) or 1.0


def _legend() -> Iterator[str]:
    for number, kind in enumerate(STAGES):
        x = LABEL_WIDTH + 100 * number
        yield f'<rect class="{kind}" x="{x}" y="8" width="12" height="12"/>'
        yield f'<text x="{x + 18}" y="18">{kind}</text>'


def _grid(end: float, height: int) -> Iterator[str]:
    """Vertical lines at round numbers of seconds."""
    step = 10 ** math.floor(math.log10(end))
    step = next(part * step for part in (0.2, 0.5, 1.0, 2.0) if end / (part * step) <= 5.5)
    for number in range(math.floor(end / step + 1e-9) + 1):
        x = LABEL_WIDTH + BAR_AREA * number * step / end
        yield f'<line class="grid" x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 4}"/>'
        label = seconds_text(number * step)
        yield f'<text class="quiet" x="{x:.1f}" y="{TOP - 14}" text-anchor="middle">{label}</text>'


def _bar(alternative: Alternative, top: int, end: float, is_chosen: bool) -> Iterator[str]:
    title, estimate = alternative.title, alternative.estimate
    label = title if len(title) <= LONGEST_LABEL else f"{title[: LONGEST_LABEL - 1]}…"
    weight, base = ' font-weight="bold"' if is_chosen else "", top + BAR_HEIGHT - 4
    hint = "" if label == title else f"<title>{escape(title)}</title>"
    yield f'<text x="{LABEL_WIDTH - 10}" y="{base}" text-anchor="end"{weight}>{escape(label)}{hint}</text>'
    start = 0.0
    for kind, seconds in _by_stage(estimate):
        left, right = (LABEL_WIDTH + BAR_AREA * min(at / end, 1.0) for at in (start, start + seconds))
        start += seconds
        if right > left:
            yield (
                f'<rect class="{kind}" x="{left:.1f}" y="{top}" width="{right - left:.1f}" height="{BAR_HEIGHT}">'
                f"<title>{kind}: {seconds_text(seconds)}</title></rect>"
            )
    if estimate.cpu > end * (1 + 1e-9):
        right, rise = LABEL_WIDTH + BAR_AREA, BAR_HEIGHT + 4
        yield f'<path class="cut" d="M{right - 16} {top + BAR_HEIGHT + 2}l6 -{rise}m5 0l-6 {rise}"/>'
    yield f'<text x="{LABEL_WIDTH + BAR_AREA + 10}" y="{base}"{weight}>{seconds_text(estimate.cpu)}</text>'


def _by_stage(estimate: Estimate) -> Iterator[tuple[StageKind, float]]:
    for kind in STAGES:
        yield kind, sum(stage.cpu for stage in estimate.stages if stage.kind == kind)
