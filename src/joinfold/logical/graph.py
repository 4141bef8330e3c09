"""The join graph: which conjunct of WHERE connects which inputs, and how.

Conjuncts that read two or more inputs are sorted, each into one kind:

* an equality whose sides read one input each joins two *keys*; keys that are equal through a chain of such
  conjuncts, compared in one type, form a *key class*;
* two inequalities that bound a value of one input by values of another from below and above are a *band*;
* another inequality whose sides read one input each stays an *inequality*;
* everything else is *residual* and has to look at the whole combination.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from joinfold.logical.expressions import Call, Expression, inputs_read
from joinfold.types import DataType

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class KeyClass:
    """Expressions, each over one input, that WHERE makes equal when compared as ``type``."""

    members: tuple[Expression, ...]
    type: DataType

    @property
    def inputs(self) -> frozenset[str]:
        """The inputs that have a member."""
        return frozenset().union(*(inputs_read(member) for member in self.members))

    def of(self, alias: str) -> tuple[Expression, ...]:
        """The members of one input."""
        return tuple(member for member in self.members if inputs_read(member) == {alias})


@dataclass(frozen=True, slots=True)
class Inequality:
    """``left operator right`` where each side reads one input."""

    left: Expression
    operator: str
    right: Expression

    @property
    def inputs(self) -> frozenset[str]:
        """The two inputs."""
        return inputs_read(self.left) | inputs_read(self.right)


@dataclass(frozen=True, slots=True)
class Band:
    """``value`` of one input lies between ``low`` and ``high`` of another."""

    value: Expression
    low: Expression
    low_inclusive: bool
    high: Expression
    high_inclusive: bool

    @property
    def inputs(self) -> frozenset[str]:
        """The two inputs."""
        return inputs_read(self.value) | inputs_read(self.low)


@dataclass(frozen=True)
class JoinGraph:
    """The inputs and everything in WHERE that connects them."""

    inputs: tuple[str, ...]
    keys: tuple[KeyClass, ...]
    bands: tuple[Band, ...]
    inequalities: tuple[Inequality, ...]
    residual: tuple[Expression, ...]

    @staticmethod
    def of(inputs: tuple[str, ...], where: tuple[Expression, ...]) -> "JoinGraph":
        """Sorts the conjuncts of WHERE; those that read a single input, or none, are filters."""
        joining = [part for part in where if len(inputs_read(part)) > 1]
        equalities = [part for part in joining if _connects_two(part, ("=",))]
        compared = [part for part in joining if _connects_two(part, tuple(_MIRRORED))]
        bands, inequalities = _pair_bands([Inequality(*_sides(part)) for part in compared])
        residual = [part for part in joining if part not in equalities and part not in compared]
        return JoinGraph(inputs, _key_classes(equalities), bands, inequalities, tuple(residual))

    @cached_property
    def components(self) -> tuple[frozenset[str], ...]:
        """The inputs grouped by connection, in the order of FROM."""
        links = [key.inputs for key in self.keys] + [band.inputs for band in self.bands]
        links += [part.inputs for part in self.inequalities] + [inputs_read(part) for part in self.residual]
        groups = [{alias} for alias in self.inputs]
        for link in links:
            touched = [group for group in groups if group & link]
            if touched:
                merged = set().union(*touched)
                groups = [group for group in groups if not group & link]
                groups.append(merged)
        groups.sort(key=lambda group: min(self.inputs.index(alias) for alias in group))
        return tuple(frozenset(group) for group in groups)

    @property
    def is_connected(self) -> bool:
        """Whether no input is crossed with the others without a predicate."""
        return len(self.components) == 1

    @property
    def common_key(self) -> KeyClass | None:
        """A key class with a member in every input: the join then folds in one stage."""
        return next((key for key in self.keys if key.inputs == frozenset(self.inputs)), None)

    @property
    def is_acyclic(self) -> bool:
        """Whether the equi-join is α-acyclic."""
        return not self.cycle

    @cached_property
    def cycle(self) -> tuple[str, ...]:
        """The inputs whose keys go round in a cycle, by the reduction of Graham, Yu and Özsoyoğlu.

        Repeatedly drop key classes that only one input has, and inputs whose keys another input all has.
        """
        edges = {alias: set(keys) for alias, keys in zip(self.inputs, self._classes, strict=True)}
        shrinking = True
        while shrinking and len(edges) > 1:
            shrinking = False
            for alias, keys in edges.items():
                others = [other for name, other in edges.items() if name != alias]
                lonely = {key for key in keys if not any(key in other for other in others)}
                if lonely:
                    keys -= lonely
                    shrinking = True
                if any(keys <= other for other in others):
                    del edges[alias]
                    shrinking = True
                    break
        return tuple(edges) if len(edges) > 1 else ()

    @cached_property
    def tree(self) -> tuple[tuple[str, str], ...] | None:
        """The neighbours in a join tree, two by two; None if keys do not join all inputs, or in a cycle."""
        above = join_tree(self._classes, 0)
        if above is None:
            return None
        return tuple((self.inputs[upper], self.inputs[place]) for place, upper in above.items() if place)

    @property
    def _classes(self) -> list[frozenset[int]]:
        """The key classes of each input, by their numbers."""
        return [frozenset(i for i, key in enumerate(self.keys) if alias in key.inputs) for alias in self.inputs]


def join_tree(classes: Sequence[frozenset[int]], root: int) -> dict[int, int] | None:
    """For every input the one that it hangs below in a join tree, the root first and below itself; None without one.

    In a join tree the inputs that have a key class hang together. Of all trees this one has the most key classes on its
    branches. It is a join tree if and only if every class is there once less than there are inputs that have it. Inputs
    hang as high as they can.
    """
    above = {root: root}
    shared = 0
    while len(above) < len(classes):
        pairs = [(upper, place) for place in range(len(classes)) if place not in above for upper in above]
        upper, place = max(pairs, key=lambda pair: len(classes[pair[0]] & classes[pair[1]]))
        on_branch = len(classes[upper] & classes[place])
        if not on_branch:
            return None
        above[place] = upper
        shared += on_branch
    wanted = sum(map(len, classes)) - len(frozenset().union(*classes))
    return above if shared == wanted else None


def _sides(part: Expression) -> tuple[Expression, str, Expression]:
    assert isinstance(part, Call)
    left, right = part.arguments
    return left, part.function, right


def _connects_two(part: Expression, operators: tuple[str, ...]) -> bool:
    if not isinstance(part, Call) or part.function not in operators:
        return False
    left, right = (inputs_read(side) for side in part.arguments)
    return len(left) == 1 and len(right) == 1 and left != right


def _key_classes(equalities: list[Expression]) -> tuple[KeyClass, ...]:
    """Equal keys are merged only within one comparison type: equality across lossy conversions is not transitive."""
    classes: list[KeyClass] = []
    for part in equalities:
        assert isinstance(part, Call)
        type_ = part.signature.operands[0]
        touched = [key for key in classes if key.type == type_ and set(key.members) & set(part.arguments)]
        members = [member for key in touched for member in key.members]
        members += [side for side in part.arguments if side not in members]
        merged = KeyClass(tuple(members), type_)
        if touched:
            classes[classes.index(touched[0])] = merged
            classes = [key for key in classes if key not in touched[1:]]
        else:
            classes.append(merged)
    return tuple(classes)


def _pair_bands(compared: list[Inequality]) -> tuple[tuple[Band, ...], tuple[Inequality, ...]]:
    """Finds, for each lower bound of a value, an upper bound of the same value by the same other input."""
    bands: list[Band] = []
    left_over = list(compared)
    for first in compared:
        for low in (first, _mirror(first)):
            high = next(
                (
                    (written, side)
                    for written in left_over
                    if written is not first and first in left_over
                    for side in (written, _mirror(written))
                    if low.operator in (">", ">=")
                    and side.operator in ("<", "<=")
                    and side.left == low.left
                    and inputs_read(side.right) == inputs_read(low.right)
                ),
                None,
            )
            if high is not None:
                written, upper = high
                bands.append(Band(low.left, low.right, low.operator == ">=", upper.right, upper.operator == "<="))
                left_over.remove(first)
                left_over.remove(written)
                break
    return tuple(bands), tuple(left_over)


def _mirror(part: Inequality) -> Inequality:
    return Inequality(part.right, _MIRRORED[part.operator], part.left)
