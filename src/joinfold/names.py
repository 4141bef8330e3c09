"""Identifiers as text: plain words stand as they are, everything else in backticks."""

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

RESERVED = frozenset(
    """
    ALL AND ANTI ANY AS ASOF BETWEEN BY CASE CAST CHANGES COLLATE CROSS CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP
    CURRENT_USER DATE DISTINCT DIV ELSE EMIT END ESCAPE EXCEPT EXISTS FALSE FETCH FILTER FOR FROM FULL GROUP HAVING
    IF ILIKE IN INNER INTERSECT INTERVAL INTO IS JOIN LATERAL LEFT LIKE LIMIT MAP MOD NATURAL NOT NULL OFFSET ON
    OPTION OR ORDER OUTER OVER PARTITION PIVOT QUALIFY RANGE RIGHT RLIKE ROWS SELECT SEMI SLIDE SNAPSHOT SOME START
    STRUCT SYNC TABLE TABLESAMPLE THEN TIMESTAMP TIMESTAMP_NTZ TO TRUE TUMBLE UNBOUNDED UNION UNPIVOT USING VALUES
    WHEN WHERE WINDOW WITH XOR
    """.split()
)


def identifier_text(name: str) -> str:
    """The name as it stands in a query."""
    if _PLAIN.fullmatch(name) and name.upper() not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def find_name(name: str, names: Iterable[str]) -> list[str]:
    """The names that ``name`` stands for: the one spelled just so, or else all that differ in case only."""
    names = list(names)
    return [name] if name in names else [other for other in names if other.lower() == name.lower()]
