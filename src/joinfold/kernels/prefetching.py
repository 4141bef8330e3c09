"""Asking memory for what a loop will read soon.

The keys of a delta come in any order, so each slab is somewhere else, and a probe waits for memory longer than it
computes. The key after next is known, so its slab can be fetched meanwhile (600,000 products of three columns took 1.9
ms instead of 2.7). A prefetch is a hint: it changes no value, and its address need not exist.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from joinfold.kernels.compiling import Ids, part
from joinfold.kernels.slabs import LENGTH, START, Slots

AHEAD = 2  # entries between a prefetch and its use
LINE_BYTES = 64
MOST_LINES = 16  # of each array; by then the processor fetches the next ones by itself

READ, KEEP, DATA = 0, 3, 1  # arguments of llvm.prefetch


def _prefetch(context: Any, array: Any, row: Any) -> Any:
    """Ask for the cache line in which ``array[row]`` begins."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, flag, pointer = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
        view = target.make_array(signature.args[0])(target, builder, arguments[0])
        offset = builder.mul(builder.extract_value(view.strides, 0), arguments[1])
        address = builder.inttoptr(builder.add(builder.ptrtoint(view.data, word), offset), pointer)
        shape = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], shape)
        builder.call(function, [address, flag(READ), flag(KEEP), flag(DATA)])
        return target.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch = cast(Callable[[NDArray[Any], int], None], intrinsic(_prefetch))


@part
def prefetch_slab(slots: Slots, kid: Ids, entry: int) -> None:
    """Ask for the slab that the entry ``AHEAD`` of this one will read, unless it is a single slot. Cost: O(length)."""
    slabs, gids, ints = slots.slabs, slots.gids, slots.ints
    if entry + AHEAD < kid.size:
        key = kid[entry + AHEAD]
        if key < slabs.shape[0] and slabs[key, LENGTH] > 1:
            start, length = slabs[key, START], slabs[key, LENGTH]
            in_line = LINE_BYTES // 4
            for offset in range(0, min(length, MOST_LINES * in_line), in_line):
                prefetch(gids, start + offset)
            in_line = max(1, LINE_BYTES // (8 * ints.shape[1]))
            for offset in range(0, min(length, MOST_LINES * in_line), in_line):
                prefetch(ints, start + offset)
