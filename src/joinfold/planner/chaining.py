"""Joins over different keys as a chain of folds along the join tree.

    WHERE a.seller = p.id AND b.auction = a.id           root b, the last to be joined

    b ── auction ── a ── seller ── p                     1. a, p by seller    a view by a.id
                                                         2. b, view by auction

A join tree has the inputs for nodes, and the inputs that share a key class hang together in it. From the leaves to the
root, an input is folded with the views of its branches: those over one key in one fold, others one after another. Each
fold groups by what is still needed: keys of inputs that come later, and GROUP BY.

A product of the query names a column of each input. A view has a column for the part of every product that its inputs
make; so sums over all inputs are sums of products of few, fold by fold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from joinfold.algebra import Monomial
from joinfold.logical import graph
from joinfold.operators.chain import ORIGIN
from joinfold.operators.layout import ColumnRef, Extreme, ExtremeFold, FoldLayout, InputLayout, IntegerSum
from joinfold.window import Landmark, PartitionedRows

COUNT = IntegerSum(Monomial())
_COUNTED = ColumnRef(True, 0)
NO_PAIR = InputLayout((), (), (), (), (), (COUNT,), (), ())
Part = tuple[tuple[int, ColumnRef], ...]  # of a product: a column for some of the inputs


@dataclass(frozen=True, slots=True)
class Branch:
    """An input in the join tree, what hangs below it, and the key classes that join it with what is above."""

    place: int
    keys: frozenset[int]
    branches: tuple["Branch", ...]

    def __iter__(self) -> Iterator["Branch"]:
        yield self
        for branch in self.branches:
            yield from branch


def join_tree(layout: FoldLayout, root: int) -> Branch | None:
    """The join tree from a root, if the inputs are joined by keys alone, without a cycle."""
    classes = [frozenset(side.classes) for side in layout.inputs]
    above = graph.join_tree(classes, root)
    if above is None:
        return None

    def branch(place: int) -> Branch:
        below = [other for other, upper in above.items() if upper == place and other != root]
        keys = frozenset() if place == root else classes[place] & classes[above[place]]
        return Branch(place, keys, tuple(map(branch, below)))

    return branch(root)


def needs_chain(layout: FoldLayout) -> bool:
    """Whether a chain serves where one fold would enumerate combinations: over one key, one fold is all there is."""
    several = layout.streams > 2 and not (layout.combining or layout.is_plain or layout.on_arrival)
    return several and not has_one_key(layout) and join_tree(layout, 0) is not None


def has_one_key(layout: FoldLayout) -> bool:
    """Whether all inputs are joined by the same key classes."""
    return len({frozenset(side.classes) for side in layout.inputs}) == 1


def usual_root(layout: FoldLayout) -> int:
    """The input that is joined last: what changes there goes through one fold only, so it should be the fastest.

    Nothing is known of the data; dimensions are often landmarks, what is summed is often a fact, and facts are often at
    an end of the tree.
    """
    tree = join_tree(layout, 0)
    assert tree is not None
    inner = {branch.place for branch in tree if len(branch.branches) + (branch is not tree) > 1}

    def score(place: int) -> tuple[bool, bool, bool, int]:
        side = layout.inputs[place]
        summed = bool(side.reals or side.extremes) or any(map(_is_valued, side.integers))
        is_window = not isinstance(layout.timeline.windows[place], Landmark)
        return is_window, summed, place not in inner, place

    return max(range(layout.streams), key=score)


def chain(layout: FoldLayout, root: int, before: int = 0) -> tuple[FoldLayout, ...]:
    """The folds along the join tree from a root; the products and aggregates of the last are those of the layout.

    ``before`` is the number of stages that come before them.
    """
    tree = join_tree(layout, root)
    assert tree is not None
    steps = _Steps(layout, before)
    steps.member(tree)
    return _Payloads(layout, before, steps.steps).layouts()


def stages_before(layout: FoldLayout, partitions: Mapping[int, tuple[str, ...]]) -> tuple[FoldLayout, ...]:
    """The stages that number rows, and that make views of the last rows of each key, by stream and their columns."""
    counting = () if layout.on_arrival else layout.timeline.counting  # every bucket goes through all rows anyhow
    stages = [replace(layout, inputs=(), feeds=counting, is_numbering=True)] if counting else []
    for stream, columns in partitions.items():
        window = layout.timeline.windows[stream]
        assert isinstance(window, PartitionedRows)
        own = {"inputs": (layout.inputs[stream],), "feeds": (stream,), "is_view": True}
        stages.append(replace(layout, **own, partition=columns, partition_rows=window.size))  # type: ignore[arg-type]
    return tuple(stages)


def reading_views(layout: FoldLayout, stages: Sequence[FoldLayout]) -> FoldLayout:
    """The layout with views in the places of streams that stages make views of."""
    inputs, feeds = list(layout.inputs), list(layout.feeds)
    for number, stage in enumerate(stages):
        if stage.partition:
            (stream,) = stage.feeds
            inputs[stream] = replace(inputs[stream], carried=(*inputs[stream].carried, ORIGIN))
            feeds[stream] = layout.streams + number
    return replace(layout, inputs=tuple(inputs), feeds=tuple(feeds))


@dataclass(frozen=True, slots=True)
class _Member:
    """What a fold joins, an input or a view: its inputs, a column for each key class, the columns of GROUP BY.

    ``place`` is that of the input, None for a view of several.
    """

    feed: int
    place: int | None
    inputs: frozenset[int]
    columns: dict[int, str]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A fold: its key, its members, and what it groups by of each."""

    keys: tuple[int, ...]
    members: tuple[_Member, ...]
    grouped: tuple[tuple[str, ...], ...]


