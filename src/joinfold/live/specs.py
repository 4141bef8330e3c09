"""Streams in a line of text, as the command line takes them.

parquet:PATH   csv:PATH   json:PATH     a folder in which files appear
PATH                                    the same, the format told by the ending of its files
rate:100                                rows per second, with columns timestamp and value
socket:localhost:9999                   lines from a server
"""

import os

from joinfold.errors import UsageError
from joinfold.live.columns import parquet_schema, visible_files
from joinfold.runtime.sources import LINES, RATE, FileStream, NamedStream, RateStream, SocketStream
from joinfold.types import Schema

FORMATS = ("parquet", "csv", "json")
_ENDINGS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_WAYS = "a folder, parquet:PATH, csv:PATH, json:PATH, rate:ROWS_PER_SECOND or socket:HOST:PORT"


def named_stream(name: str, text: str, schema: Schema | None) -> NamedStream:
    """The stream that a text names; the schema is the one given beside it."""
    kind, colon, rest = text.partition(":")
    match kind if colon else "":
        case "rate":
            if schema is not None:
                raise UsageError(f"the columns of '{name}' are {RATE}", f"leave --schema {name} out.")
            return RateStream(_whole_number(name, rest, "rows per second"))
        case "socket":
            host, _, port = rest.rpartition(":")
            if not host:
                raise UsageError(f"'{text}' of stream '{name}' names no server", "write it as socket:HOST:PORT.")
            return SocketStream(host, _whole_number(name, port, "the port"), schema)
        case "parquet" | "csv" | "json":
            return _files(name, kind, rest, schema)
        case _:
            if not os.path.exists(text):
                raise UsageError(f"stream '{name}': there is no folder '{text}'", f"a stream is {_WAYS}.")
            return _files(name, _format_of(name, text), text, schema)


def schema_of_stream(source: NamedStream) -> Schema:
    """The columns of a stream, known before Spark has started."""
    match source:
        case RateStream():
            return RATE
        case SocketStream(schema=schema):
            return schema or LINES
        case FileStream(path=path, schema=schema):
            return schema or parquet_schema(path)


def absolute(path: str) -> str:
    """A path that does not depend on where a process was started; one with a scheme, such as s3://, is as it is."""
    return path if "://" in path else os.path.abspath(path)


def _files(name: str, format_: str, path: str, schema: Schema | None) -> FileStream:
    if "://" in path and schema is not None:
        return FileStream(format_, path, schema)
    if not os.path.exists(path):
        raise UsageError(f"stream '{name}': there is no folder '{path}'")
    if schema is None and format_ != "parquet":
        hint = f'give them: --schema "{name}=location STRING, ts TIMESTAMP".'
        raise UsageError(f"stream '{name}': {format_.upper()} files do not tell the types of their columns", hint)
    if schema is None and not visible_files(path):
        hint = f'give them, --schema "{name}=location STRING, ts TIMESTAMP", or put a file there first.'
        raise UsageError(f"stream '{name}': the folder '{path}' has no file to take its columns from", hint)
    return FileStream(format_, absolute(path), schema)


def _format_of(name: str, path: str) -> str:
    endings = [suffix for file in visible_files(path) for suffix in reversed(file.suffixes)]
    found = [_ENDINGS[ending] for ending in endings if ending in _ENDINGS]
    if not found:
        hint = f"say which: {', '.join(f'{format_}:{path}' for format_ in FORMATS)}."
        raise UsageError(f"stream '{name}': no file in '{path}' tells its format by its ending", hint)
    return found[0]


def _whole_number(name: str, text: str, what: str) -> int:
    if not text.isdecimal() or not int(text):
        raise UsageError(f"stream '{name}': '{text}' is not a number: {what}", f"a stream is {_WAYS}.")
    return int(text)
