"""What SHED samples: keys, or rows.

    a.k = b.k                    a and b are sampled by k
    a.k = b.k AND b.j = c.j      a and b are sampled by k, or b and c by j: the key that most inputs have; c stays whole

All inputs that have the key draw alike, so a combination is kept or shed as a whole. One input also has the replicate
of each key, by which the error of an estimate is found. If rows are sampled, every stream draws by itself, by all its
columns, and has its own replicates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from joinfold.logical.expressions import Expression
from joinfold.logical.query import LogicalQuery
from joinfold.logical.sampling import sampling_keys
from joinfold.physical.column_names import TIME, replicate_column
from joinfold.physical.payload import InputSpec
from joinfold.physical.plan import Frame
from joinfold.physical.shedding import KeySampling, RowSampling, Sampling
from joinfold.physical.source import ConstantRow, StreamRows


@dataclass(frozen=True, slots=True)
class Sampled:
    """The inputs with their draws, the columns of replicates, what is sampled, and whether groups are complete."""

    inputs: tuple[InputSpec, ...]
    replicates: tuple[str, ...]
    shedding: Sampling
    complete: bool = False


def sample_rows(query: LogicalQuery, inputs: Sequence[InputSpec], frames: Sequence[Frame]) -> Sampled:
    """Lets all streams draw by their rows."""
    assert query.shed is not None
    found, names = list(inputs), []
    for stream, frame in enumerate(frames):
        drawn_by = (TIME, *(column.name for column in frame.columns))
        names.append(replicate_column(stream))
        groups = (*inputs[stream].groups, names[-1])
        found[stream] = replace(inputs[stream], drawn_by=drawn_by, groups=groups, replicate=names[-1])
    shedding = RowSampling(query.shed.budgets, query.shed.seed, tuple(range(len(frames))))
    return Sampled(tuple(found), tuple(names), shedding)


def sample_keys(query: LogicalQuery, inputs: Sequence[InputSpec], keys: Sequence[tuple[Expression, ...]]) -> Sampled:
    """Lets the inputs that have the sampled key draw by it; ``keys`` has the expressions of each key class."""
    assert query.shed is not None
    shared = {member for key in sampling_keys(query) for member in key.members}
    classes = _sampled_classes(inputs, {number for number, members in enumerate(keys) if shared & set(members)})
    drawing = [ordinal for ordinal, spec in enumerate(inputs) if classes <= set(spec.classes)]
    bearer = next((ordinal for ordinal in drawing if inputs[ordinal].groups), drawing[0])
    found = list(inputs)
    for ordinal in drawing:
        spec = inputs[ordinal]
        columns = dict(zip(spec.classes, spec.keys, strict=True))
        found[ordinal] = replace(spec, drawn_by=tuple(columns[number] for number in sorted(classes)))
    replicate = replicate_column(bearer)
    found[bearer] = replace(found[bearer], groups=(*found[bearer].groups, replicate), replicate=replicate)
    sources = [inputs[ordinal].source for ordinal in drawing]
    streams = tuple(source.stream for source in sources if isinstance(source, StreamRows))
    complete = all(set(query.groups) & set(keys[number]) for number in classes)
    return Sampled(
        tuple(found), (replicate,), KeySampling(query.shed.budgets, query.shed.seed, streams, complete), complete
    )


def _sampled_classes(inputs: Sequence[InputSpec], allowed: set[int]) -> frozenset[int]:
    """Of the key classes that may be sampled, all that every input has, or else the one that most inputs have."""
    own = [frozenset(spec.classes) for spec in inputs if not isinstance(spec.source, ConstantRow)]
    common = frozenset.intersection(*own) & allowed
    return common or frozenset({max(sorted(allowed), key=lambda number: sum(number in classes for classes in own))})
