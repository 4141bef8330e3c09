"""The windows of a query as a drawing: sub-windows, a few windows one after another, and the instants.

    0     2     4     6     8     10    12    14    16    18    20  MINUTE
    |     |     |     |     |     |     |     |     |     |     |

a [10 MINUTE SLIDE 4 MINUTE]: 5 sub-windows of 2 MINUTE, moved by 2
    |-----|-----|-----|-----|-----|-----|-----|-----|-----|-----|
          [-----------------------------)
                      [-----------------------------)
                                  [-----------------------------)

All positions are computed by `window`. Windows in time share one scale. A window that counts rows has its own scale,
and so has every window under SYNC ON WINDOW ID, where the times of different inputs are not compared.
"""

from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from math import gcd
from typing import assert_never

from joinfold.explain.logical_tree import when_text
from joinfold.explain.scale import Scale
from joinfold.logical.query import Every, Input, LogicalQuery, OnArrival, OnFull, OnSlide, OnWindowId
from joinfold.logical.sql import input_text
from joinfold.names import identifier_text
from joinfold.timetext import duration_text
from joinfold.types import BIGINT
from joinfold.window import (
    Continuous,
    Grid,
    Landmark,
    PartitionedRows,
    RangeByRows,
    Rows,
    Sliding,
    common,
    next_of,
)

SHOWN = 3  # how many windows of an input are drawn
RESULTS = 12  # how many result windows are shown at most
MARGIN = 4
WIDTH = 80

Section = list[str]
Grids = tuple[Grid, ...]


def window_drawing(query: LogicalQuery) -> str:
    """The drawing, at most 80 columns wide. Only the text of an input can be wider."""
    sections = [[f"Windows: {when_text(query)}"]]
    if isinstance(query.sync, OnWindowId):
        sections += [_by_number(input_) for input_ in query.inputs]
        sections.append(_result_windows(query, query.sync))
    else:
        instants = _instants(query)
        scale = _time_scale(query, instants)
        sections += [] if scale is None else [_axis(scale)]
        sections += [_by_time(query, input_, scale, instants) for input_ in query.inputs]
        sections += _points(query, scale, instants)
    return "\n\n".join("\n".join(line.rstrip() for line in section) for section in sections)


# --- instants -------------------------------------------------------------------------------------------------


def _instants(query: LogicalQuery) -> Grids:
    """The candidates that follow from time alone."""
    moves = tuple(input_.window.moves for input_ in query.streams if isinstance(input_.window, Sliding))
    match query.sync, query.emit:
        case OnFull(), _:
            meeting = common(moves)
            assert meeting is not None, "the query is checked when it is bound"
            return (meeting,)
        case _, Every(period_us=period_us):
            return (Grid(0, period_us),)
        case _, OnSlide():
            return moves
        case _:
            return ()


def _following(instants: Grids, at: int) -> Iterator[int]:
    """The instants from a time on."""
    while instants:
        at = next_of(instants, at - 1)
        yield at
        at += 1


def _time_scale(query: LogicalQuery, instants: Grids) -> Scale | None:
    """A scale that shows some windows of every input, from the latest START or mark on; None without time windows."""
    windows = [input_.window for input_ in query.streams]
    moves = tuple(window.moves for window in windows if isinstance(window, Sliding))
    marks = [window.start_us or 0 for window in windows if isinstance(window, Sliding)]
    marks += [window.from_us or 0 for window in windows if isinstance(window, Landmark)]
    mark = max(marks, default=0)
    origin = min((grid.last(mark) for grid in (*moves, *instants)), default=mark)
    ends, cells = [origin], [0]
    for window in windows:
        match window:
            case Sliding(size_us=size_us, slide_us=slide_us):
                ends.append(window.moves.next(origin + size_us - 1) + (SHOWN - 1) * slide_us)
                cells.append(window.subwindow_us)
            case Continuous(size_us=size_us):
                ends += [origin + size_us, *islice(_following(instants, origin + size_us), SHOWN)]
                cells.append(size_us)
            case RangeByRows(size_us=size_us):
                ends.append(origin + size_us)
                cells.append(size_us)
            case Landmark(from_us=from_us):
                ends += islice(_following(instants, mark + 1), SHOWN)
                cells.append(0 if from_us is None else from_us - origin)
    end = max(ends)
    meeting = common(moves)
    if len(moves) > 1 and meeting is not None and meeting.next(origin) <= 2 * end - origin:
        end = max(end, meeting.next(origin))
    for grid in (*moves, *instants):
        cells += [grid.period_us, grid.phase_us - origin]
    return None if end == origin else Scale.fitting(origin, end, gcd(*cells), _unit(query.streams[0]))


