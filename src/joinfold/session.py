"""`Session`: the streams and relations that queries can name, and the Spark session that runs them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from joinfold.builder import Builder
from joinfold.dialect import parse
from joinfold.errors import UnknownNameError, UsageError
from joinfold.explain.inputs import inputs_table
from joinfold.names import find_name
from joinfold.notebook import fragment
from joinfold.planner.declaring import Keys, declared_stream
from joinfold.planner.forcing import Plan
from joinfold.query import Query
from joinfold.registered import Registered
from joinfold.registering import Duration, TimeColumn, registered_stream, registered_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Session:
    """Registers inputs, and turns SQL text into queries over them.

    ``Session(spark)`` uses an existing Spark session, with any settings. ``Session()`` starts a local one when it is
    first needed: on so many ``cores``, with so much ``memory`` (such as '4g'), further settings in ``config``, and
    Spark's own page if ``ui``. With ``safe`` it switches on Spark's own guards of state (see
    docs/concepts/reliability.md).

    An input is a DataFrame of Spark, pandas or polars, a pyarrow Table or Schema, or a schema as text. A schema is
    enough to bind and explain a query, but not to run it.
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
        if spark is not None and not hasattr(spark, "readStream"):
            hint = "give a SparkSession, or nothing: Session() starts a local one."
            raise UsageError(f"a {type(spark).__name__} is not a Spark session", hint)
        self._spark = spark
        self._start: dict[str, Any] = local | {"ui": ui}
        self._is_made_safe = not safe
        self._inputs: dict[str, Registered] = {}

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

    def __repr__(self) -> str:
        return f"<joinfold.Session with {', '.join(self._inputs) or 'no streams yet'}>"

    def _repr_html_(self) -> str:
        """The session as HTML, for a notebook: its streams and relations."""
        return fragment(inputs_table(input_.source for input_ in self._inputs.values()).to_html())

    @property
    def inputs(self) -> Mapping[str, Registered]:
        """The registered streams and relations, by name."""
        return MappingProxyType(self._inputs)

    def stream(
        self,
        name: str,
        source: Any,
        time: TimeColumn = None,
        delay: Duration = "0 seconds",
        rate: float | None = None,
        keys: Keys | None = None,
        ahead: Duration | None = None,
        idle: Duration | None = None,
        unit: str | None = None,
        replace: bool = False,
    ) -> None:
        """Registers a stream with its event-time column ``time``; its rows may be out of order by ``delay``.

        By default the time is the TIMESTAMP column 'ts', or else the only TIMESTAMP column; without one, and with
        ``time=jf.ARRIVAL``, rows take the time of their micro-batch. An integer column with ``unit`` 'seconds',
        'milliseconds' or 'microseconds' becomes a TIMESTAMP; with the unit 'ticks' it is a clock of its own.

        ``ahead`` is how far event times may lie beyond the time of their micro-batch, or 'off'. A started query counts
        rows beyond that and leaves them out. The default is '1 day', and 'off' for a clock of its own.

        With ``idle='5 minutes'``, a stream that has had no rows for that long, by the times of micro-batches, does not
        hold the watermark back; rows that it brings later may be late. By default a stream is never idle.

        ``rate`` and ``keys`` help to choose a plan. ``rate`` is the number of rows per second of event time. ``keys``
        is the number of distinct join keys, or the number of distinct values of each column. ``replace`` allows the
        name to be registered already.
        """
        stream, data = registered_stream(name, source, time, delay, ahead, idle, unit)
        self._register(Registered(stream, data, declared_stream(name, stream.schema, rate, keys)), replace)

    def table(self, name: str, source: Any, replace: bool = False) -> None:
        """Registers a relation: a table that is the same at every instant and has no window.

        ``replace`` allows the name to be registered already.
        """
        self._register(Registered(*registered_table(name, source)), replace)

    def sql(self, text: str, plan: Plan | Mapping[str, Any] | str | None = None, **parameters: object) -> Query:
        """Parses and binds a query; raises `QueryError` with the place of a mistake.

        ``parameters`` are the values of ``:name`` in the text: ``session.sql("… WHERE a.k = :key …", key=5)``. ``plan``
        forces how the query runs and overrides OPTION: a `Plan`, a dict of its arguments, or a text such as
        'method=tc; early=a'; raises `QueryError` if the query cannot run that way.
        """
        query = Query(parse(text, parameters), dict(self._inputs), self, Plan.given(plan))
        query.logical  # noqa: B018 - binds now, so that a mistake is raised here
        if plan is not None:
            query.plan  # noqa: B018 - plans now, for the same reason
        return query

    def __getitem__(self, name: str) -> Builder:
        """A builder that starts with a registered stream or relation."""
        if not isinstance(name, str) or not find_name(name, self._inputs):
            raise UnknownNameError(f"stream or relation '{name}'", str(name), self._inputs, None, owner="The session")
        return Builder.of(name, dict(self._inputs), self)

    def _register(self, input_: Registered, replaces: bool) -> None:
        name = input_.source.name
        if name in self._inputs and not replaces:
            hint = "choose another name, or give replace=True. Queries that are made already keep the old one."
            raise UsageError(f"the session already has a stream or relation '{name}'", hint)
        self._inputs[name] = input_


def configure(builder: "SparkSession.Builder") -> "SparkSession.Builder":
    """Gives a builder of a Spark session the settings with which joinfold runs best. It works without them, too."""
    from joinfold.runtime.sessions.local import RECOMMENDED

    for name, value in RECOMMENDED.items():
        builder = builder.config(name, value)
    return builder
