"""Keeps the memory of buckets in workers between micro-batches, so that they are not rebuilt from the state each time.

Spark gives the next micro-batch of a bucket to any idle worker process of the host. So a bucket is kept twice: in the
process, and in a file in shared memory. Other processes map the file and copy only the pages that they change. Both
copies carry a token, which is also in the state. After a micro-batch that failed or ran on another host the token no
longer fits, and the bucket is rebuilt from the state.

Writing the file costs as much as the bucket holds, however small the batch, so large buckets are kept in the process
only. The folder of these files is made when the first bucket is looked up, not at import.
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
    """A bucket, and the statistics by which its choices were last compared."""

    bucket: Bucket
    compared: Statistics | None = None


class WarmBuckets:
    """The buckets that this process, or another process on its host, used last."""

    def __init__(self, find_folder: Callable[[], Path | None] | None = None) -> None:
        self._find_folder = find_folder
        self.here: dict[str, tuple[str, WarmBucket]] = {}

    @cached_property
    def folder(self) -> Path | None:
        """The folder in which processes of the host share buckets; None if there is none."""
        return None if self._find_folder is None else self._find_folder()

    def keep(self, name: str, token: str, warm: WarmBucket) -> None:
        """Keeps the current state of a bucket under a token."""
        self.here.pop(name, None)
        self.here[name] = (token, warm)
        if len(self.here) > MOST_IN_PROCESS:
            del self.here[next(iter(self.here))]
        if self.folder is not None:
            with contextlib.suppress(OSError):  # a cache may be lost at any time
                _write(self.folder, name, token, warm)

    def take(self, name: str, token: str) -> WarmBucket | None:
        """The bucket that was kept under this token, None if it is gone. The caller may change it."""
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
    """A folder in shared memory that only this user can open; None if the machine has no shared memory.

    Makes the folder if needed, and removes files that have not been written for `ABANDONED_SECONDS`.
    """
    if not MEMORY.is_dir():
        return None
    folder = MEMORY / f"joinfold-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if status.st_uid != os.getuid() or status.st_mode & 0o077 or not folder.is_dir():
            return None
        for path in folder.iterdir():
            if path.stat().st_mtime < time.time() - ABANDONED_SECONDS:
                path.unlink(missing_ok=True)
    except OSError:
        return None
    return folder


def _write(folder: Path, name: str, token: str, warm: WarmBucket) -> None:
    """Writes a head, the pickled object and its buffers, each padded to a multiple of a word, unless it is too large.

    The head has the token and the lengths of the other parts; its own length comes before it.
    """
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
    offset = _WORD

    def next_part(length: int) -> memoryview:
        nonlocal offset
        part = memory[offset : offset + length]
        offset += length + -length % _WORD
        return part

    kept, length, lengths = pickle.loads(next_part(int.from_bytes(memory[:_WORD], "little")))
    if kept != token:
        return None
    pickled = next_part(length)
    warm: WarmBucket = pickle.loads(pickled, buffers=[next_part(part) for part in lengths])
    return warm
