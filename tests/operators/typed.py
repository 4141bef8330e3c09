"""Values of every type that a key, a group or an extreme may have, at the ends of their ranges."""

import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.operators.runs import Data

FEW: dict[pa.DataType, list[Any]] = {
    pa.int64(): [0, 1, -1, 2**63 - 1, -(2**63)],
    pa.int8(): [0, 5, -128],
    pa.bool_(): [True, False],
    pa.float64(): [0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 1.5, -1.5, 5e-324],
    pa.float32(): [0.0, -0.0, math.nan, 1.5],
    pa.date32(): [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)],
    pa.timestamp("us"): [datetime.datetime(1969, 12, 31), datetime.datetime(2024, 2, 29, 1, 2, 3, 4)],
    pa.string(): ["", "a", "b", "é"],
    pa.binary(): [b"", b"\x00", b"\xff"],
    pa.decimal128(5, 2): [Decimal("1.50"), Decimal("-1.50"), Decimal("0.00")],
}
"""Values of every kind of Arrow column, in no order; NULL goes with all of them."""


def columns(type_: pa.DataType) -> st.SearchStrategy[list[Any]]:
    """The values of a column, NULLs among them."""
    return st.lists(st.none() | st.sampled_from(FEW[type_]), max_size=8) | st.permutations([None, *FEW[type_]])


def same(value: Any) -> Any:
    """Equal for values that are the same: 0.0 and −0.0, and every NaN."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def order(value: Any) -> Any:
    """By which values are in order, NaN last."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


VALUES: dict[str, list[Any]] = {
    "STRING": ["a", "é", "e\u0301", "日本", "😀", "\x00", "x" * 10_000, "x" * 9_999 + "y", "", None, "a"],
    "BINARY": [b"", b"\x00", b"\xff", b"a" * 10_000, b"\x00\x00", None, b"\xff"],
    "BOOLEAN": [True, False, None, True],
    "TINYINT": [127, -128, 0, None],
    "SMALLINT": [2**15 - 1, -(2**15), 0, None],
    "INT": [2**31 - 1, -(2**31), 0, None],
    "BIGINT": [2**63 - 1, -(2**63), 0, -1, None, 2**63 - 1],
    "FLOAT": [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, None, math.nan],
    "DOUBLE": [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1.5, None, math.nan],
    "DECIMAL(38, 10)": [Decimal("1.5"), Decimal("-1.5"), Decimal("9" * 28 + "." + "9" * 10), Decimal(0), None],
    "DECIMAL(5, 2)": [Decimal("1.5"), Decimal("-1.5"), Decimal(0), None, Decimal("1.50")],
    "DATE": [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(1969, 12, 31), None],
    "TIMESTAMP": [0, -1, 253_402_300_799_999_999, -62_135_596_800_000_000, None],
    "TIMESTAMP_NTZ": [0, -1, 253_402_300_799_999_999, None],
}


def data_of(type_: str) -> Data:
    def rows(values: list[Any]) -> list[dict[str, Any]]:
        found = []
        for ordinal, value in enumerate(values):
            group = None if ordinal % 3 == 0 else "x" * (ordinal % 2)
            found.append({"ts": ordinal, "k": value, "v": ordinal, "g": group})
        return found

    return {"a": rows(VALUES[type_]), "b": rows(VALUES[type_][::-1] + VALUES[type_])}
