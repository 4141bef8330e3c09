"""Probing: finds the combinations of an entry by looking into the other windows, one after another (MJoin).

`physical.probe_order` gives the steps. Between steps only the rows of a chunk are kept, so memory is bounded whatever
the number of combinations.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joinfold.columnar import is_true
from joinfold.kernels.identity import IdTable
from joinfold.kernels.structures import STRUCTURES
from joinfold.kernels.structures.operations import PROBE, Operations, Structure
from joinfold.operators.entries import Entries, Flags, Ids, Integers
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.windows.members import Members
from joinfold.physical.choice import Index
from joinfold.physical.column_names import pair_column
from joinfold.physical.combining import RangeJoin
from joinfold.physical.payload import InputSpec
from joinfold.physical.probe_order import IndexName, Step, steps_from


class KeyIds:
    """One id for the keys of several classes together; without keys it is 0."""

    def __init__(self, classes: int) -> None:
        self.tables = [IdTable() for _ in range(classes - 1)]

    def __len__(self) -> int:
        return max(map(len, self.tables), default=0)

    def of(self, parts: list[Ids], rows: int) -> Ids:
        """The id of each row, from its ids in each class."""
        if not parts:
            return np.zeros(rows, np.int32)
        found = parts[0]
        for table, own in zip(self.tables, parts[1:], strict=True):
            found = table.intern_pairs(found, own)
        return np.ascontiguousarray(found)


class IndexedWindow:
    """The members of one input, with an index for every way in which a step looks for them."""

    def __init__(self, spec: InputSpec, ordinal: int, members: Members, index: Index, asked: set[IndexName]) -> None:
        self.spec = spec
        self.ordinal = ordinal
        self.members = members
        self.structures: dict[IndexName, Structure] = {name: _structure(index) for name in sorted(asked, key=str)}

    @property
    def touched(self) -> int:
        """How many members its structures have looked at."""
        return sum(structure.touched for structure in self.structures.values())

    @property
    def bytes_held(self) -> int:
        """The memory of members and structures."""
        return self.members.bytes_held + sum(structure.bytes_held for structure in self.structures.values())

    def change(self, kind: int, slots: Integers, keys: dict[tuple[int, ...], KeyIds], vocabulary: Vocabulary) -> None:
        """Inserts slots into all structures, or removes them; ``kind`` is INSERT or REMOVE."""
        for (classes, number), structure in self.structures.items():
            parts = [self.members.parts[slots, self.spec.classes.index(key_class)] for key_class in classes]
            key = keys[classes].of(parts, len(slots))
            codes = np.zeros(len(slots), np.int64)
            can = np.logical_and.reduce([part > 0 for part in parts]) if parts else np.ones(len(slots), np.bool_)
            if number is not None:
                codes, possible = vocabulary.ranges[number].index_codes(self.ordinal, self.members.carried[slots])
                can = can & possible
            changed = slots[can]
            nothing = np.zeros(len(changed), np.int64)
            kinds = np.full(len(changed), kind, np.int8)
            structure.apply(Operations(kinds, key[can], codes[can], nothing, changed))


def _structure(index: Index) -> Structure:
    return STRUCTURES[index.structure](**dict(index.parameters))


@dataclass(slots=True)
class PartialCombinations:
    """Combinations of the inputs bound so far: row of the delta, slot of each input, key ids and carried rows."""

    delta: Integers
    slots: dict[int, Integers]
    parts: dict[int, Ids]
    carried: dict[int, Ids]

    def take(self, rows: Integers | Flags) -> "PartialCombinations":
        """Some of the combinations."""
        return PartialCombinations(
            self.delta[rows],
            {ordinal: slots[rows] for ordinal, slots in self.slots.items()},
            {number: ids[rows] for number, ids in self.parts.items()},
            {ordinal: ids[rows] for ordinal, ids in self.carried.items()},
        )


class Prober:
    """Runs the probing steps, from each input."""

    def __init__(self, order: tuple[int, ...], vocabulary: Vocabulary, zone: str) -> None:
        self.vocabulary = vocabulary
        self.zone = zone
        body = vocabulary.body
        self.steps = [steps_from(body, order, ordinal) for ordinal in range(len(body.inputs))]
        self.keys = {step.classes: KeyIds(len(step.classes)) for steps in self.steps for step in steps}

    @property
    def given(self) -> int:
        """How many ids the largest table of keys has."""
        return max(map(len, self.keys.values()), default=0)

    def asked(self, ordinal: int) -> set[IndexName]:
        """The indexes that the steps need of an input."""
        return {step.index for steps in self.steps for step in steps if step.ordinal == ordinal}

    def start(self, ordinal: int, entries: Entries) -> PartialCombinations:
        """The entries of an input, as combinations in which no other input is bound."""
        classes = self.vocabulary.body.inputs[ordinal].classes
        parts = {key_class: entries.parts[:, number] for number, key_class in enumerate(classes)}
        return PartialCombinations(np.arange(len(entries)), {}, parts, {ordinal: entries.carried})

    def combinations(
        self, first: int, bound: PartialCombinations, windows: list[IndexedWindow], depth: int = 0
    ) -> Iterator[PartialCombinations]:
        """All combinations of entries of the input ``first`` with members of the others, in chunks."""
        steps = self.steps[first]
        if depth == len(steps):
            yield bound
            return
        step = steps[depth]
        for chunk in self._bind(step, bound, windows[step.ordinal]):
            yield from self.combinations(first, chunk, windows, depth + 1)

    def _bind(self, step: Step, bound: PartialCombinations, window: IndexedWindow) -> Iterator[PartialCombinations]:
        rows = np.arange(len(bound.delta))
        parts = [bound.parts[number] for number in step.classes]
        can = np.logical_and.reduce([part > 0 for part in parts]) if parts else np.ones(len(rows), np.bool_)
        key = self.keys[step.classes].of(parts, len(rows))
        low = high = np.zeros(len(rows), np.int64)
        if step.range is not None:
            codes = self.vocabulary.ranges[step.range]
            other = next(ordinal for ordinal in codes.ordinals if ordinal != step.ordinal)
            low, high, possible = codes.probe_codes(step.ordinal, bound.carried[other])
            can = can & possible
        rows = rows[can]
        order = np.argsort((key if step.classes else low)[rows], kind="stable")
        rows = rows[order]  # so that neighbouring probes read the same memory
        probes = Operations(
            np.full(len(rows), PROBE, np.int8), key[rows], low[rows], high[rows], np.zeros(len(rows), np.int64)
        )
        for found in window.structures[step.index].matches(probes):
            chunk = bound.take(rows[found.probe])
            members = window.members
            chunk.slots[step.ordinal] = found.member
            chunk.carried[step.ordinal] = members.carried[found.member]
            for number, key_class in enumerate(window.spec.classes):
                if key_class not in chunk.parts:
                    chunk.parts[key_class] = members.parts[:, number].take(found.member)
            chunk = self._checked(step, chunk)
            if len(chunk.delta):
                yield chunk

    def _checked(self, step: Step, chunk: PartialCombinations) -> PartialCombinations:
        for number in step.checked:
            codes = self.vocabulary.ranges[number]
            if number == step.range and _is_exact(codes.join, step.ordinal):
                continue
            values, bounds = (chunk.carried[ordinal] for ordinal in codes.ordinals)
            chunk = chunk.take(codes.check(values, bounds))
        for condition in step.conditions:
            if len(chunk.delta):
                columns = self.columns(chunk)
                chunk = chunk.take(is_true(condition.expression, columns, len(chunk.delta), self.zone))
        return chunk

    def columns(self, chunk: PartialCombinations) -> "dict[tuple[str, str], object]":
        """The carried columns of combinations, under the names that expressions use."""
        return {
            (pair_column(ordinal), name): column
            for ordinal, ids in chunk.carried.items()
            for name, column in self.vocabulary.carried_columns(ordinal, ids).items()
        }


def _is_exact(join: RangeJoin, ordinal: int) -> bool:
    """Whether the index of an input finds exactly what matches. With two bounds it is sorted by one of them only."""
    return ordinal == join.value_input or join.low is None or join.high is None
