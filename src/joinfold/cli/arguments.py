"""Arguments that several commands take: a query, NAME=VALUE, a plan."""

import re
import sys
from decimal import Decimal
from pathlib import Path

from joinfold.errors import UsageError

PARAM_HELP = "NAME=VALUE: the value of :NAME in the query, a number or a text. Repeatable."
PLAN_HELP = "How to run it, such as 'method=tc; early=a; index=a hash, b btree; order=b, a'."


def query_text(query: str) -> str:
    """The text of a query: read from a file or standard input, or the argument itself."""
    if any(char.isspace() for char in query) and not query.endswith(".sql"):
        return query
    try:
        read = sys.stdin.buffer.read() if query == "-" else Path(query).read_bytes()
        return read.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"the query '{query}' is not text in UTF-8") from error
    except OSError as error:
        hint = "give a file with a query, '-' for standard input, or the query itself in quotes."
        raise UsageError(f"cannot read the query '{query}': {error.strerror}", hint) from error


def assignment(entry: str, option: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE."""
    name, equals, value = entry.partition("=")
    if not equals or not name.strip() or not value.strip():
        hint = f"write the name, an equals sign and the value: {option} NAME=VALUE."
        raise UsageError(f"{option} takes NAME=VALUE, not '{entry}'", hint)
    return name.strip(), value.strip()


def assignments(entries: list[str] | None, option: str) -> dict[str, str]:
    """The values of a repeatable option, by name."""
    return dict(assignment(entry, option) for entry in entries or [])


def parameters(entries: list[str] | None) -> dict[str, int | Decimal | str]:
    """The values of --param, by name. What looks like a number is one."""
    return {name: _value(text) for name, text in assignments(entries, "--param").items()}


def _value(text: str) -> int | Decimal | str:
    if re.fullmatch(r"[+-]?[0-9]+", text):
        return int(text)
    return Decimal(text) if re.fullmatch(r"[+-]?[0-9]+\.[0-9]+", text) else text
