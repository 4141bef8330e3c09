"""A directory of a checkpoint on this machine, read and written without Spark."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from joinfold.errors import UsageError
from joinfold.runtime.checkpoints.manifest import FOLDER, LAYOUT, checksum_of

MANIFEST = f"{FOLDER}/{LAYOUT}/manifest.txt"
QUERY_ID = '{"id":"46ea1f07-7c4f-4f0c-9c6e-3f8f0e0f5a11"}'


@dataclass(frozen=True)
class LocalDirectory:
    """What `Directory` asks for, over a local path."""

    path: Path

    @property
    def root(self) -> str:
        return str(self.path)

    def names(self, name: str) -> list[str]:
        folder = self.path / name
        found = [own.name for own in folder.iterdir()] if folder.is_dir() else []
        return [own for own in found if not own.startswith(".")]

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def text(self, name: str, most_bytes: int | None = None) -> str | None:
        file = self.path / name
        if not file.exists() or (most_bytes is not None and file.stat().st_size > most_bytes):
            return None
        return file.read_text()

    def create(self, name: str, line: str) -> bool:
        self.write(f"{name}/manifest.txt", f"{line}\n")
        return True

    def write(self, name: str, text: str) -> None:
        """Writes a file, with no checksum beside it."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        file.write_text(text)

    def write_as_spark(self, kept: Iterable[str] = ("0", "1", "2"), offsets: str = '{"logOffset":2}') -> None:
        """The logs of a query after four micro-batches, with these files in the log of its first source."""
        self.write("metadata", QUERY_ID)
        for log, number in product(("offsets", "commits"), (1, 2, 3)):
            self.write(f"{log}/{number}", f'v1\n{{"batchTimestampMs":{number},"conf":{{}}}}\n{offsets}\n')
        for own in kept:
            number = int(own.partition(".")[0])
            self.write(f"sources/0/{own}", f'v1\n{{"path":"file:///rows/a.json","timestamp":1,"batchId":{number}}}\n')


def rewrite(directory: LocalDirectory, **facts: Any) -> None:
    """Puts other facts into a manifest, as another version may have written it."""
    known = json.loads((directory.text(MANIFEST) or "").partition(" ")[2])
    text = json.dumps(known | facts)
    directory.write(MANIFEST, f"{checksum_of(text)} {text}\n")


def refused(error: UsageError) -> str:
    """The first line of an error."""
    return str(error).partition("\n")[0]
