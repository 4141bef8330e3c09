"""The live entries of one window, in numbered slots that are reused.

Entries stay single, or are *merged*: entries with equal keys, groups and carried values share a slot. Where it matters
when a combination ends, they share it only if they also leave together. A window is a queue: the entries that leave are
those that entered first, unless entries were lined up otherwise. A view is not: the rows that leave are looked up by
key, group and carried values.
"""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joinfold.kernels.grouping import group_rows, sum_ints
from joinfold.kernels.identity import IdTable
from joinfold.numbers import double_double as dd
from joinfold.operators.calendars.calendar import END
from joinfold.operators.entries import Entries, Ids, Integers, Payload, rows_of
from joinfold.operators.windows.pair_values import summed_reals
from joinfold.operators.windows.side import Side

FIRST_ROOM = 64
_COLUMNS = ("cells", "parts", "group", "carried", "leaves", "_identity")


class Members:
    """Slots with payloads; ``integer_columns`` includes the counts of rows in which a real is not zero."""

    def __init__(
        self,
        keys: int,
        integer_columns: int,
        real_columns: int,
        extremes: int,
        merged: bool,
        by_leave: bool,
        is_queue: bool = True,
    ) -> None:
        assert is_queue or (merged and not by_leave)
        self.merged = merged
        self.is_queue = is_queue
        self.by_leave = by_leave
        self.cells = np.zeros(FIRST_ROOM, np.int64)
        self.parts = np.zeros((FIRST_ROOM, keys), np.int32)
        self.group = np.zeros(FIRST_ROOM, np.int32)
        self.carried = np.zeros(FIRST_ROOM, np.int32)
        self.leaves = np.zeros(FIRST_ROOM, np.int64)
        self.payload = Payload.zeros(FIRST_ROOM, integer_columns, real_columns, extremes, with_drift=True)
        self._entered: deque[Integers] = deque()
        self._free: list[int] = []
        self._used = 0
        self._tables = [IdTable() for _ in range(keys + 2 + by_leave)]
        self._leave_ids = IdTable()
        self._slot_of = np.zeros(0, np.int64)
        self._identity = np.zeros(FIRST_ROOM, np.int64)

    def __len__(self) -> int:
        return self._used - len(self._free)

    @property
    def given(self) -> int:
        """How many ids the largest table has. Leaving times get ids too, so with ``by_leave`` it grows with time."""
        return max(map(len, self._tables)) if self.merged else 0

    @property
    def bytes_held(self) -> int:
        """The memory of all arrays."""
        arrays: list[NDArray[Any]] = [self.parts, self.group, self.carried, self.leaves, *self._entered]
        tables = sum(table.bytes_held for table in self._tables) if self.merged else 0
        return sum(array.nbytes for array in arrays) + self.payload.nbytes + tables

    def enter(self, entries: Entries, leaves: Integers) -> Integers:
        """Adds entries. Returns the slots that are new."""
        if not self.merged:
            slots = self._new_slots(entries, np.arange(len(entries)), leaves)
            self._add(slots, entries.payload, 1)
            self._raise(slots, entries.payload)
            self._entered.append(slots)
            return slots
        identity = self._identities(entries, leaves)
        slots = self._slot_of[identity]
        missing = np.flatnonzero(slots < 0)
        distinct, first = np.unique(identity[missing], return_index=True)
        new = self._new_slots(entries, missing[first], leaves)
        self._slot_of[distinct] = new
        self._identity[new] = distinct
        slots = self._slot_of[identity]
        self._add(slots, entries.payload, 1)
        self._raise(slots, entries.payload)
        if self.is_queue:
            self._entered.append(slots)
        return new

    def leave(self, entries: Entries) -> Integers:
        """Removes entries. Returns the slots that are now free; their keys can still be read."""
        count = len(entries)
        slots = (
            self._first_in(count) if self.is_queue else self._slot_of[self._identities(entries, np.full(count, END))]
        )
        if self.merged:
            self._add(slots, entries.payload, -1)
            slots = np.unique(slots)
            slots = slots[self.payload.ints[slots, 0] == 0]
            self._slot_of[self._identity[slots]] = -1
        self._free += slots.tolist()
        return slots

    def bring_forward(self, places: Integers) -> None:
        """Lets the entries at these places of the queue be the next that leave."""
        queue = self._queue()
        is_next = np.zeros(len(queue), np.bool_)
        is_next[places] = True
        self._entered = deque([queue[is_next], queue[~is_next]])

    def next_leaves(self, count: int) -> Integers:
        """When those that are next in the queue would leave."""
        return self.leaves[self._queue()[:count]]

    def line_up(self, places: Integers) -> None:
        """Moves the entries that entered last to these places of the queue."""
        queue = self._queue()
        is_last = np.zeros(len(queue), np.bool_)
        is_last[places] = True
        lined_up = np.empty_like(queue)
        lined_up[is_last], lined_up[~is_last] = queue[len(queue) - len(places) :], queue[: len(queue) - len(places)]
        self._entered = deque([lined_up])

    def _queue(self) -> Integers:
        """The slots of all entries, in the order in which these will leave."""
        return np.concatenate([np.empty(0, np.int64), *self._entered])

    @property
    def live_slots(self) -> Integers:
        """The slots of all entries, which must not be merged."""
        assert not self.merged
        there = np.ones(self._used, np.bool_)
        there[self._free] = False
        return np.flatnonzero(there)

    @property
    def entries(self) -> Entries:
        """All entries, which must not be merged, in the order of `live_slots`."""
        slots = self.live_slots
        return Entries(
            self.cells[slots],
            np.zeros(len(slots), np.int32),
            rows_of(self.parts, slots),
            self.group[slots],
            self.carried[slots],
            self.payload.take(slots)._replace(drift=None),
        )

    def drop(self, slots: Integers) -> None:
        """Removes entries that are not merged, in any order; their keys can still be read."""
        assert not self.merged
        self._entered.clear()
        self._free += slots.tolist()

    def side(self, slots: Integers) -> Side:
        """What combinations need of these slots."""
        return Side(self.group[slots], self.carried[slots], self.leaves[slots], self.payload.take(slots))

    def _first_in(self, count: int) -> Integers:
        """Takes this many slots from the front of the queue."""
        found = [np.empty(0, np.int64)]
        while count:
            slots = self._entered.popleft()
            found.append(slots[:count])
            if len(slots) > count:
                self._entered.appendleft(slots[count:])
            count -= len(found[-1])
        return np.concatenate(found)

    def _new_slots(self, entries: Entries, chosen: Integers, leaves: Integers) -> Integers:
        slots = self._numbers(entries.parts[chosen])
        self.cells[slots] = entries.cells[chosen]
        self.parts[slots] = entries.parts[chosen]
        self.group[slots] = entries.group[chosen]
        self.carried[slots] = entries.carried[chosen]
        self.leaves[slots] = leaves[chosen]
        for array in self.payload:
            assert array is not None
            array[slots] = 0
        return slots

    def _numbers(self, parts: Ids) -> Integers:
        """Free slots for entries. Entries of one key get neighbouring slots, so probing a key reads little memory."""
        again = self._free[max(len(self._free) - len(parts), 0) :]
        del self._free[len(self._free) - len(again) :]
        fresh = len(parts) - len(again)
        found = np.array([*again, *range(self._used, self._used + fresh)], np.int64)
        self._used += fresh
        self._make_room(self._used)
        if not parts.shape[1]:
            return found
        slots = np.empty_like(found)
        slots[np.argsort(parts[:, 0], kind="stable")] = np.sort(found)
        return slots

    def _add(self, slots: Integers, payload: Payload, sign: int) -> None:
        if not len(slots):
            return
        held_payload, (integers, reals, *_) = self.payload, payload
        assert held_payload.drift is not None
        sizes = [np.abs(high) for high in reals[:, 0::2].T]
        if self.merged:  # entries that enter together may share a slot
            number, first = group_rows(slots[None, :])
            integers = np.stack([sum_ints(number, len(first), column) for column in integers.T], axis=1)
            reals = summed_reals(number, len(first), reals)
            sizes = [np.bincount(number, size, len(first)) for size in sizes]
            slots = slots[first]
        held_payload.ints[slots] += sign * integers
        for hi in range(0, reals.shape[1], 2):
            held = (held_payload.reals[slots, hi], held_payload.reals[slots, hi + 1])
            size = sizes[hi // 2]
            with np.errstate(all="ignore"):
                held_payload.reals[slots, hi], held_payload.reals[slots, hi + 1] = dd.add(
                    held, (sign * reals[:, hi], sign * reals[:, hi + 1])
                )
                held_payload.drift[slots, hi] += sign * size
                held_payload.drift[slots, hi + 1] += np.abs(held_payload.drift[slots, hi]) + size

    def _raise(self, slots: Integers, payload: Payload) -> None:
        """Raises the extremes of slots to those of the entries. All entries of such a slot leave together."""
        held_payload, lowest = self.payload, np.iinfo(np.int64).min
        for extreme in range(payload.codes.shape[1]):
            has = payload.has[:, extreme]
            there, found = slots[has], payload.codes[has, extreme]
            held_payload.codes[there[~held_payload.has[there, extreme]], extreme] = lowest
            np.maximum.at(held_payload.codes[:, extreme], there, found)
            held_payload.has[there, extreme] = True

    def _identities(self, entries: Entries, leaves: Integers) -> Integers:
        """The id of each entry's keys, group and carried values, with ``by_leave`` also of its leaving time."""
        columns = [*entries.parts.T, entries.group, entries.carried]
        tables = iter(self._tables)
        ids: Ids = np.zeros(len(entries), np.int32)
        for column in columns:
            ids = next(tables).intern_pairs(ids, column)
        if self.by_leave:
            ids = next(tables).intern_pairs(ids, self._leave_ids.intern(leaves))
        highest = int(ids.max(initial=-1)) + 1
        if highest > len(self._slot_of):
            grown = np.full(max(highest, 2 * len(self._slot_of)), -1, np.int64)
            grown[: len(self._slot_of)] = self._slot_of
            self._slot_of = grown
        return ids.astype(np.int64)

    def _make_room(self, slots: int) -> None:
        room = len(self.group)
        if slots <= room:
            return
        room = max(slots, 2 * room)
        for name in _COLUMNS:
            setattr(self, name, _grown(getattr(self, name), room))
        self.payload = Payload(*(None if array is None else _grown(array, room) for array in self.payload))  # type: ignore[arg-type]


def _grown(array: NDArray[Any], room: int) -> NDArray[Any]:
    grown = np.zeros((room, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
