"""What joinfold does in a worker process of Spark, once."""

import gc
from functools import cache


@cache
def settle() -> None:
    """Hides what is loaded by now, which stays, from the garbage collector: Spark runs it after every task."""
    gc.collect()
    gc.freeze()
