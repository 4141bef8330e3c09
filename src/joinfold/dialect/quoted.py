"""Texts in double quotes that may have been meant as columns.

Spark reads `"name"` as a text, many other databases as a column. joinfold does as Spark does, and warns if a column of
that name exists.
"""

import re
from collections.abc import Iterable

from joinfold.names import find_name, identifier_text

_TOKENS = re.compile(r"""--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.|'')*'|`[^`]*`|"((?:[^"\\]|\\.|"")*)\"""", flags=re.DOTALL)


def quoted_columns(text: str, columns: Iterable[str]) -> tuple[str, ...]:
    """Warnings about texts in double quotes that are the names of columns."""
    names = list(columns)
    found = (match[1] for match in _TOKENS.finditer(text) if match[1] is not None)
    return tuple(
        f'"{name}" is a text, since it is in double quotes, but there is a column of that name; write '
        f"{identifier_text(name)} for the column, '{name}' for the text"
        for name in dict.fromkeys(found)
        if find_name(name, names)
    )
