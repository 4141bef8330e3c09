"""What stages send to each other. Each blob says which of these kinds it is.

    PACK ──EntriesFrom, HeaderFrom, OrderFrom, ArrivalsFrom──▶ stages ──BoundariesFrom, ViewRows──▶ stages ──▶ Merge

Entries, order and arrivals also carry the header of their batch.
"""

from dataclasses import dataclass
from typing import Any, assert_never


@dataclass(frozen=True, slots=True)
class EntriesFrom:
    """Entries of a stream, for one bucket, and the header of their batch."""

    stream: int


@dataclass(frozen=True, slots=True)
class HeaderFrom:
    """The header of a batch of a stream without entries. Every bucket gets the header of every batch."""

    stream: int


@dataclass(frozen=True, slots=True)
class OrderFrom:
    """The times and values that order the rows of a stream, and the header of their batch."""

    stream: int


@dataclass(frozen=True, slots=True)
class ArrivalsFrom:
    """All rows of a batch of a stream without their payloads, and its header."""

    stream: int


@dataclass(frozen=True, slots=True)
class BoundariesFrom:
    """Row boundaries of a stream, for every bucket."""

    stream: int


@dataclass(frozen=True, slots=True)
class ViewRows:
    """Rows of the view that a stage makes."""

    stage: int


Edge = EntriesFrom | HeaderFrom | OrderFrom | ArrivalsFrom | BoundariesFrom | ViewRows

_KINDS: dict[str, type[Edge]] = {
    "entries": EntriesFrom,
    "header": HeaderFrom,
    "order": OrderFrom,
    "arrivals": ArrivalsFrom,
    "boundaries": BoundariesFrom,
    "view": ViewRows,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def edge_facts(edge: Edge) -> dict[str, Any]:
    """The edge as facts that a blob carries."""
    match edge:
        case ViewRows(stage=number):
            return {"edge": "view", "of": number}
        case EntriesFrom() | HeaderFrom() | OrderFrom() | ArrivalsFrom() | BoundariesFrom():
            return {"edge": _NAMES[type(edge)], "of": edge.stream}
        case _:
            assert_never(edge)


def edge_of(facts: dict[str, Any]) -> Edge:
    """The inverse of `edge_facts`."""
    return _KINDS[facts["edge"]](facts["of"])
