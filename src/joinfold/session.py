"""`Session`: the streams and relations that queries can name, and the Spark session that runs them."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from joinfold.arrow import schema_from_arrow
from joinfold.builder import Builder
from joinfold.dialect import parse, read_schema
from joinfold.errors import UnknownNameError, UsageError, suggestion
from joinfold.logical.query import Source
from joinfold.names import find_name
from joinfold.planner.declaring import NOTHING, Declared, Keys, declared_stream
from joinfold.planner.forcing import Plan
from joinfold.query import Query
from joinfold.timetext import duration_us
from joinfold.types import TIMESTAMP, TIMESTAMP_NTZ, Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


AHEAD = "1 day"
"""How far event times may lie beyond the time of their micro-batch, unless told."""

SAMPLED_ROWS = 100_000
"""How many rows of a DataFrame are read for statistics."""


class Session:
    """Registers inputs, and turns SQL text into queries over them.

    ``Session(spark)`` uses an existing Spark session, with any settings. ``Session()`` starts a local one when it is
    first needed: on so many ``cores``, with so much ``memory`` (such as '4g'), further settings in ``config``, and
    Spark's own page if ``ui``. With ``safe`` it switches on Spark's own guards of state (see
    docs/concepts/reliability.md).

    An input is a Spark DataFrame, a pyarrow Table or Schema, or a schema as text. A schema is enough to bind and
    explain a query, but not to run it.
    """

    def __init__(
        self,
        spark: "SparkSession | None" = None,
        *,
        config: Mapping[str, str] | None = None,
        cores: int | None = None,
        memory: str | None = None,
        ui: bool = False,
        safe: bool = False,
    ) -> None:
        local = {"config": config, "cores": cores, "memory": memory}
        for name in (name for name, value in local.items() if spark is not None and value is not None):
            hint = f"leave out {name}, or set it where that session is built."
            raise UsageError(f"{name} is for a Spark that joinfold starts, but a session is given", hint)
        self._spark = spark
        self._start: dict[str, Any] = local | {"ui": ui}
        self._is_made_safe = not safe
        self._catalog: dict[str, Source] = {}
        self._data: dict[str, Any] = {}
        self._declared: dict[str, Declared] = {}

    @property
    def spark(self) -> "SparkSession":
        """The Spark session that queries run in."""
        if self._spark is None:
            from joinfold.runtime.sessions.local import start_local_spark

            self._spark = start_local_spark(**self._start)
        if not self._is_made_safe:
            from joinfold.runtime.sessions.settings import make_safe

            make_safe(self._spark)
            self._is_made_safe = True
        return self._spark

    def stream(
        self,
        name: str,
        source: Any,
        time: str | None = None,
        delay: str = "0 seconds",
        rate: float | None = None,
        keys: Keys | None = None,
        ahead: str | None = None,
        idle: str | None = None,
    ) -> None:
        """Registers a stream with its event-time column ``time``; its rows may be out of order by ``delay``.

        ``ahead`` is how far event times may lie beyond the time of their micro-batch, or 'off'. A started query counts
        rows beyond that and leaves them out. The default is '1 day', and 'off' if the time column is an integer.

        With ``idle='5 minutes'``, a stream that has had no rows for that long, by the times of micro-batches, does not
        hold the watermark back; rows that it brings later may be late. By default a stream is never idle.

        ``rate`` and ``keys`` help to choose a plan. ``rate`` is the number of rows per second of event time. ``keys``
        is the number of distinct join keys, or the number of distinct values of each column.
        """
        schema = schema_of(source)
        if time is not None:
            time = _time_column(name, schema, time)
        declared = declared_stream(name, schema, rate, keys)
        ahead_us = _ahead_us(name, schema, time, ahead)
        stream = Source(name, schema, True, time, duration_us(delay), ahead_us, _idle_us(name, idle))
        self._register(stream, source, declared)

    def table(self, name: str, source: Any) -> None:
        """Registers a relation: a table that is the same at every instant and has no window."""
        self._register(Source(name, schema_of(source), False), source)

    def sql(self, text: str, plan: Plan | None = None, **parameters: object) -> Query:
        """Parses and binds a query; raises `QueryError` with the place of a mistake.

        ``parameters`` are the values of ``:name`` in the text: ``session.sql("… WHERE a.k = :key …", key=5)``. ``plan``
        forces how the query runs and overrides OPTION; raises `QueryError` if the query cannot run that way.
        """
        query = Query(parse(text, parameters), dict(self._catalog), self, plan)
        query.logical  # noqa: B018 - binds now, so that a mistake is raised here
        if plan is not None:
            query.plan  # noqa: B018 - plans now, for the same reason
        return query

    def __getitem__(self, name: str) -> Builder:
        """A builder that starts with a registered stream or relation."""
        if not find_name(name, self._catalog):
            raise UnknownNameError(f"stream or relation '{name}'", name, self._catalog, None, owner="The session")
        return Builder.of(name, dict(self._catalog), self)

    def frame(self, name: str) -> "DataFrame":
        """The DataFrame of a registered stream or relation."""
        from joinfold.runtime.schema import to_frame

        return to_frame(self.spark, self._data[name], self._catalog[name])

    def rows(self, name: str) -> pa.Table | pa.RecordBatch:
        """The Arrow table of a registered stream or relation; raises `UsageError` if it is not an Arrow table."""
        data = self._data[name]
        if isinstance(data, pa.Table | pa.RecordBatch):
            return data
        is_schema = isinstance(data, Schema | pa.Schema | str)
        how = "as a schema without rows" if is_schema else f"as a Spark {type(data).__name__}"
        hint = f"register a pyarrow Table, or pass one: run_in_process(data={{'{name}': …}})."
        raise UsageError(f"'{name}' is registered {how}, but running in process needs an Arrow table", hint)

    def sample(self, name: str, is_free: bool) -> pa.Table | pa.RecordBatch | None:
        """Rows of a bounded stream or relation; None if there are none to read.

        The first rows of a DataFrame cost a Spark job. With ``is_free`` they are not read.
        """
        data = self._data[name]
        if isinstance(data, pa.Table | pa.RecordBatch):
            return data
        if is_free or isinstance(data, Schema | pa.Schema | str) or data.isStreaming:
            return None
        from joinfold.runtime.schema import first_rows

        return first_rows(data, SAMPLED_ROWS)

    def declared(self, name: str) -> Declared:
        """The statistics that were declared when a stream was registered."""
        return self._declared[name]

    def _register(self, source: Source, data: Any, declared: Declared = NOTHING) -> None:
        if not all(part.strip() for part in source.name.split(".")):
            raise UsageError(f"'{source.name}' is not a valid name for a stream or relation")
        for column, count in Counter(source.schema.names).items():
            if count > 1:
                raise UsageError(f"'{source.name}' has {count} columns '{column}'", "give each column its own name.")
        self._catalog[source.name] = source
        self._data[source.name] = data
        self._declared[source.name] = declared


def configure(builder: "SparkSession.Builder") -> "SparkSession.Builder":
    """Gives a builder of a Spark session the settings with which joinfold runs best. It works without them, too."""
    from joinfold.runtime.sessions.local import RECOMMENDED

    for name, value in RECOMMENDED.items():
        builder = builder.config(name, value)
    return builder


def schema_of(source: Any) -> Schema:
    """The columns of an input, from anything that can be registered."""
    if isinstance(source, Schema):
        return source
    if isinstance(source, str):
        return read_schema(source)
    if isinstance(source, pa.Table | pa.RecordBatch):
        source = source.schema
    if isinstance(source, pa.Schema):
        return schema_from_arrow(source)
    if type(source).__module__.startswith("pyspark."):
        from joinfold.runtime.schema import spark_schema

        return spark_schema(source)
    raise UsageError(
        f"a {type(source).__name__} cannot be registered",
        "give a Spark DataFrame, a pyarrow Table or Schema, or a text such as 'location STRING, ts TIMESTAMP'.",
    )


def _time_column(name: str, schema: Schema, time: str) -> str:
    found = find_name(time, schema.names)
    if len(found) != 1:
        near = suggestion(time, schema.names)
        hint = f"did you mean '{near}'? It has" if near else "it has"
        hint += f": {', '.join(schema.names)}."
        raise UsageError(f"stream '{name}' has no column '{time}' for its event time", hint)
    type_ = schema.type_of(found[0])
    if type_ not in (TIMESTAMP, TIMESTAMP_NTZ) and not type_.is_integer:
        hint = "cast the column in the DataFrame. An integer column counts microseconds."
        raise UsageError(f"the time column '{found[0]}' of stream '{name}' is {type_}, not TIMESTAMP or integer", hint)
    return found[0]


def _ahead_us(name: str, schema: Schema, time: str | None, ahead: str | None) -> int | None:
    """How far event times may lie ahead; None for any time, and where rows take the time of their micro-batch."""
    if time is None or (ahead is not None and ahead.strip().lower() == "off"):
        return None
    if not schema.type_of(time).is_integer:
        return duration_us(AHEAD if ahead is None else ahead)
    if ahead is None:
        return None
    raise UsageError(
        f"stream '{name}' cannot have ahead='{ahead}': its time column '{time}' is an integer, a clock of its own, "
        "which cannot be compared with the time of a micro-batch",
        "leave out ahead, or make the column a TIMESTAMP, as with TIMESTAMP_SECONDS in the DataFrame.",
    )


def _idle_us(name: str, idle: str | None) -> int | None:
    if idle is None or idle.strip().lower() == "off":
        return None
    idle_us = duration_us(idle)
    if not idle_us:
        raise UsageError(f"stream '{name}' cannot be idle after '{idle}'", "give a longer time, such as '5 minutes'.")
    return idle_us
