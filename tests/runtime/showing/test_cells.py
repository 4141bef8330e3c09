"""Values as text."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from joinfold.runtime.showing.cells import answers_table, value_text

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        (NOON.astimezone(timezone(timedelta(hours=2))), "2025-06-01 12:00:00"),
        (datetime(2025, 6, 1, 12), "2025-06-01 12:00:00"),
        (b"\x01\xff", "01ff"),
        (Decimal("1.50"), "1.50"),
        ("\x1b[31m", "\\x1b[31m"),
        (float("nan"), "nan"),
    ],
)
def test_a_value(value: Any, text: str) -> None:
    assert value_text(value) == text


def test_the_last_answers_come_first() -> None:
    table = answers_table(pa.table({"n": [1, 2], "a\x1b": ["x", None]}), "Answers")
    assert (table.header, table.rows) == (("n", "a\\x1b"), (("2", "NULL"), ("1", "x")))