def _points(query: LogicalQuery, scale: Scale | None, instants: Grids) -> list[Section]:
    """The instants: full where all windows move, partial where only some do."""
    counted = [input_ for input_ in query.streams if isinstance(input_.window, Rows | RangeByRows | PartitionedRows)]
    by_rows = isinstance(query.emit, OnSlide) and bool(counted)
    if not instants and not by_rows:
        return []
    section: Section = ["instants"]
    if scale is not None and isinstance(query.emit, Every):
        every = _length(query.emit.period_us, query.streams[0])
        section += _drawn([scale.hits(instants, "^"), f"^ every {every}"])
    elif scale is not None and instants:
        meeting = None if by_rows else common(instants)
        some, full = scale.hits(instants, "+"), scale.hits(() if meeting is None else (meeting,), "#")
        line = "".join(all_ if all_ == "#" else any_ for any_, all_ in zip(some, full, strict=True))
        legend = ["# full: all windows that move, move here"] if "#" in line else []
        legend += ["+ partial: only some move here"] if any(grid != meeting for grid in instants) else []
        section += _drawn([line, "   ".join(legend)])
    if by_rows:
        section += _drawn(map(_after, counted))
    return [section]


def _after(input_: Input) -> str:
    slide = 1 if isinstance(input_.window, PartitionedRows) else input_.window.slide  # type: ignore[union-attr]
    which = "every row" if slide == 1 else f"every {slide} rows"
    return f"+ right after {which} of {identifier_text(input_.alias)}"


# --- windows that are read at instants ------------------------------------------------------------------------


def _by_time(query: LogicalQuery, input_: Input, scale: Scale | None, instants: Grids) -> Section:
    """The section of an input: its text, its sub-windows, some of its windows."""
    text, lines = "a relation, the same at every instant", Section()
    match input_.window:
        case Sliding() as window:
            assert scale is not None
            text = _subwindows_text(window.panes, _length(window.subwindow_us, input_), window.step)
            moves = takewhile(
                lambda move: move <= scale.end, _following((window.moves,), scale.origin + window.size_us)
            )
            lines += _pieces(scale, Grid(window.moves.phase_us, window.subwindow_us))
            lines += [scale.bar(*window.bounds(move)) for move in islice(moves, SHOWN)]
        case Continuous() as window:
            assert scale is not None
            text = f"at any instant the last {_length(window.size_us, input_)}"
            ends = list(islice(_following(instants, scale.origin + window.size_us), SHOWN))
            closing = "[]" if isinstance(query.emit, OnArrival) else "[)"
            lines += [scale.bar(*window.bounds(end), closing) for end in ends or [scale.origin + window.size_us]]
        case Landmark(from_us=from_us):
            text = "all rows before an instant" + ("" if from_us is None else ", from the mark on")
            opening = "<" if from_us is None else "["
            if scale is not None:
                begin = scale.origin if from_us is None else from_us
                ends = list(islice(_following(instants, max(begin, scale.origin) + 1), SHOWN))
                lines += [scale.bar(begin, end, opening + ")") for end in ends if end <= scale.end]
                lines += [] if ends else [scale.bar(begin, scale.end, opening + ">")]
        case Rows(size=size, slide=slide) as window:
            text = _subwindows_text(*_rows_text(window))
            lines += _row_lines(size, slide, window.block, Grid(0, slide).next(size - 1))
        case PartitionedRows(by=by, size=size):
            text = (
                f"the last {size} rows of each {', '.join(map(identifier_text, by))}; the scale counts rows of one key"
            )
            lines += _row_lines(size, 1, 1, size)
        case RangeByRows() as window:
            assert scale is not None
            text = f"the last {_length(window.size_us, input_)}, read again after every {window.slide} rows"
            lines += [scale.bar(scale.origin, scale.origin + window.size_us)]
            lines += _row_axis(Scale.fitting(0, SHOWN * window.slide, window.slide, "rows"), window.slide)
        case None:
            lines += [] if scale is None else [scale.bar(scale.origin, scale.end, "<>")]
        case _:
            assert_never(input_.window)
    return [*_heading(input_, text), *_drawn(dict.fromkeys(lines))]


