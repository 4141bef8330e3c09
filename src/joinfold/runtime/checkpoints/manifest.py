"""The manifest of a checkpoint: the query that its state belongs to, its inputs, and the number of partitions.

It is one line of text, a checksum and a JSON object, in a folder whose name is the version of this layout:

    _joinfold/1/manifest.txt        0c9f3a51 {"query": "SELECT …", "inputs": […], "partitions": 2, …}

Spark Connect writes another name for the file. Earlier versions wrote the object alone into `joinfold.json`, which is
still read.
"""

import json
import zlib
from dataclasses import asdict, dataclass
from types import NoneType
from typing import Any

from joinfold.errors import UsageError
from joinfold.logical.query import Input, LogicalQuery
from joinfold.logical.shedding import Sampler
from joinfold.logical.sql import query_text
from joinfold.names import identifier_text
from joinfold.operators.codec import VERSION
from joinfold.physical.plan import PhysicalPlan
from joinfold.runtime.checkpoints.directory import Directory, numbers
from joinfold.runtime.failures import unreadable

FOLDER = "_joinfold"
LAYOUT = 1
OLD_FILE = "joinfold.json"
STATE_NAME = "moment"  # in all versions, so that the state of an older one is found, and refused by its version
_LATER = {"sampler", "homes", "id", "guards"}  # fields that manifests of earlier versions lack


@dataclass(frozen=True, slots=True)
class Guards:
    """What keeps the time of a stream from running away or standing still; None where it is switched off."""

    ahead_us: int | None
    idle_us: int | None


