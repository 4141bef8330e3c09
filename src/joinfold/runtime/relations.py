"""Joins a stream with relations in Spark, before PACK: a row for every match, and one for every row without a match.

Every row of the stream must stay, since it moves time, and must be counted once, since it may be late. After an
ordinary join nobody could tell which matches belong to the same row of the stream, and Spark cannot number the rows of
a stream. So relations are first collected into arrays by key, and each row of the stream finds at most one array:

    person p               by key                    rows of a                 exploded
    id  state             id  matches                seller  matches           seller  number  state
    1   OR          ──▶   1   [OR, ID]      ──▶      1       [OR, ID]   ──▶    1       0       OR
    1   ID                2   [CA]                   9       NULL              1       1       ID
    2   CA                                                                     9       NULL    NULL

The number in the array tells which match of a row is the first, and whether there is one. Conditions other than
equalities are checked on the exploded rows. Without an equality the whole relation is one array for every row.
"""

from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from joinfold.errors import UsageError
from joinfold.logical.expressions import Column, Expression, inputs_read, rewrite, walk
from joinfold.names import identifier_text
from joinfold.physical.column_names import FIRST, KEEP, MATCHES, TIME
from joinfold.physical.plan import Attachment, Frame, FrameColumn
from joinfold.planner.drafting.homes import reads_within
from joinfold.runtime.expressions import SOURCE, of_source, spark_text, time_text

ROW = "row"
Names = dict[tuple[str, str], str]  # from (alias, column) to a name that is unique among the columns of all inputs


def joined(frame: Frame, sources: Mapping[str, DataFrame]) -> DataFrame:
    """A frame with attached relations: its columns ts, keep, first and matches, then those of the plan, by number."""
    after = [*frame.matching, *(column.expression for column in frame.columns)]
    names = _names(frame)
    rows = _stream_rows(frame, sources[frame.input.source.name], names, _read(after))
    for number, attachment in enumerate(frame.attached):
        gathered = _gathered(attachment, number, sources, names, _read(after))
        rows = _exploded(rows, gathered, number, len(attachment.keys))
    numbers = [f"number_{number}" for number in range(len(frame.attached))]
    first = " AND ".join(f"COALESCE({number}, 0) = 0" for number in numbers)
    has_rows = " AND ".join([KEEP, *(f"{number} IS NOT NULL" for number in numbers)])
    conditions = " AND ".join(f"({_text(part, names)})" for part in frame.matching) or "TRUE"
    matches = f"COALESCE(CASE WHEN {has_rows} THEN {conditions} END, FALSE)"
    rows = rows.alias(ROW).selectExpr("*", f"{first} AS {FIRST}", f"{matches} AS {MATCHES}")
    rows = rows.where(f"{FIRST} OR {MATCHES}")
    columns = [f"{_computed(column, names)} AS p{number}" for number, column in enumerate(frame.columns)]
    return rows.alias(ROW).selectExpr(TIME, KEEP, FIRST, MATCHES, *columns)


def _computed(column: FrameColumn, names: Names) -> str:
    """SQL for a column of the frame. A row that is not a match must not fail; only its order columns are computed."""
    text = _text(column.expression, names)
    return text if column.role == "order" else f"CASE WHEN {MATCHES} THEN {text} END"


def _stream_rows(frame: Frame, source: DataFrame, names: Names, read: set[Column]) -> DataFrame:
    """The rows of a stream: event time, whether they pass the filters, keys for each attachment, and columns."""
    keep = "TRUE" if frame.keep is None else spark_text(of_source(frame.keep))
    texts = [f"{time_text(frame.input.source, source.isStreaming)} AS {TIME}", f"{keep} AS {KEEP}"]
    for number, attachment in enumerate(frame.attached):
        for position, key in enumerate(attachment.keys):
            texts.append(
                f"CASE WHEN {keep} THEN {spark_text(of_source(key.left))} END AS {_key('left', number, position)}"
            )
    return source.alias(SOURCE).selectExpr(*texts, *_renamed(frame.input.alias, names, read))