class _Steps:
    """Which folds there are."""

    def __init__(self, layout: FoldLayout, before: int) -> None:
        self.layout = layout
        self.before = before
        self.steps: list[_Step] = []

    def member(self, branch: Branch) -> _Member:
        """A branch as a member of the fold above: a view of all that hangs below, or the input itself."""
        side = self.layout.inputs[branch.place]
        columns = dict(zip(side.classes, side.keys, strict=True))
        feed = self.layout.feeds[branch.place]
        member = _Member(feed, branch.place, frozenset({branch.place}), columns, side.groups)
        by_keys: dict[frozenset[int], list[Branch]] = {}
        for below in branch.branches:
            by_keys.setdefault(below.keys, []).append(below)
        for keys, branches in by_keys.items():
            member = self._folded(keys, (member, *map(self.member, branches)))
        return member

    def _folded(self, keys: frozenset[int], members: tuple[_Member, ...]) -> _Member:
        """Adds a fold; the view that it makes."""
        inputs = frozenset().union(*(member.inputs for member in members))
        others = [side for place, side in enumerate(self.layout.inputs) if place not in inputs]
        later = {number for side in others for number in side.classes}
        wanted: list[dict[int, str]] = [{} for _ in members]
        for number in sorted(later & {number for member in members for number in member.columns}):
            own, member = next(pair for pair in enumerate(members) if number in pair[1].columns)
            wanted[own][number] = member.columns[number]
        grouped = tuple(
            tuple(dict.fromkeys((*columns.values(), *member.groups)))
            for columns, member in zip(wanted, members, strict=True)
        )
        self.steps.append(_Step(tuple(sorted(keys)), members, grouped))
        columns = {number: name for own in wanted for number, name in own.items()}
        groups = tuple(name for member in members for name in member.groups)
        return _Member(self.layout.streams + self.before + len(self.steps) - 1, None, inputs, columns, groups)


@dataclass(slots=True)
class _Payload:
    """The sums that a fold gives: parts of products, and extremes of the query by their numbers."""

    integers: list[Part]
    reals: list[Part] = field(default_factory=list)
    extremes: list[int] = field(default_factory=list)


