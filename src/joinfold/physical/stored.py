"""What a bucket stores, and under which name. A name says what is stored, so a later plan finds it again."""

from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True, order=True)
class EntriesOf:
    """The entries of an input, by its name: the alias of a stream, or a name made of the streams that a view joins."""

    input: str


@dataclass(frozen=True, slots=True, order=True)
class BoundariesOf:
    """The row boundaries of a stream: the positions in its order at which blocks of rows end."""

    stream: str


@dataclass(frozen=True, slots=True, order=True)
class ArrivalsOf:
    """The times and order of all rows of a stream that are not answered yet, or still counted, without payloads."""

    stream: str


@dataclass(frozen=True, slots=True, order=True)
class OrderOf:
    """Rows of a stream that wait for their numbers."""

    stream: str


@dataclass(frozen=True, slots=True, order=True)
class Waiting:
    """Rows that the watermark has not reached."""


@dataclass(frozen=True, slots=True, order=True)
class Inside:
    """Rows that are among the last of their key, each with its number in the order of the bucket."""


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
    """The kind, and the name of the input or stream, as they are written in the state."""
    return [_NAMES[type(stored)], *astuple(stored)]


def stored_from(facts: list[str]) -> Stored:
    """The inverse of `stored_facts`."""
    return _KINDS[facts[0]](*facts[1:])


def stored_name(stored: Stored) -> str:
    """What is stored, in words, such as 'entries of a'."""
    return " of ".join(stored_facts(stored))
