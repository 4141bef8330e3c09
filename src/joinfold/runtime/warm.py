"""Keeps the memory of buckets in workers between micro-batches, so that they are not rebuilt from the state each time.

Spark gives the next micro-batch of a bucket to any idle worker process of the host. So a bucket is kept twice: in the
process, and in a file in shared memory. Other processes map the file and copy only the pages that they change. Both
copies carry a token, which is also in the state. After a micro-batch that failed or ran on another host the token no
longer fits, and the bucket is rebuilt from the state. The same happens if the file is gone or damaged.

Writing the file costs as much as the bucket holds, however small the batch, so large buckets are kept in the process
only. The folder of these files is made when the first bucket is looked up, not at import:

    /dev/shm/joinfold-<user>/<parent of the workers>-<when it began>/<run>-<stage>-<shuffle key>

The workers of an executor have one parent, which ends with the executor. A run removes its files when it ends. Those of
executors that are gone are removed by the next start on the host.
"""

import contextlib
import mmap
import os
import pickle
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from joinfold.operators.stages.bucket import Bucket
from joinfold.planner.stream_statistics import Statistics

MEMORY = Path("/dev/shm")
PROCESSES = Path("/proc")
MOST_BYTES = 128 * 2**20
MOST_FREE_PART = 8
MOST_PART = 4  # of all shared memory, for the files of all runs together
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
        except Exception:  # noqa: BLE001 - unpickling what is damaged may raise anything, and the state has it all
            return None


def shared_folder() -> Path | None:
    """The folder that the workers of this executor share; None if the machine has no shared memory.

    Makes the folder if needed, and removes what nobody will read again.
    """
    folder = _folder_of_user()
    if folder is None:
        return None
    try:
        own = folder / _process_name(os.getppid())
        own.mkdir(mode=0o700, exist_ok=True)
        sweep()
    except OSError:
        return None
    return own


def sweep() -> None:
    """Removes the files of executors that are gone, and files that were not written for `ABANDONED_SECONDS`.

    The latter belong to runs that ended while their executor on this host went on.
    """
    folder = _folder_of_user()
    for path in () if folder is None else list(folder.iterdir()):
        if not path.is_dir():
            path.unlink(missing_ok=True)
        elif not _is_running(path.name):
            shutil.rmtree(path, ignore_errors=True)
        else:
            for file in path.iterdir():
                with contextlib.suppress(OSError):  # another process may have removed it
                    if file.stat().st_mtime < time.time() - ABANDONED_SECONDS:
                        file.unlink()


def remove_run(run: str) -> None:
    """Removes all files of a run from this host."""
    folder = _folder_of_user()
    for path in () if folder is None else folder.glob(f"*/{run}-*"):
        path.unlink(missing_ok=True)


def _folder_of_user() -> Path | None:
    """The folder of all executors of this user, which nobody else can open; None if there is no shared memory."""
    if not MEMORY.is_dir():
        return None
    folder = MEMORY / f"joinfold-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    is_closed = status.st_uid == os.getuid() and not status.st_mode & 0o077
    return folder if is_closed and folder.is_dir() else None


def _process_name(number: int) -> str:
    """A name that no other process of this machine has or will have: process numbers are used again."""
    began = (PROCESSES / str(number) / "stat").read_text().rpartition(")")[2].split()[19]
    return f"{number}-{began}"


def _is_running(name: str) -> bool:
    number = name.partition("-")[0]
    try:
        return number.isdigit() and _process_name(int(number)) == name
    except OSError:
        return False


def _has_room(folder: Path, size: int) -> bool:
    """Whether a file of this size may be written. Removes the files that were written longest ago to make room."""
    memory = os.statvfs(folder)
    all_bytes, free_bytes = (blocks * memory.f_frsize for blocks in (memory.f_blocks, memory.f_bavail))
    if size > min(MOST_BYTES, all_bytes // MOST_PART, free_bytes // MOST_FREE_PART):
        return False
    if all_bytes - free_bytes + size <= all_bytes // MOST_PART:  # then no file has to be looked at
        return True
    files = [(path.stat(), path) for path in folder.parent.glob("*/*")]
    excess = sum(status.st_size for status, _ in files) + size - all_bytes // MOST_PART
    for status, path in sorted(files, key=lambda file: file[0].st_mtime_ns):
        if excess <= 0:
            break
        path.unlink(missing_ok=True)
        excess -= status.st_size
    return True


def _write(folder: Path, name: str, token: str, warm: WarmBucket) -> None:
    """Writes a head, the pickled object and its buffers, each padded to a multiple of a word, unless it is too large.

    The head has the token, and lengths and checksums of the other parts. Before it come its own length and checksum.
    """
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(warm, protocol=5, buffer_callback=buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    size = len(pickled) + sum(map(len, parts))
    if not _has_room(folder, size):
        (folder / name).unlink(missing_ok=True)
        return
    head = pickle.dumps((token, zlib.crc32(pickled), len(pickled), [(len(part), _sum(part)) for part in parts]))
    before = b"".join(number.to_bytes(_WORD, "little") for number in (len(head), zlib.crc32(head)))
    descriptor, path = tempfile.mkstemp(dir=folder, prefix=f"{name}.")
    try:
        contents: list[bytes | memoryview] = [before, head, pickled, *parts]
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
    offset = 0

    def next_part(length: int) -> memoryview:
        nonlocal offset
        part = memory[offset : offset + length]
        if len(part) < length:
            raise ValueError("the file is cut short")
        offset += length + -length % _WORD
        return part

    def checked(compute: Callable[[memoryview], int], length: int, checksum: int) -> memoryview:
        part = next_part(length)
        if compute(part) != checksum:
            raise ValueError("the file is damaged")
        return part

    head = checked(zlib.crc32, *(int.from_bytes(next_part(_WORD), "little") for _ in range(2)))
    kept, checksum, length, buffers = pickle.loads(head)
    if kept != token:
        return None
    pickled = checked(zlib.crc32, length, checksum)
    warm: WarmBucket = pickle.loads(pickled, buffers=[checked(_sum, *part) for part in buffers])
    return warm


def _sum(part: memoryview) -> int:
    """The sum of all words of a buffer modulo 2^64. It takes a seventh of the time of a CRC, and buffers are large."""
    whole = len(part) // _WORD * _WORD
    rest = int.from_bytes(part[whole:], "little")
    return (rest + int(np.frombuffer(part[:whole], np.uint64).sum())) % 2**64
