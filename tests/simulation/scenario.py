"""A scenario: a query, its rows in micro-batches, and everything that happens to them.

It has only literals, and its ``repr`` is an expression that makes it again. So a scenario that has failed can be kept
(`tests.simulation.kept`) and does not depend on how scenarios are drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import LogicalQuery, Source
from joinfold.planner.forcing import Plan

Row = Mapping[str, Any]


class Compact:
    """Shows only the fields that differ from their defaults."""

    def __repr__(self) -> str:
        shown = []
        for own in fields(self):  # type: ignore[arg-type]
            value = getattr(self, own.name)
            default = own.default if own.default_factory is MISSING else own.default_factory()
            if value != default:
                shown.append(f"{own.name}={_shown(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Lets hypothesis print the same."""
        printer.text(repr(self))


def _shown(value: Any) -> str:
    """Forced plans are shown by what they force."""
    if isinstance(value, Plan):
        forced = [own.name for own in fields(value) if getattr(value, own.name)]
        return f"Plan({', '.join(f'{name}={getattr(value, name)!r}' for name in forced)})"
    return repr(value)


@dataclass(frozen=True, repr=False)
class Registered(Compact):
    """A stream or a relation, as it is registered. A stream without ``has_time`` has the time of its micro-batch."""

    is_stream: bool = True
    has_time: bool = True
    delay_us: int = 0
    ahead_us: int | None = None
    idle_us: int | None = None


@dataclass(frozen=True, repr=False)
class Planning(Compact):
    """What is forced, as far as that is possible.

    ``follows``: buckets change to any choice after every micro-batch, as this seed decides.
    """

    forced: Plan = field(default_factory=Plan)
    follows: int | None = None


@dataclass(frozen=True, repr=False)
class Loss(Compact):
    """What is lost before an attempt: the memory of the workers, and the files that they share.

    Files are gone, cut off, or have a bit flipped. ``at`` is the place of the damage, in thousandths of a file.
    """

    memory: bool = False
    files: Literal["", "gone", "cut", "flipped"] = ""
    at: int = 0


@dataclass(frozen=True, repr=False)
class Death(Compact):
    """A task that dies after some writes to the state, or at its end if it has fewer, and is run again."""

    task: int = 0
    after_writes: int = 0


@dataclass(frozen=True, repr=False)
class Attempt(Compact):
    """An attempt at a micro-batch.

    ``seed`` decides how rows are divided into tasks, in which order blobs come, and which worker gets a bucket.
    ``after_writes``: it dies after so many writes to the state; if it has fewer, it dies after its answers were given.
    The last attempt at a micro-batch does not die. ``plan``: the query is started again first, with this one of its
    plans.
    """

    seed: int = 0
    after_writes: int = 0
    plan: int | None = None
    loss: Loss = field(default_factory=Loss)
    deaths: tuple[Death, ...] = ()


@dataclass(frozen=True, repr=False)
class MicroBatch(Compact):
    """The rows of a micro-batch, its time, and the attempts at it.

    ``runs_again``: after it is committed, someone tries to run it once more. ``rescaled``: after it the query goes on
    with so many buckets.
    """

    data: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    clock_us: int = 0
    attempts: tuple[Attempt, ...] = (Attempt(),)
    runs_again: bool = False
    rescaled: int | None = None


@dataclass(frozen=True, repr=False)
class Scenario(Compact):
    """Everything that a run depends on. Values that rows do not have are NULL.

    ``instants_per_piece``, ``fresh_runs`` and ``entries_per_chunk`` are limits of the engine, which are too large to be
    reached here otherwise.
    """

    text: str
    schema: str
    sources: Mapping[str, Registered]
    batches: tuple[MicroBatch, ...]
    plans: tuple[Planning, ...] = (Planning(),)
    buckets: int = 1
    instants_per_piece: int = 1024
    fresh_runs: int = 8
    entries_per_chunk: int = 65_536

    def catalog(self) -> dict[str, Source]:
        """The streams and relations."""
        schema = read_schema(self.schema)
        return {
            name: Source(
                name, schema, own.is_stream, "ts" if own.is_stream and own.has_time else None,
                own.delay_us, own.ahead_us, own.idle_us,
            )
            for name, own in self.sources.items()
        }  # fmt: skip

    def bind(self) -> LogicalQuery:
        """The query."""
        return bind(parse(self.text), self.catalog())

    @property
    def rows(self) -> list[dict[str, list[dict[str, Any]]]]:
        """The rows of each micro-batch, with all columns."""
        nothing = dict.fromkeys((column.name for column in read_schema(self.schema)), None)
        return [
            {name: [nothing | dict(row) for row in batch.data.get(name, ())] for name in self.sources}
            for batch in self.batches
        ]

    @property
    def clocks(self) -> list[int]:
        """The times of the micro-batches."""
        return [batch.clock_us for batch in self.batches]
