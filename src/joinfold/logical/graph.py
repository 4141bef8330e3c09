"""The join graph: which conjuncts of WHERE connect which inputs, and how.

Each conjunct that reads two or more inputs is of one kind:

* An equality whose sides read one input each makes two *keys* equal. Keys that are equal through a chain of such
  conjuncts, all compared in one type, form a *key class*.
* Two inequalities that bound a value of one input from below and above by values of another input are a *band*.
* Any other inequality whose sides read one input each is an *inequality*.
* All other conjuncts are *residual*: they are checked on whole combinations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from joinfold.logical.expressions import Call, Expression, inputs_read
from joinfold.types import DataType

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class KeyClass:
    """Expressions over one input each that WHERE makes equal; they are compared as values of ``type``."""

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
    """``left operator right``, where the sides read one input each."""

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
    """The inputs, and the conjuncts of WHERE that connect them."""

    inputs: tuple[str, ...]
    keys: tuple[KeyClass, ...]
    bands: tuple[Band, ...]
    inequalities: tuple[Inequality, ...]
    residual: tuple[Expression, ...]

    @staticmethod
    def of(inputs: tuple[str, ...], where: tuple[Expression, ...]) -> "JoinGraph":
        """Sorts the conjuncts of WHERE by kind, without filters: conjuncts that read one input or none."""
        joining = [part for part in where if len(inputs_read(part)) > 1]
        equalities = [part for part in joining if _connects_two(part, ("=",))]
        compared = [part for part in joining if _connects_two(part, tuple(_MIRRORED))]
        bands, inequalities = _pair_bands([Inequality(*_sides(part)) for part in compared])
        residual = [part for part in joining if part not in equalities and part not in compared]
        return JoinGraph(inputs, _key_classes(equalities), bands, inequalities, tuple(residual))

    @cached_property
    def components(self) -> tuple[frozenset[str], ...]:
        """The connected components of the inputs, in the order of FROM."""
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
        """Whether conditions connect all inputs."""
        return len(self.components) == 1

    @property
    def common_key(self) -> KeyClass | None:
        """A key class with a member in every input, or None. With one, a single fold joins all inputs."""
        return next((key for key in self.keys if key.inputs == frozenset(self.inputs)), None)

    @property
    def is_acyclic(self) -> bool:
        """Whether the equi-join is α-acyclic."""
        return not self.cycle

    @cached_property
    def cycle(self) -> tuple[str, ...]:
        """The inputs whose keys form a cycle, found by the reduction of Graham, Yu and Özsoyoğlu.

        It repeatedly drops each key class that only one input has, and each input whose key classes another input has.
        """
        edges = {alias: set(keys) for alias, keys in zip(self.inputs, self._classes, strict=True)}
        shrinking = True
        while shrinking and len(edges) > 1:
            shrinking = False
            for alias, keys in edges.items():
                others = [other for name, other in edges.items() if name != alias]
                unshared = {key for key in keys if not any(key in other for other in others)}
                if unshared:
                    keys -= unshared
                    shrinking = True
                if any(keys <= other for other in others):
                    del edges[alias]
                    shrinking = True
                    break
        return tuple(edges) if len(edges) > 1 else ()

    @cached_property
    def tree(self) -> tuple[tuple[str, str], ...] | None:
        """The edges of a join tree; None if keys do not connect all inputs, or connect them in a cycle."""
        parents = join_tree(self._classes, 0)
        if parents is None:
            return None
        return tuple((self.inputs[parent], self.inputs[child]) for child, parent in parents.items() if child)

    @property
    def _classes(self) -> list[frozenset[int]]:
        """For each input, the numbers of its key classes."""
        return [frozenset(i for i, key in enumerate(self.keys) if alias in key.inputs) for alias in self.inputs]


def join_tree(classes: Sequence[frozenset[int]], root: int) -> dict[int, int] | None:
    """The parent of every input in a join tree, the root first with itself as parent; None if there is no join tree.

    ``classes`` has the key classes of each input. In a join tree, the inputs of each key class are connected. This
    function builds a tree whose edges share as many key classes as possible (Prim's algorithm). It is a join tree if
    and only if every key class is shared by one edge fewer than it has inputs. Inputs are as close to the root as
    possible.
    """
    parents = {root: root}
    shared = 0
    while len(parents) < len(classes):
        edges = [(parent, child) for child in range(len(classes)) if child not in parents for parent in parents]
        parent, child = max(edges, key=lambda edge: len(classes[edge[0]] & classes[edge[1]]))
        on_edge = len(classes[parent] & classes[child])
        if not on_edge:
            return None
        parents[child] = parent
        shared += on_edge
    wanted = sum(map(len, classes)) - len(frozenset().union(*classes))
    return parents if shared == wanted else None


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
    """Merges equal keys into classes, one comparison type at a time: across lossy casts, equality is not transitive."""
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
    """Pairs each lower bound of a value with an upper bound of the same value by the same other input, if any."""
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