def _row_lines(size: int, slide: int, block: int, first: int) -> Section:
    """Rows by their number, and a few windows; the first one ends after row ``first``."""
    ends = [first + number * slide for number in range(SHOWN)]
    scale = Scale.fitting(0, ends[-1], block, "rows")
    return [*_row_axis(scale, block), *(scale.bar(end - size, end) for end in ends)]


def _row_axis(scale: Scale, block: int) -> Section:
    labels, ticks = scale.axis()
    return [labels, *(_pieces(scale, Grid(0, block)) or [ticks])]


# --- windows by number ----------------------------------------------------------------------------------------


def _by_number(input_: Input) -> Section:
    """The windows 0, 1, … of an input under SYNC ON WINDOW ID. Each input has its own scale."""
    match input_.window:
        case Sliding(size_us=size, slide_us=slide, start_us=start_us) as window:
            text = _subwindows_text(window.panes, _length(window.subwindow_us, input_), window.step)
            origin = start_us or 0
            scale = Scale.fitting(origin, origin + size + (SHOWN - 1) * slide, window.subwindow_us, _unit(input_))
            since = (
                f"0 is the last multiple of {_length(slide, input_)} up to its first row" if start_us is None else ""
            )
            axis, pieces = _axis(scale), _pieces(scale, Grid(origin, window.subwindow_us))
            notes = [f"{' ' * MARGIN}{since}"] if since else []
            lines = [*notes, *(axis[:-1] if pieces else axis), *_drawn(pieces)]
        case Rows(size=size, slide=slide) as window:
            text = _subwindows_text(*_rows_text(window))
            scale = Scale.fitting(0, size + (SHOWN - 1) * slide, window.block, "rows")
            lines = _drawn(_row_axis(scale, window.block))
        case RangeByRows(size_us=size_us, slide=slide):
            text = f"the last {_length(size_us, input_)}, numbered by its end, after every {slide} rows"
            scale = Scale.fitting(0, SHOWN * slide, slide, "rows")
            ends = scale.marks(((wid + 1) * slide, f"{wid}") for wid in range(SHOWN))
            return [*_heading(input_, text), *_drawn([*_row_axis(scale, slide), ends])]
        case _:
            return _heading(input_, "a relation, the same in every result window")
    for wid in range(SHOWN):
        begin = scale.origin + wid * slide
        lines.append(f"{wid}".ljust(MARGIN) + scale.bar(begin, begin + size))
    return [*_heading(input_, text), *lines]


def _result_windows(query: LogicalQuery, sync: OnWindowId) -> Section:
    """Which windows of each input are joined in each result window."""
    wids = range(SHOWN if sync.modulus is None else min(sync.modulus + 2, RESULTS))
    rows = {"wid": list(wids)}
    for ordinal, input_ in enumerate(query.streams):
        repeats = sync.modulus is not None and ordinal == 0
        rows[input_.alias] = [wid % sync.modulus if repeats else wid for wid in wids]  # type: ignore[operator]
    width = max(map(len, rows))
    return [
        "result windows",
        *_drawn(f"{name:{width}}{''.join(f'{wid:4}' for wid in row)}" for name, row in rows.items()),
    ]


# --- words ----------------------------------------------------------------------------------------------------


def _heading(input_: Input, text: str) -> Section:
    written = input_text(input_) + ":"
    return [f"{written} {text}"] if len(written) + len(text) < WIDTH else [written, *_drawn([text])]


def _axis(scale: Scale) -> Section:
    note = scale.note()
    return _drawn([*([] if note is None else [note]), *scale.axis()])


def _pieces(scale: Scale, edges: Grid) -> Section:
    pieces = scale.pieces(edges)
    return [] if pieces is None else [pieces]


def _drawn(lines: Iterable[str]) -> Section:
    return [" " * MARGIN + line for line in lines]


def _unit(input_: Input) -> str | None:
    """The name of the column that an integer clock counts; None for time."""
    return input_.source.time if input_.source.clock == BIGINT else None


def _length(us: int, input_: Input) -> str:
    return str(us) if input_.source.clock == BIGINT else duration_text(us)


def _rows_text(window: Rows) -> tuple[int, str, int]:
    rows = "1 row" if window.block == 1 else f"{window.block} rows"
    return window.size // window.block, rows, window.slide // window.block


def _subwindows_text(panes: int, each: str, step: int) -> str:
    return f"{panes} sub-window{'' if panes == 1 else 's'} of {each}, moved by {step}"
