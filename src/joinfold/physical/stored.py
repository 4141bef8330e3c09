"""What a bucket stores, and under which name: names say what it is, so a later plan finds it again."""

from dataclasses import dataclass
from typing import assert_never


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


def stored_name(stored: Stored) -> str:
    """The name under which something is stored."""
    match stored:
        case EntriesOf(input=name):
            return f"entries of {name}"
        case BoundariesOf(stream=name):
            return f"boundaries of {name}"
        case ArrivalsOf(stream=name):
            return f"arrivals of {name}"
        case OrderOf(stream=name):
            return f"order of {name}"
        case Waiting():
            return "waiting"
        case Inside():
            return "inside"
        case _:
            assert_never(stored)


def stored_kind(name: str) -> Stored:
    """The inverse of `stored_name`."""
    kinds: dict[str, type[EntriesOf | BoundariesOf | ArrivalsOf | OrderOf]] = {
        "entries of": EntriesOf,
        "boundaries of": BoundariesOf,
        "arrivals of": ArrivalsOf,
        "order of": OrderOf,
    }
    for prefix, kind in kinds.items():
        if name.startswith(f"{prefix} "):
            return kind(name[len(prefix) + 1 :])
    assert name in ("waiting", "inside"), name
    return Waiting() if name == "waiting" else Inside()
