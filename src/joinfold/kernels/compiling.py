"""How a kernel is compiled: by numba, on its first call, and from then on loaded from the cache on disk (`caching`).

A kernel is compiled once for each combination of argument *types*, and an array that may be written to and one that
may not are of different types. What a kernel only reads is therefore always passed through ``readable``: one compiled
version serves arrays of our own and those that lie in an Arrow buffer, and neither is copied.

Kernels make no arrays, they only fill those that they are given. So they need no reference counts, and we leave
numba's away (``_nrt``): it counts, with atomic instructions, wherever a kernel calls another, and the lookup of an
id took 15 ns instead of 3.

Arrays that belong together are one argument: a plain tuple (``Arrays``), of which the kernel makes the NamedTuple that
names them, in its first line. Naming costs nothing there. A NamedTuple from outside would cost numba a microsecond for
each call, a plain tuple costs it a tenth.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from joinfold.kernels.caching import KernelCache

Function = TypeVar("Function", bound=Callable[..., Any])

Booleans: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
Doubles: TypeAlias = NDArray[np.float64]
Hashes: TypeAlias = NDArray[np.uint64]
Ids: TypeAlias = NDArray[np.int32]
Integers: TypeAlias = NDArray[np.int64]
Arrays: TypeAlias = tuple[NDArray[Any], ...]
"""Arrays that belong together, in the order of the NamedTuple that names them."""

OPTIONS: dict[str, Any] = {"_nrt": False}


def kernel(function: Function) -> Function:
    """The function in machine code; its callers see the types that it was written with."""
    return cast(Function, _cached(numba.njit(**OPTIONS)(function)))


def part(function: Function) -> Function:
    """A kernel that others call in their inner loops: its code becomes a part of theirs."""
    return cast(Function, _cached(numba.njit(**OPTIONS, forceinline=True)(function)))


def _cached(compiled: Any) -> Any:
    """With our own cache in the place of numba's; with NUMBA_DISABLE_JIT there is nothing to keep."""
    if hasattr(compiled, "py_func"):
        compiled._cache = KernelCache(compiled.py_func)
    return compiled


def readable(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """The values, contiguous and read-only: themselves, a view, or a copy where layout or type are not a kernel's."""
    if isinstance(values, np.ndarray) and values.dtype == dtype:
        flags = values.flags
        if flags.c_contiguous and not flags.writeable:
            return values
    view = np.ascontiguousarray(values, dtype=dtype).view()
    view.flags.writeable = False
    return view


def readable_ids(values: ArrayLike) -> Ids:
    """The same for ids, which index arrays: a negative one would silently count from the end."""
    ids = readable(values, np.int32)
    assert _least(ids) >= 0, "ids begin at 0"
    return ids


@kernel
def _least(ids: Ids) -> int:
    least = 0
    for number in ids:
        least = min(least, number)
    return least


@kernel
def count_of_ids(ids: Ids) -> int:
    """One more than the largest of readable ids, 0 without any: often a few, for which numpy takes long."""
    count = 0
    for number in ids:
        count = max(count, number + 1)
    return count
