"""The streams and tables of `joinfold run`, each given as one text on the command line.

parquet:PATH   csv:PATH   json:PATH     a folder to which files are added
PATH                                    the same; the format follows from the endings of its files
rate:100                                100 rows per second, with the columns timestamp and value
socket:localhost:9999                   lines from a server

A table is one file or folder of these formats, and is read as a whole.
"""

import os

from joinfold.errors import UsageError
from joinfold.live.columns import parquet_schema, visible_files
from joinfold.runtime.sources import LINES, RATE, FileStream, FileTable, NamedStream, RateStream, SocketStream
from joinfold.types import Schema

FORMATS = ("parquet", "csv", "json")
_ENDINGS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_WAYS = "a folder, parquet:PATH, csv:PATH, json:PATH, rate:ROWS_PER_SECOND or socket:HOST:PORT"
_TABLES = "a file or folder, parquet:PATH, csv:PATH or json:PATH"


def named_stream(name: str, text: str, schema: Schema | None) -> NamedStream:
    """The stream that a text describes; ``schema`` is that of --schema, if given."""
    kind, colon, rest = text.partition(":")
    match kind if colon else "":
        case "rate":
            if schema is not None:
                what = f"stream '{name}': a rate stream always has the columns {RATE}"
                raise UsageError(what, f"leave out --schema {name}.")
            return RateStream(_whole_number(name, rest, "the number of rows per second"))
        case "socket":
            host, _, port = rest.rpartition(":")
            if not host:
                raise UsageError(f"stream '{name}': '{text}' names no server", "write it as socket:HOST:PORT.")
            return SocketStream(host, _whole_number(name, port, "the port"), schema)
        case "parquet" | "csv" | "json":
            return FileStream(kind, _data_path(f"stream '{name}'", name, kind, rest, schema), schema)
        case _:
            if not os.path.exists(text):
                raise UsageError(f"stream '{name}': there is no folder '{text}'", f"a stream is {_WAYS}.")
            format_ = _format_of(f"stream '{name}'", text)
            return FileStream(format_, _data_path(f"stream '{name}'", name, format_, text, schema), schema)


def named_table(name: str, text: str, schema: Schema | None) -> FileTable:
    """The table that a text describes; ``schema`` is that of --schema, if given."""
    what = f"table '{name}'"
    kind, _, path = text.partition(":")
    path = path if kind in FORMATS else text
    if not os.path.exists(path) and not (kind in FORMATS and "://" in path):
        raise UsageError(f"{what}: there is no file or folder '{path}'", f"a table is {_TABLES}.")
    format_ = kind if kind in FORMATS else _format_of(what, path)
    return FileTable(format_, _data_path(what, name, format_, path, schema), schema)


def schema_of_stream(source: NamedStream) -> Schema:
    """The columns of a stream, found without Spark."""
    match source:
        case RateStream():
            return RATE
        case SocketStream(schema=schema):
            return schema or LINES
        case FileStream(path=path, schema=schema):
            return schema or parquet_schema(path)


def schema_of_table(table: FileTable) -> Schema:
    """The columns of a table, found without Spark."""
    return table.schema or parquet_schema(table.path)


def absolute(path: str) -> str:
    """The absolute path; a path with a scheme, such as s3://, stays as it is."""
    return path if "://" in path else os.path.abspath(path)


def _data_path(what: str, name: str, format_: str, path: str, schema: Schema | None) -> str:
    """The absolute path of files; raises `UsageError` if they do not exist or their columns are not known."""
    if "://" in path and schema is not None:
        return path
    if not os.path.exists(path):
        raise UsageError(f"{what}: there is no folder '{path}'", "make it first, or look at the path.")
    if schema is None and format_ != "parquet":
        hint = f'give the columns with --schema "{name}=location STRING, ts TIMESTAMP".'
        raise UsageError(f"{what}: {format_.upper()} files do not contain the types of their columns", hint)
    if schema is None and not visible_files(path):
        hint = f'give the columns with --schema "{name}=location STRING, ts TIMESTAMP", or put a file there first.'
        raise UsageError(f"{what}: the folder '{path}' has no file to read the columns from", hint)
    return absolute(path)


def _format_of(what: str, path: str) -> str:
    endings = [suffix for file in visible_files(path) for suffix in reversed(file.suffixes)]
    found = [_ENDINGS[ending] for ending in endings if ending in _ENDINGS]
    if not found:
        hint = f"name the format: {', '.join(f'{format_}:{path}' for format_ in FORMATS)}."
        raise UsageError(f"{what}: no file in '{path}' has an ending that shows its format", hint)
    return found[0]


def _whole_number(name: str, text: str, what: str) -> int:
    if not text.isdecimal() or not int(text):
        raise UsageError(
            f"stream '{name}': {what} must be a positive whole number, not '{text}'", f"a stream is {_WAYS}."
        )
    return int(text)
