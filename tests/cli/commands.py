"""A command of ``joinfold``, run in this process: its status, its output, and its errors."""

from collections.abc import Callable
from typing import NamedTuple

STREAM = "--stream=A=location STRING, ts TIMESTAMP, celsius DOUBLE"
QUERY = "SELECT location, COUNT(*) AS n FROM A [10 MINUTE] GROUP BY location"


class Result(NamedTuple):
    status: int
    output: str
    error: str


Run = Callable[..., Result]
Mistakes = dict[str, tuple[list[str], str]]
"""By name: arguments that are refused, and the beginning of the error."""


def check_refused(result: Result, error: str) -> None:
    assert (result.status, result.output) == (2, "")
    assert result.error.startswith(error)
