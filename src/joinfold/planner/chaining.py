"""Joins over different keys as a chain of folds along the join tree.

    WHERE a.seller = p.id AND b.auction = a.id           root b, the last to be joined

    b ── auction ── a ── seller ── p                     1. a, p by seller    a view by a.id
                                                         2. b, view by auction

The nodes of a join tree are the inputs, and inputs that share a key class are connected in it. From the leaves to the
root, each input is folded with the views of its branches. Branches over the same key are joined in one fold, others in
one fold after another. A fold groups by what later folds need: the keys of later inputs, and GROUP BY.

A product of the query names a column of each input. A view has one column for each part of a product that its inputs
contribute. So a sum over all inputs is computed fold by fold, as sums of products of a few factors.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from joinfold.logical import graph
from joinfold.physical.choice import NO_CHOICE, usual_choice
from joinfold.physical.column_names import COUNT, ORIGIN, quoted
from joinfold.physical.payload import ColumnRef, Extreme, ExtremeFold, InputSpec, IntegerSum, ViewSum
from joinfold.physical.plan import PhysicalPlan
from joinfold.physical.source import InputSource, StreamRows, ViewOf
from joinfold.physical.stage import Body, FoldAtInstants, JoiningStage, ToMerge, View
from joinfold.physical.timing import Timing
from joinfold.planner.planned_query import PlannedQuery, with_stages
from joinfold.window import Landmark

_COUNTED = ColumnRef(True, 0)
Part = tuple[tuple[int, ColumnRef], ...]  # part of a product: (input, its column) for some of the inputs


@dataclass(frozen=True, slots=True)
class Branch:
    """An input in the join tree, the branches below it, and the key classes that join it with its parent."""

    ordinal: int
    keys: frozenset[int]
    branches: tuple["Branch", ...]

    def __iter__(self) -> Iterator["Branch"]:
        yield self
        for branch in self.branches:
            yield from branch


def join_tree(body: Body, root: int) -> Branch | None:
    """The join tree with this root; None if keys alone do not connect the inputs, or form a cycle."""
    classes = [frozenset(spec.classes) for spec in body.inputs]
    above = graph.join_tree(classes, root)
    if above is None:
        return None

    def branch(ordinal: int) -> Branch:
        below = [other for other, upper in above.items() if upper == ordinal and other != root]
        keys = frozenset() if ordinal == root else classes[ordinal] & classes[above[ordinal]]
        return Branch(ordinal, keys, tuple(map(branch, below)))

    return branch(root)


def needs_chain(stage: JoiningStage) -> bool:
    """Whether a chain of folds can replace one fold that would enumerate combinations.

    A join over one key needs only one fold.
    """
    if not isinstance(stage, FoldAtInstants) or len(stage.body.inputs) < 3 or stage.body.combining:
        return False
    return not stage.body.has_one_key and join_tree(stage.body, 0) is not None


def usual_root(body: Body, timing: Timing) -> int:
    """The root to take where nothing is known about the data.

    A change of the root input goes through one fold only, so the root should be the fastest stream. That is usually the
    fact table: dimensions are often landmark windows, summed columns are often those of facts, and facts are often at
    an end of the tree.
    """
    tree = join_tree(body, 0)
    assert tree is not None
    inner = {branch.ordinal for branch in tree if len(branch.branches) + (branch is not tree) > 1}

    def score(ordinal: int) -> tuple[bool, bool, bool, int]:
        spec = body.inputs[ordinal]
        summed = bool(spec.reals or spec.extremes) or any(map(_is_valued, spec.integers))
        is_window = not isinstance(timing.windows[ordinal], Landmark)
        return is_window, summed, ordinal not in inner, ordinal

    return max(range(len(body.inputs)), key=score)


def in_chain(plan: PlannedQuery, root: int) -> PlannedQuery:
    """The plan with a chain of folds to this root instead of one stage that joins all inputs."""
    *before, stage = plan.stages
    assert isinstance(stage, FoldAtInstants) and isinstance(stage.output, ToMerge)
    folds = chain(stage.body, root, stage.output, len(before))
    choices = (*(NO_CHOICE for _ in before), *map(usual_choice, folds))
    return with_stages(plan, (*before, *folds), choices, plan.timing.names[root])


def usual_input(plan: PhysicalPlan, stream: int) -> InputSpec:
    """The input that reads this stream in the usual plan. Statistics count its keys and groups."""
    stage, source = plan.answering, StreamRows(stream)
    if plan.root is None and needs_chain(stage):
        folds = chain(stage.body, usual_root(stage.body, plan.timing), ToMerge())
        reading = next((spec for fold in folds for spec in fold.body.inputs if spec.source == source), None)
        if reading is not None:
            return reading
    return plan.pipeline.input_of(stream)


def chain(body: Body, root: int, output: ToMerge, before: int = 0) -> tuple[FoldAtInstants, ...]:
    """The folds along the join tree to a root. The last fold has the products and extremes of ``body``.

    ``before`` is the number of stages that come before the folds.
    """
    tree = join_tree(body, root)
    assert tree is not None
    steps = _Steps(body, before)
    steps.member(tree)
    bodies = _Payloads(body, steps.steps).bodies()
    views = [FoldAtInstants(own, View()) for own in bodies[:-1]]
    return (*views, FoldAtInstants(bodies[-1], output))


@dataclass(frozen=True, slots=True)
class _Member:
    """An input or a view that a fold joins.

    ``ordinal`` is the number of the input, None for a view. ``step`` is the number of the step that makes the view, -1
    for an input. ``inputs`` are the inputs of the query that it covers. ``columns`` has a column for each key class,
    ``groups`` the columns of GROUP BY.
    """

    source: InputSource
    ordinal: int | None
    step: int
    inputs: frozenset[int]
    columns: dict[int, str]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A fold: its key classes, its members, and the columns of each member that it groups by."""

    keys: tuple[int, ...]
    members: tuple[_Member, ...]
    grouped: tuple[tuple[str, ...], ...]


