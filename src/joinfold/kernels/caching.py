"""Machine code that is kept between processes, in a folder named by a hash of all sources of `kernels`.

numba looks only at the file of the kernel that is called. But its machine code contains that of the kernels it calls,
and an edit of those would go unnoticed. With the hash in the name, an edit of any kernel compiles all of them again.

Importing makes no folder. The first call of a kernel makes one, in the first of these places that can be written:

    NUMBA_CACHE_DIR                 if it is set
    __pycache__                     beside the kernels
    XDG_CACHE_HOME or ~/.cache      where the package is read-only

Folders of earlier sources that stand beside a new one are removed. Where nothing can be written, every process
compiles for itself.
"""

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache

PREFIX = "joinfold-"
_HERE = Path(__file__).absolute().parent


def _sources(package: Traversable, name: str = "") -> Iterator[tuple[str, bytes]]:
    """Every Python file of a package by its name, in order."""
    for part in sorted(package.iterdir(), key=lambda part: part.name):
        if part.name.endswith(".py"):
            yield f"{name}/{part.name}", part.read_bytes()
        elif part.is_dir() and part.name != "__pycache__":
            yield from _sources(part, f"{name}/{part.name}")


def hash_of_sources() -> str:
    """A hash of everything that machine code is made from."""
    found = hashlib.sha256()
    for name, text in _sources(files(__package__)):
        found.update(f"{name}\0{len(text)}\0".encode())
        found.update(text)
    return found.hexdigest()[:16]


SOURCES = hash_of_sources()  # at import, because an edit while this process runs does not change what it compiles


@cache
def folder() -> Path | None:
    """Where this process keeps machine code, made if it is not there; None where nothing can be written."""
    return next((place for place in _places() if _is_ready(place)), None)


def _places() -> Iterator[Path]:
    own = f"kernels-{hashlib.sha256(str(_HERE).encode()).hexdigest()[:16]}"  # other copies of joinfold have their own
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        yield Path(given, own, PREFIX + SOURCES)
    yield Path(_HERE, "__pycache__", PREFIX + SOURCES)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    yield Path(home, "joinfold", own, PREFIX + SOURCES)


def _is_ready(place: Path) -> bool:
    try:
        is_new = not place.is_dir()
        place.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return False
    if is_new:
        for old in place.parent.glob(f"{PREFIX}*"):
            if old != place:
                shutil.rmtree(old, ignore_errors=True)
    return True


class _Locator:
    """What numba asks about a kernel: where its files are, their names, and what they were made from."""

    def __init__(self, function: Callable[..., Any], file: str, place: Path) -> None:
        self._function = function
        self._py_file = file  # numba names it in warnings
        self._place = place

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "_Locator | None":
        place = folder()
        return None if place is None else cls(function, file, place)

    def get_cache_path(self) -> str:
        return str(self._place)

    def ensure_cache_path(self) -> None:
        self._place.mkdir(parents=True, exist_ok=True)  # a process with other sources may have removed it

    def get_source_stamp(self) -> str:
        return SOURCES

    def get_disambiguator(self) -> str:
        return f"{self._function.__module__}-{self._function.__code__.co_firstlineno}"


class _Results(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012  (as numba declares it)


class _Files(FunctionCache):
    _impl_class = _Results


class KernelCache:
    """numba's cache of one kernel, opened when the kernel is first called; a lost folder is as good as an empty one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def _files(self) -> Any:
        return NullCache() if folder() is None else _Files(self._function)  # type: ignore[no-untyped-call]

    @property
    def cache_path(self) -> str | None:
        """The folder."""
        path: str | None = self._files.cache_path
        return path

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The machine code for argument types; None where there is none."""
        with contextlib.suppress(OSError):
            return self._files.load_overload(signature, context)
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keeps machine code for argument types."""
        with contextlib.suppress(OSError):
            self._files.save_overload(signature, compiled)

    def flush(self) -> None:
        """Forgets the machine code of the kernel."""
        self._files.flush()