@dataclass(frozen=True, slots=True)
class InputFacts:
    """What a query reads from an input: its time column, its delay, and the columns that it reads, with their types.

    ``guards`` is None in the manifest of a version that had none. Such a checkpoint goes on with any.
    """

    alias: str
    time: str | None
    delay_us: int
    columns: dict[str, str]
    guards: Guards | None = None

    @classmethod
    def of(cls, query: LogicalQuery, input_: Input) -> "InputFacts":
        """The facts of an input of a query. A relation has no time column."""
        source, read = input_.source, {*query.columns_read(input_.alias), input_.source.time}
        columns = {field.name: str(field.type) for field in source.schema if field.name in read}
        return cls(input_.alias, source.time, source.delay_us, columns, Guards(source.ahead_us, source.idle_us))

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "InputFacts":
        """The facts from their JSON object, the inverse of `asdict`."""
        guards = facts.get("guards")
        return cls(**facts | {"guards": None if guards is None else Guards(**_checked(guards, _GUARD_FIELDS))})

    @property
    def columns_text(self) -> str:
        """The columns as the text of a schema."""
        return ", ".join(f"{identifier_text(name)} {type_}" for name, type_ in sorted(self.columns.items()))


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a query must have in common with its checkpoint.

    ``zone`` is None if the query does not depend on a time zone. ``root`` is None if the plan is not a chain,
    ``sampler`` unless SHED samples. ``homes`` has the stream that each relation is joined to, ``id`` tells this
    checkpoint from all others; both are None in the manifests of versions that did not record them.
    """

    query: str
    inputs: tuple[InputFacts, ...]
    zone: str | None
    partitions: int
    root: str | None
    sampler: Sampler | None = None
    homes: dict[str, str] | None = None
    blob_version: int = VERSION
    id: str | None = None

    @classmethod
    def of(cls, plan: PhysicalPlan, zone: str, partitions: int) -> "Manifest":
        """The manifest of a query that starts now."""
        query = plan.query
        inputs = tuple(InputFacts.of(query, input_) for input_ in query.inputs)
        zone_read = zone if query.reads_zone else None
        text = query_text(query.without_options)
        return cls(text, inputs, zone_read, partitions, plan.root, plan.sampler, plan.homes)

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "Manifest":
        """The manifest from its JSON object, the inverse of `asdict`. Raises `ValueError` if the object is not one."""
        inputs = _checked(facts, _FIELDS)["inputs"]
        found = tuple(InputFacts.from_facts(_checked(input_, _INPUT_FIELDS)) for input_ in inputs)
        return cls(**facts | {"inputs": found})


_OPTIONAL_TEXT = (str, NoneType)
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "query": str,
    "inputs": list,
    "zone": _OPTIONAL_TEXT,
    "partitions": int,
    "root": _OPTIONAL_TEXT,
    "sampler": _OPTIONAL_TEXT,
    "homes": (dict, NoneType),
    "blob_version": int,
    "id": _OPTIONAL_TEXT,
}
_INPUT_FIELDS: dict[str, type | tuple[type, ...]] = {
    "alias": str,
    "time": _OPTIONAL_TEXT,
    "delay_us": int,
    "columns": dict,
    "guards": (dict, NoneType),
}
_GUARD_FIELDS: dict[str, type | tuple[type, ...]] = {"ahead_us": (int, NoneType), "idle_us": (int, NoneType)}


def _checked(facts: Any, fields: dict[str, type | tuple[type, ...]]) -> dict[str, Any]:
    """An object of the manifest, after a check of its fields."""
    if not isinstance(facts, dict):
        raise ValueError(f"{json.dumps(facts)} stands where an object belongs")
    unknown, missing = sorted(facts.keys() - fields.keys()), sorted(fields.keys() - facts.keys() - _LATER)
    if unknown or missing:
        raise ValueError(f"'{missing[0]}' is missing" if missing else f"'{unknown[0]}' is unknown")
    for name, value in facts.items():
        if not isinstance(value, fields[name]) or isinstance(value, bool):
            raise ValueError(f"'{name}' cannot be {json.dumps(value)}")
    return facts


def write_manifest(directory: Directory, manifest: Manifest) -> bool:
    """Writes the manifest of a new checkpoint; False if it has one already, because another start was faster."""
    text = json.dumps(asdict(manifest))
    return directory.create(f"{FOLDER}/{LAYOUT}", f"{checksum_of(text)} {text}")


def read_manifest(directory: Directory) -> Manifest | None:
    """The manifest; None if there is none yet. Raises `UsageError` if it is damaged, or by another joinfold."""
    layouts = numbers(directory, FOLDER)
    for layout in sorted(layouts - {LAYOUT}):
        hint = "run the query with the joinfold that wrote the checkpoint."
        raise UsageError(f"the manifest of the checkpoint '{directory.root}' has layout {layout}, not {LAYOUT}", hint)
    name, text = (f"{FOLDER}/{LAYOUT}", _line(directory)) if layouts else (OLD_FILE, directory.text(OLD_FILE))
    if text is None:
        if directory.has("offsets"):
            hint = f"use a new directory. This one belongs to another Spark query, or has lost its manifest {FOLDER}."
            raise UsageError(f"the checkpoint '{directory.root}' was not made by joinfold", hint)
        return None
    try:
        facts = json.loads(text)
        if isinstance(facts, dict) and facts.get("blob_version", VERSION) != VERSION:
            hint = f"this joinfold reads version {VERSION}. Run the query with the joinfold that wrote the checkpoint."
            raise UsageError(f"the checkpoint '{directory.root}' holds blobs of version {facts['blob_version']}", hint)
        return Manifest.from_facts(facts)
    except ValueError as error:
        raise unreadable(directory.root, name, str(error)) from error


def _line(directory: Directory) -> str:
    """The JSON object in the folder of the manifest, after its checksum."""
    folder = f"{FOLDER}/{LAYOUT}"
    names = [f"{folder}/{name}" for name in directory.names(folder)]
    lines = {name: text.splitlines() for name in names if (text := directory.text(name))}
    if not lines:
        why = "it is empty, because the first start was interrupted or a file was lost"
        raise unreadable(directory.root, next(iter(names), folder), why)
    if len(lines) > 1:
        told = f"has {len(lines)} manifests: two queries were started on it at once"
        raise UsageError(f"the checkpoint '{directory.root}' {told}", "use a new checkpoint directory.")
    [(name, [first, *more])] = lines.items()
    checksum, _, text = first.partition(" ")
    if more or checksum != checksum_of(text):
        raise unreadable(directory.root, name, "it differs from its checksum")
    return text


def checksum_of(text: str) -> str:
    """The checksum of a manifest, as it stands before it."""
    return f"{zlib.crc32(text.encode()):08x}"
