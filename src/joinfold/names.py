"""Identifiers as text: plain words are unquoted, all other names are in backticks."""

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

RESERVED = frozenset(
    """
    ALL ALTER AND ANTI ANY AS ASOF BETWEEN BY CASE CAST CHANGES COLLATE CONNECT_BY_ROOT CREATE CROSS CURRENT_DATE
    CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DATE DISTINCT DIV DROP ELSE EMIT END ESCAPE EXCEPT EXISTS FALSE FETCH
    FILTER FOR FROM FULL GLOB GRANT GROUP HAVING IF ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN LATERAL LEFT
    LIKE LIMIT MAP MINUS MOD NATURAL NOT NOTNULL NULL OFFSET ON OPTION OR ORDER OUTER OVER PARTITION PARTITIONED_BY
    PIVOT QUALIFY RANGE REGEXP RETURNING REVOKE RIGHT RLIKE ROLLBACK ROWS SELECT SEMI SERDEPROPERTIES SHED SLIDE
    SNAPSHOT SOME START STRUCT SYNC TABLE TABLESAMPLE THEN TIMESTAMP TIMESTAMP_NTZ TO TRUE TUMBLE UNBOUNDED UNCACHE
    UNION UNPIVOT USING VALUES WHEN WHERE WINDOW WITH XOR
    """.split()
)


def identifier_text(name: str) -> str:
    """The name as it is written in a query."""
    if _PLAIN.fullmatch(name) and name.upper() not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def find_name(name: str, names: Iterable[str]) -> list[str]:
    """The names that ``name`` may mean: the one with exactly this spelling, or else all that differ only in case."""
    names = list(names)
    return [name] if name in names else [other for other in names if other.lower() == name.lower()]