class _Steps:
    """Collects the folds of a chain, in the order in which they run."""

    def __init__(self, body: Body, before: int) -> None:
        self.body = body
        self.before = before
        self.steps: list[_Step] = []

    def member(self, branch: Branch) -> _Member:
        """A branch as a member of the fold above: the input itself if it is a leaf, else a view of the whole branch."""
        spec = self.body.inputs[branch.ordinal]
        columns = dict(zip(spec.classes, spec.keys, strict=True))
        member = _Member(spec.source, branch.ordinal, -1, frozenset({branch.ordinal}), columns, spec.groups)
        by_keys: dict[frozenset[int], list[Branch]] = {}
        for below in branch.branches:
            by_keys.setdefault(below.keys, []).append(below)
        for keys, branches in by_keys.items():
            member = self._folded(keys, (member, *map(self.member, branches)))
        return member

    def _folded(self, keys: frozenset[int], members: tuple[_Member, ...]) -> _Member:
        """Adds a fold of the members; returns the view that it makes."""
        inputs = frozenset().union(*(member.inputs for member in members))
        others = [spec for ordinal, spec in enumerate(self.body.inputs) if ordinal not in inputs]
        later = {number for spec in others for number in spec.classes}
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
        step = len(self.steps) - 1
        return _Member(ViewOf(self.before + step), None, step, inputs, columns, groups)


@dataclass(slots=True)
class _Payload:
    """The sums that a fold makes: parts of products, and extremes. Both refer to the inputs of the query."""

    integers: list[Part]
    reals: list[Part] = field(default_factory=list)
    extremes: list[ExtremeFold] = field(default_factory=list)


