"""How a kernel is compiled: by numba, on its first call, and from then on loaded from the cache on disk (`caching`).

A kernel is compiled once for each combination of argument *types*. A writeable array and a read-only one have different
types. So every array that a kernel only reads is passed through ``readable``: one compiled version serves our own
arrays and those in an Arrow buffer, and neither is copied.

Kernels make no arrays, they only fill those that they are given. So they need no reference counts, and numba's are
switched off (``_nrt``): it counts with atomic instructions wherever a kernel calls another, and the lookup of an id
took 15 ns instead of 3.

Arrays that belong together are one argument: a plain tuple (``Arrays``). The kernel names them in its first line, by
making a NamedTuple of it, which costs nothing there. A NamedTuple of six arrays as an argument would cost each call 0.8
µs more than the arrays themselves, a plain tuple costs 0.2.
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
    """Replaces numba's cache by our own. With NUMBA_DISABLE_JIT the function is plain Python, and there is no cache."""
    if hasattr(compiled, "py_func"):
        compiled._cache = KernelCache(compiled.py_func)
    return compiled


def readable(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """The values, contiguous and read-only: themselves or a view, or a copy if they have another layout or type."""
    if isinstance(values, np.ndarray) and values.dtype == dtype:
        flags = values.flags
        if flags.c_contiguous and not flags.writeable:
            return values
    view = np.ascontiguousarray(values, dtype=dtype).view()
    view.flags.writeable = False
    return view


def readable_ids(values: ArrayLike) -> Ids:
    """The same for ids. They index arrays, where a negative one would silently count from the end."""
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
    """One more than the largest of readable ids, 0 without any. numpy takes longer for a few of them. Cost: O(n)."""
    count = 0
    for number in ids:
        count = max(count, number + 1)
    return count
