"""What a bucket stores, and under which name: names say what it is, so a later plan finds it again."""

from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True, order=True)
class EntriesOf:
    """The entries of an input, by its name: the alias of a stream, or those of the streams that a view joins."""

    input: str


@dataclass(frozen=True, slots=True, order=True)
class BoundariesOf:
    """The row boundaries of a stream: where in its order blocks of rows end."""

    stream: str


@dataclass(frozen=True, slots=True, order=True)
class ArrivalsOf:
    """All rows of a stream that are not answered yet, or still counted: their times and order, without payloads."""

    stream: str


@dataclass(frozen=True, slots=True, order=True)
class OrderOf:
    """Rows of a stream that wait for their numbers."""

    stream: str


@dataclass(frozen=True, slots=True, order=True)
class Waiting:
    """Rows that the watermark has not passed."""


@dataclass(frozen=True, slots=True, order=True)
class Inside:
    """Rows that are among the last of their key, each with its turn."""


Stored = EntriesOf | BoundariesOf | ArrivalsOf | OrderOf | Waiting | Inside


_KINDS: dict[str, type[Stored]] = {
    "entries": EntriesOf,
    "boundaries": BoundariesOf,
    "arrivals": ArrivalsOf,
    "order": OrderOf,
    "waiting": Waiting,
    "inside": Inside,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def stored_facts(stored: Stored) -> list[str]:
    """What it is and of which input or stream, as it stands in the state."""
    return [_NAMES[type(stored)], *astuple(stored)]


def stored_from(facts: list[str]) -> Stored:
    """The inverse of `stored_facts`."""
    return _KINDS[facts[0]](*facts[1:])


def stored_name(stored: Stored) -> str:
    """The same in words."""
    return " of ".join(stored_facts(stored))
