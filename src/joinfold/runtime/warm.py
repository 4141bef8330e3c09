"""What a worker keeps of a bucket between micro-batches, so that it need not be made anew from the state.

Spark gives a bucket's next micro-batch to any worker process of the host that is idle. So a bucket is kept twice: in
the process, and in a file in memory that the other processes of the host map, copying only the pages that they change.
Both carry the token of the position that they belong to: a batch that failed, or ran on another host, leaves a token
that no longer fits, and the bucket is made anew.

Writing costs what the bucket holds, whatever the batch brought, so large buckets are kept in the process only.
The folder of these files is made when the first bucket is looked for, not at import.
"""

import contextlib
import mmap
import os
import pickle
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from joinfold.operators.stages.bucket import Bucket
from joinfold.planner.stream_statistics import Statistics

MEMORY = Path("/dev/shm")
MOST_BYTES = 128 * 2**20
MOST_FREE_PART = 8
MOST_IN_PROCESS = 64
ABANDONED_SECONDS = 3600.0
_WORD = 8


@dataclass(slots=True)
class WarmBucket:
    """A bucket, and the statistics that plans were last compared by."""

    bucket: Bucket
    compared: Statistics | None = None


class WarmBuckets:
    """The buckets that this process, or another one on its host, had last."""

    def __init__(self, find_folder: Callable[[], Path | None] | None = None) -> None:
        self._find_folder = find_folder
        self.here: dict[str, tuple[str, WarmBucket]] = {}

    @cached_property
    def folder(self) -> Path | None:
        """Where other processes of the host find buckets; None where there is no such place."""
        return None if self._find_folder is None else self._find_folder()

    def keep(self, name: str, token: str, warm: WarmBucket) -> None:
        """Keeps a bucket as it stands under a token."""
        self.here.pop(name, None)
        self.here[name] = (token, warm)
        if len(self.here) > MOST_IN_PROCESS:
            del self.here[next(iter(self.here))]
        if self.folder is not None:
            with contextlib.suppress(OSError):  # a cache may be lost at any time
                _write(self.folder, name, token, warm)

    def take(self, name: str, token: str) -> WarmBucket | None:
        """The bucket as it stood under a token, if it is still known; the caller may change it."""
        kept, warm = self.here.pop(name, ("", None))
        if warm is not None and kept == token:
            return warm
        if self.folder is None:
            return None
        try:
            return _read(self.folder / name, token)
        except (OSError, ValueError, pickle.UnpicklingError):
            return None


def shared_folder() -> Path | None:
    """A folder in memory that only this user can open, made if it is not there; None where the machine has none.

    Files that were abandoned in it are removed.
    """
    if not MEMORY.is_dir():
        return None
    folder = MEMORY / f"joinfold-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if found.st_uid != os.getuid() or found.st_mode & 0o077 or not folder.is_dir():
            return None
        for path in folder.iterdir():
            if path.stat().st_mtime < time.time() - ABANDONED_SECONDS:
                path.unlink(missing_ok=True)
    except OSError:
        return None
    return folder


def _write(folder: Path, name: str, token: str, warm: WarmBucket) -> None:
    """token, lengths of all buffers, the pickled object, then the buffers, each at a multiple of a word."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(warm, protocol=5, buffer_callback=buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    size = len(pickled) + sum(map(len, parts))
    free = os.statvfs(folder)
    if size > min(MOST_BYTES, free.f_bavail * free.f_frsize // MOST_FREE_PART):
        (folder / name).unlink(missing_ok=True)
        return
    head = pickle.dumps((token, len(pickled), [len(part) for part in parts]))
    descriptor, path = tempfile.mkstemp(dir=folder)
    try:
        contents: list[bytes | memoryview] = [len(head).to_bytes(_WORD, "little"), head, pickled, *parts]
        with open(descriptor, "wb") as file:
            for part in contents:
                written = file.write(part)
                file.write(bytes(-written % _WORD))
        os.replace(path, folder / name)
    except BaseException:
        os.unlink(path)
        raise


def _read(path: Path, token: str) -> WarmBucket | None:
    with open(path, "r+b") as file:
        memory = memoryview(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE))
    place = _WORD

    def next_part(length: int) -> memoryview:
        nonlocal place
        part = memory[place : place + length]
        place += length + -length % _WORD
        return part

    kept, length, lengths = pickle.loads(next_part(int.from_bytes(memory[:_WORD], "little")))
    if kept != token:
        return None
    pickled = next_part(length)
    warm: WarmBucket = pickle.loads(pickled, buffers=[next_part(part) for part in lengths])
    return warm