class _Payloads:
    """What each fold sums: found from the last fold, which makes the sums of the query, back to the first."""

    def __init__(self, body: Body, steps: Sequence[_Step]) -> None:
        self.body = body
        self.steps = steps
        self.payloads = [_Payload([tuple((ordinal, _COUNTED) for ordinal in _inputs(step))]) for step in steps]
        self.payloads[-1] = _Payload(
            [_part([ColumnRef(True, column) for column in product[:-1]]) for product in body.integer_products],
            [_part(refs[:-1]) for refs in body.real_products],
            list(body.extremes),
        )

    def bodies(self) -> tuple[Body, ...]:
        """The bodies of all folds."""
        found = [self._body(number) for number in reversed(range(len(self.steps)))]
        return tuple(found[::-1])

    def _body(self, number: int) -> Body:
        """The body of a fold. Adds the sums that it reads from views to the payloads of earlier folds."""
        step, payload = self.steps[number], self.payloads[number]
        integers = tuple(self._integer_product(step, part) for part in payload.integers)
        reals = tuple((*(self._column(member, part) for member in step.members), _COUNTED) for part in payload.reals)
        extremes = tuple(self._extreme(step, extreme) for extreme in payload.extremes)
        inputs = zip(step.members, step.grouped, strict=True)
        grouped = {name for groups in step.grouped for name in groups}
        return Body(
            inputs=tuple(self._input(step, member, groups) for member, groups in inputs),
            integer_products=integers,
            real_products=reals,
            extremes=extremes,
            replicates=tuple(name for name in self.body.replicates if name in grouped),
        )

    def _integer_product(self, step: _Step, part: Part) -> tuple[int, ...]:
        columns = [self._column(member, part) for member in step.members]
        assert all(column.is_integer for column in columns)
        return (*(column.index for column in columns), 0)

    def _column(self, member: _Member, part: Part) -> ColumnRef:
        """The column of a member that has its part of a product. A view gets the column if it has none yet."""
        own = tuple((ordinal, ref) for ordinal, ref in part if ordinal in member.inputs)
        if member.ordinal is not None:
            ((_, ref),) = own
            return ref
        payload = self.payloads[member.step]
        valued = sum(
            ref.is_integer and _is_valued(self.body.inputs[ordinal].integers[ref.index]) for ordinal, ref in own
        )
        is_integer = valued <= 1 and all(ref.is_integer for _, ref in own)
        parts = payload.integers if is_integer else payload.reals
        if own not in parts:
            parts.append(own)
        return ColumnRef(is_integer, parts.index(own))

    def _extreme(self, step: _Step, extreme: ExtremeFold) -> ExtremeFold:
        partners = []
        ordinal = next(number for number, member in enumerate(step.members) if extreme.ordinal in member.inputs)
        for number, member in enumerate(step.members):
            counted = tuple((other, ColumnRef(True, extreme.partners[other])) for other in sorted(member.inputs))
            partners.append(0 if number == ordinal else self._column(member, counted).index)
        valued, index = step.members[ordinal], extreme.index
        if valued.ordinal is None:
            inside = tuple(own if other in valued.inputs else 0 for other, own in enumerate(extreme.partners))
            wanted, of_view = self.payloads[valued.step].extremes, replace(extreme, partners=inside)
            if of_view not in wanted:
                wanted.append(of_view)
            index = wanted.index(of_view)
        return ExtremeFold(ordinal, index, (*partners, 0))

    def _input(self, step: _Step, member: _Member, groups: tuple[str, ...]) -> InputSpec:
        keys = tuple(member.columns[number] for number in step.keys)
        if member.ordinal is not None:
            return replace(self.body.inputs[member.ordinal], keys=keys, classes=step.keys, groups=groups)
        payload = self.payloads[member.step]
        return InputSpec(
            name=self._view_name(member),
            source=member.source,
            keys=keys,
            classes=step.keys,
            groups=groups,
            carried=(ORIGIN,),
            integers=tuple(ViewSum(self._names(part)) for part in payload.integers),
            reals=tuple(ViewSum(self._names(part), _is_exact(part)) for part in payload.reals),
            extremes=tuple(map(self._view_extreme, payload.extremes)),
            open_ended=True,
        )

    def _view_name(self, member: _Member) -> str:
        """A name made of the inputs that the view joins; it differs from the names of all inputs."""
        aliases = [spec.name for spec in self.body.inputs]
        name = f"view of {', '.join(sorted(quoted(aliases[ordinal]) for ordinal in member.inputs))}"
        while name in aliases:
            name += "'"
        return name

    def _names(self, part: Part) -> tuple[str, ...]:
        """The names of the sums whose product a column of a view is."""
        names = []
        for ordinal, ref in part:
            spec = self.body.inputs[ordinal]
            names.append(spec.integers[ref.index].name if ref.is_integer else spec.reals[ref.index].name)
        return tuple(sorted(name for name in names if name != COUNT))

    def _view_extreme(self, extreme: ExtremeFold) -> Extreme:
        """An extreme of a view: its conditions are those of its own input and of the inputs that it is joined with."""
        own = self.body.extreme(extreme)
        conditions: list[str] = []
        for ordinal, column in enumerate(extreme.partners[:-1]):
            counted = self.body.inputs[ordinal].integers[column]
            if ordinal != extreme.ordinal and isinstance(counted, IntegerSum):
                conditions += counted.monomial.factors
        return replace(own, conditions=(*own.conditions, *sorted(conditions)))


def _inputs(step: _Step) -> list[int]:
    return sorted(frozenset().union(*(member.inputs for member in step.members)))


def _part(refs: Sequence[ColumnRef]) -> Part:
    return tuple(enumerate(refs))


def _is_exact(part: Part) -> bool:
    return all(ref.is_integer for _, ref in part)


def _is_valued(column: IntegerSum | ViewSum) -> bool:
    """Whether a column sums numbers. Otherwise it counts rows."""
    return isinstance(column, IntegerSum) and column.is_valued