class _Payloads:
    """What each fold sums, from the last one, which gives what the query wants, to the first."""

    def __init__(self, layout: FoldLayout, before: int, steps: Sequence[_Step]) -> None:
        self.layout = layout
        self.first = layout.streams + before  # the view of the first step
        self.steps = steps
        self.payloads = [_Payload([tuple((place, _COUNTED) for place in _inputs(step))]) for step in steps]
        self.payloads[-1] = _Payload(
            [_part([ColumnRef(True, column) for column in product[:-1]]) for product in layout.integer_products],
            [_part(refs[:-1]) for refs in layout.real_products],
            list(range(len(layout.extremes))),
        )

    def layouts(self) -> tuple[FoldLayout, ...]:
        """The layouts of all folds."""
        found = [self._layout(number) for number in reversed(range(len(self.steps)))]
        return tuple(found[::-1])

    def _layout(self, number: int) -> FoldLayout:
        """The layout of a fold; folds before it learn what it wants of them."""
        step, payload, is_last = self.steps[number], self.payloads[number], number == len(self.steps) - 1
        integers = tuple(self._integer_product(step, part) for part in payload.integers)
        reals = tuple((*(self._column(member, part) for member in step.members), _COUNTED) for part in payload.reals)
        extremes = tuple(self._extreme(step, self.layout.extremes[extreme]) for extreme in payload.extremes)
        return replace(
            self.layout,
            inputs=tuple(
                self._input(step, member, groups) for member, groups in zip(step.members, step.grouped, strict=True)
            ),
            pair=NO_PAIR,
            integer_products=integers,
            real_products=reals,
            extremes=extremes,
            aggregates=self.layout.aggregates if is_last else (),
            changes=self.layout.changes and is_last,
            feeds=tuple(member.feed for member in step.members),
            is_view=not is_last,
        )

    def _integer_product(self, step: _Step, part: Part) -> tuple[int, ...]:
        columns = [self._column(member, part) for member in step.members]
        assert all(column.is_integer for column in columns)
        return (*(column.index for column in columns), 0)

    def _column(self, member: _Member, part: Part) -> ColumnRef:
        """The column of a member that has its share of a product."""
        own = tuple((place, ref) for place, ref in part if place in member.inputs)
        if member.place is not None:
            ((_, ref),) = own
            return ref
        payload = self.payloads[member.feed - self.first]
        valued = sum(ref.is_integer and _is_valued(self.layout.inputs[place].integers[ref.index]) for place, ref in own)
        is_integer = valued <= 1 and all(ref.is_integer for _, ref in own)
        parts = payload.integers if is_integer else payload.reals
        if own not in parts:
            parts.append(own)
        return ColumnRef(is_integer, parts.index(own))

    def _extreme(self, step: _Step, extreme: ExtremeFold) -> ExtremeFold:
        partners = []
        place = next(number for number, member in enumerate(step.members) if extreme.place in member.inputs)
        for number, member in enumerate(step.members):
            counted = tuple((other, ColumnRef(True, extreme.partners[other])) for other in sorted(member.inputs))
            partners.append(0 if number == place else self._column(member, counted).index)
        valued, index = step.members[place], extreme.index
        if valued.place is None:
            wanted = self.payloads[valued.feed - self.first].extremes
            wanted.append(self.layout.extremes.index(extreme))
            index = len(wanted) - 1
        return ExtremeFold(place, index, (*partners, 0))

    def _input(self, step: _Step, member: _Member, groups: tuple[str, ...]) -> InputLayout:
        keys = tuple(member.columns[number] for number in step.keys)
        if member.place is not None:
            return replace(self.layout.inputs[member.place], keys=keys, classes=step.keys, groups=groups)
        payload = self.payloads[member.feed - self.first]
        return InputLayout(
            keys,
            step.keys,
            groups,
            carried=(ORIGIN,),
            factors=(),
            integers=(COUNT,) * len(payload.integers),
            reals=(Monomial(),) * len(payload.reals),
            extremes=tuple(Extreme("", self.layout.is_largest(self.layout.extremes[n]), ()) for n in payload.extremes),
            exact=frozenset(
                index for index, part in enumerate(payload.reals) if all(ref.is_integer for _, ref in part)
            ),
        )


def _inputs(step: _Step) -> list[int]:
    return sorted(frozenset().union(*(member.inputs for member in step.members)))


def _part(refs: Sequence[ColumnRef]) -> Part:
    return tuple(enumerate(refs))


def _is_valued(column: IntegerSum) -> bool:
    """Whether a column sums a number; else it counts."""
    return not column.counts