def _exploded(rows: DataFrame, gathered: DataFrame, number: int, keys: int) -> DataFrame:
    """The rows with their matches, one row for each. A row without a match stays; its number is NULL."""
    positions = range(keys)
    own = [name for name in rows.columns if name not in {_key("left", number, position) for position in positions}]
    if keys:
        equal = " AND ".join(
            f"{_key('left', number, position)} = {_key('right', number, position)}" for position in positions
        )
        rows = rows.join(gathered, f.expr(equal), "left")
    else:
        rows = rows.crossJoin(gathered)
    rows = rows.selectExpr(*own, f"POSEXPLODE_OUTER(matches_{number}) AS (number_{number}, match)")
    return rows.selectExpr(*own, f"number_{number}", "match.*")


def _gathered(
    attachment: Attachment, number: int, sources: Mapping[str, DataFrame], names: Names, read: set[Column]
) -> DataFrame:
    """The relations of an attachment, joined with each other, as arrays by key; one array if there is no key."""
    rows = _combined(attachment, sources, names, read).alias(ROW)
    keys = [_key("right", number, position) for position in range(len(attachment.keys))]
    texts = [f"{_text(key.right, names)} AS {name}" for key, name in zip(attachment.keys, keys, strict=True)]
    aliases = {relation.alias for relation in attachment.relations}
    columns = [names[column.input, column.name] for column in _sorted(read) if column.input in aliases]
    rows = rows.selectExpr(*texts, f"STRUCT({', '.join(columns)}) AS match")
    if keys:
        rows = rows.where(" AND ".join(f"{name} IS NOT NULL" for name in keys))
    return rows.groupBy(*keys).agg(f.collect_list("match").alias(f"matches_{number}"))


def _combined(attachment: Attachment, sources: Mapping[str, DataFrame], names: Names, read: set[Column]) -> DataFrame:
    """The relations of an attachment, joined with each other in the order of FROM."""
    wanted = read | _read([*attachment.conditions, *(key.right for key in attachment.keys)])
    waiting = list(attachment.conditions)
    known: frozenset[str] = frozenset()
    combined: DataFrame | None = None
    for relation in attachment.relations:
        own = [part for part in waiting if inputs_read(part) == {relation.alias}]
        known |= {relation.alias}
        complete = [part for part in waiting if reads_within(part, known) and part not in own]
        waiting = [part for part in waiting if part not in own and part not in complete]
        rows = _relation(relation.source.name, sources).alias(SOURCE)
        rows = reduce(lambda found, part: found.where(spark_text(of_source(part))), own, rows)
        rows = rows.selectExpr(*_renamed(relation.alias, names, wanted)).alias(ROW)
        if combined is None:
            combined = rows
            continue
        on = " AND ".join(f"({_text(part, names)})" for part in complete)
        combined = (combined.join(rows, f.expr(on)) if on else combined.crossJoin(rows)).alias(ROW)
    assert combined is not None
    return combined


def _relation(name: str, sources: Mapping[str, DataFrame]) -> DataFrame:
    if sources[name].isStreaming:
        hint = "register it with session.stream and give it a window."
        raise UsageError(f"'{name}' is a stream, but was registered as a relation", hint)
    return sources[name]


def _names(frame: Frame) -> Names:
    """A unique name for every column that is read from the stream and its relations."""
    by_attachments = [part for attachment in frame.attached for part in attachment.said]
    read = _read([*by_attachments, *frame.matching, *(column.expression for column in frame.columns)])
    return {(column.input, column.name): f"column_{number}" for number, column in enumerate(_sorted(read))}


def _sorted(columns: Iterable[Column]) -> list[Column]:
    return sorted(columns, key=lambda column: (column.input, column.name))


def _renamed(alias: str, names: Names, read: set[Column]) -> list[str]:
    """The columns of an input under their unique names."""
    own = [column for column in _sorted(read) if column.input == alias]
    return [f"{SOURCE}.{identifier_text(column.name)} AS {names[alias, column.name]}" for column in own]


def _read(expressions: Iterable[Expression]) -> set[Column]:
    return {node for expression in expressions for node in walk(expression) if isinstance(node, Column)}


def _key(side: str, number: int, position: int) -> str:
    return f"{side}_{number}_{position}"


def _text(expression: Expression, names: Names) -> str:
    """SQL for the expression, over columns with their unique names."""

    def renamed(node: Expression) -> Expression | None:
        return Column(ROW, names[node.input, node.name], node.type) if isinstance(node, Column) else None

    return spark_text(rewrite(expression, renamed))
