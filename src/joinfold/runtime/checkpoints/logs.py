"""Spark's own logs in a checkpoint: are they whole?

Without one of these files Spark fails later, and does not name it; or it goes on and gives other answers.
"""

import json
import re
from typing import Any

from joinfold.errors import UsageError
from joinfold.runtime.checkpoints.directory import Directory, numbers
from joinfold.runtime.failures import RESTORE_FILE, unreadable

METADATA = "metadata"  # the id of the query
_COMPACT = ".compact"  # every few files of a source's log, one has them all
_LONG_LOG_BYTES = 2**22
_READ_AGAIN = 3  # offsets: those of the last micro-batch, of the one before, where it starts, and one to compare with


def refuse_lost_files(directory: Directory, compact_interval: int) -> None:
    """Refuses a checkpoint that lacks files without which Spark fails later, and not by their names.

    After so many files, the next one in the log of a file source has all that were before it.
    """
    offsets, commits = (numbers(directory, name) for name in ("offsets", "commits"))
    needed = {*sorted(commits)[-1:], *(number - 1 for number in sorted(offsets)[-1:] if number > 0)}
    lost = [f"offsets/{number}" for number in sorted(needed - offsets)]
    if offsets | commits:
        query = directory.text(METADATA)
        if query is not None and not _is_uuid(_object(query, directory, METADATA).get("id")):
            raise unreadable(directory.root, METADATA, "it has no id of a query")
        lost += [METADATA] if query is None else []
    if offsets and not lost:
        _refuse_repeated_offsets(directory, sorted(offsets)[-_READ_AGAIN:])
        lost += _lost_logs(directory, max(offsets), compact_interval)
    if commits and not lost:
        lost += _lost_operators(directory)
    for name in [f"commits/{number}" for number in sorted(commits)[-1:]]:
        _log_lines(directory, name)
    for name in lost:
        raise UsageError(f"the checkpoint '{directory.root}' has lost its file '{name}'", RESTORE_FILE)


def _refuse_repeated_offsets(directory: Directory, batches: list[int]) -> None:
    """Refuses offsets that are damaged or those of the micro-batch before, from which rows would be read twice."""
    lines = {batch: _log_lines(directory, f"offsets/{batch}", parsed=1) for batch in batches}
    for batch in batches:
        if lines[batch] and lines[batch] == lines.get(batch - 1):
            raise unreadable(directory.root, f"offsets/{batch}", f"it is a copy of 'offsets/{batch - 1}'")


def _lost_operators(directory: Directory) -> list[str]:
    """What Spark has lost of its stateful operators; refuses what is not JSON, or needs a schema that is not there."""
    lost = []
    for operator in sorted(numbers(directory, "state")):
        folder = f"state/{operator}/_metadata/v2"
        kept = sorted(numbers(directory, folder))
        lost += [] if kept else [f"{folder}/0"]
        for name in [f"{folder}/{number}" for number in kept[-1:]]:
            for line in _log_lines(directory, name):
                for schema in re.findall(r"/(state/\d+/_stateSchema/[^\"]*)\"", line):
                    if not directory.has(schema):
                        raise unreadable(directory.root, name, f"it needs the schema '{schema}', which is not there")
    return lost


def _is_uuid(text: Any) -> bool:
    return (
        isinstance(text, str) and re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None
    )


def _lost_logs(directory: Directory, batch: int, interval: int) -> list[str]:
    """The files that the logs of file sources lack, from the last compacted one to that of a micro-batch.

    Also refuses damaged ones. The n-th offset of a micro-batch belongs to the n-th source, unless one source is read
    twice: it then has two offsets and one log. Which offset is whose is unknown in that case, so each log has to reach
    as far as its own last file.
    """
    offsets = _log_lines(directory, f"offsets/{batch}", parsed=1)[1:]
    found = [re.fullmatch(r'\{"logOffset":(\d+)\}', line) for line in offsets]
    logs = {number: int(own[1]) for number, own in enumerate(found) if own}
    sources = numbers(directory, "sources")
    if len(sources) < len(offsets):
        logs = {number: _last(directory, number) for number in sources} if all(found) else {}
    lost = (_lost_log(directory, f"sources/{source}", last, interval) for source, last in sorted(logs.items()))
    return [name for name in lost if name is not None]


def _last(directory: Directory, source: int) -> int:
    """The number of the last file in the log of a source; -1 if there is none."""
    names = [name.removesuffix(_COMPACT) for name in directory.names(f"sources/{source}")]
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _lost_log(directory: Directory, folder: str, last: int, interval: int) -> str | None:
    """The file that a log lacks, counting back from its last one to a compacted one; reads the files on the way."""
    names = directory.names(folder)
    for number in range(last, -1, -1):
        if f"{number}{_COMPACT}" in names:
            _refuse_other_files(directory, f"{folder}/{number}{_COMPACT}", number)
            break
        if str(number) not in names:
            return f"{folder}/{number}{_COMPACT if (number + 1) % interval == 0 else ''}"
        _refuse_other_files(directory, f"{folder}/{number}", number)
    return None


def _refuse_other_files(directory: Directory, name: str, number: int) -> None:
    """Refuses a damaged file in the log of a file source, and one that is another of its files.

    Each line has the path of a file that was read, and the number of the log's file that had it first.
    """
    read = [json.loads(line) for line in _log_lines(directory, name)]
    if not all(isinstance(own, dict) and "path" in own for own in read):
        raise unreadable(directory.root, name, "a line has no path")
    last = max((own.get("batchId", number) for own in read), default=number)
    if last != number:
        raise unreadable(directory.root, name, f"it is a copy of number {last} of the log")


def _log_lines(directory: Directory, name: str, parsed: int | None = None) -> list[str]:
    """The lines of a log of Spark after its version, of which the first ``parsed`` must be JSON, or all.

    Raises an error that names the file if it is damaged; Spark would not name it. A very long one is not read.
    """
    text = directory.text(name, _LONG_LOG_BYTES)
    if text is None:
        return []
    if "\N{REPLACEMENT CHARACTER}" in text:
        raise unreadable(directory.root, name, "it is not UTF-8")
    version, *lines = text.splitlines() or [""]
    if re.fullmatch(r"v\d+", version) is None:
        raise unreadable(directory.root, name, "it does not begin with a version")
    try:
        for line in lines[:parsed]:
            json.loads(line)
    except ValueError as error:
        raise unreadable(directory.root, name, f"{error}") from error
    return lines


def _object(text: str, directory: Directory, name: str) -> dict[str, Any]:
    """The JSON object that a file has."""
    try:
        facts = json.loads(text)
    except ValueError as error:
        raise unreadable(directory.root, name, f"{error}") from error
    if not isinstance(facts, dict):
        raise unreadable(directory.root, name, "it has no JSON object")
    return facts
