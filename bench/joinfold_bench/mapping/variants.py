"""Variants: the streams or the text of a query, made harder in one way.

    NULLs              a tenth of the values is NULL
    doubles            values are DOUBLE
    key of two columns `key` is divided into two columns, and both must be equal
    other side         groups of the other input
    half on one key    half of all rows have one key
    HAVING, CHANGES    the clause is added

A variant that does not fit a query is left out for it: a query without groups has no other side.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from joinfold_bench.mapping.queries import SAME_KEY

PARTS = 40  # `key` is PARTS times its first column plus its second one
SEED = 11

Change = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to make a query or its streams harder: a change of each table, and of the text, None if it does not fit."""

    name: str
    table: Callable[[pa.Table], pa.Table] = lambda table: table
    text: Change = lambda text: text


AS_IT_IS = Variant("")


def _with_nulls(table: pa.Table) -> pa.Table:
    missing = np.random.default_rng(SEED).random(table.num_rows) < 0.1
    return _replaced(table, "v", pa.array(table.column("v").to_numpy(), mask=missing))


def _with_doubles(table: pa.Table) -> pa.Table:
    return _replaced(table, "v", pc.add(table.column("v").cast(pa.float64()), 0.1))


def _divided(table: pa.Table) -> pa.Table:
    keys = table.column("key").to_numpy()
    return _replaced(table, "key", pa.array(keys // PARTS)).append_column("part", pa.array(keys % PARTS))


def _skewed(table: pa.Table) -> pa.Table:
    keys, chosen = table.column("key").to_numpy(), np.random.default_rng(SEED).random(table.num_rows) < 0.5
    return _replaced(table, "key", pa.array(np.where(chosen, 0, keys)))


def _replaced(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, column)


def _by_two_columns(text: str) -> str | None:
    if SAME_KEY not in text or "PARTITION BY key" in text or "a.key, " in text:
        return None
    return text.replace(SAME_KEY, f"{SAME_KEY} AND a.part = b.part").replace(
        "b.key = c.key", "b.key = c.key AND b.part = c.part"
    )


def _of_other_side(text: str) -> str | None:
    return text.replace("a.g", "b.g") if "GROUP BY a.g" in text and "b.g" not in text else None


def _having(text: str) -> str | None:
    if "GROUP BY" not in text or "HAVING" in text:
        return None
    before, clause, after = _at_clause(text)
    return f"{before} HAVING COUNT(*) > 100{clause}{after}"


def _changes(text: str) -> str | None:
    if "CHANGES" in text or "SYNC ON WINDOW ID" in text or "a.v AS v" in text:
        return None
    before, clause, after = _at_clause(text)
    if clause == " SYNC":
        return f"{before} EMIT ON SLIDE CHANGES{clause}{after}"
    return f"{text} CHANGES" if clause else f"{text} EMIT ON SLIDE CHANGES"


def _at_clause(text: str) -> tuple[str, str, str]:
    """What is before the clause EMIT or SYNC, the keyword, and what is after it; no keyword without such a clause."""
    found = next((keyword for keyword in (" EMIT", " SYNC") if keyword in text), "")
    before, _, after = text.partition(found) if found else (text, "", "")
    return before, found, after


VARIANTS: Mapping[str, Variant] = {
    variant.name: variant
    for variant in (
        Variant("NULLs", _with_nulls),
        Variant("doubles", _with_doubles),
        Variant("key of two columns", _divided, _by_two_columns),
        Variant("other side", text=_of_other_side),
        Variant("half on one key", _skewed),
        Variant("HAVING", text=_having),
        Variant("CHANGES", text=_changes),
    )
}
