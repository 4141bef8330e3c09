"""Keys and groups of every type, NULLs among them."""

import pickle

import pytest

from joinfold.physical.plan import Pipeline
from tests.operators.runs import check, plan_of
from tests.operators.typed import VALUES, data_of

WINDOW = "[20 MICROSECOND SLIDE 3 MICROSECOND]"


@pytest.mark.parametrize("type_", sorted(VALUES))
@pytest.mark.parametrize(
    ("select", "groups"),
    [
        ("COUNT(*) AS n, SUM(a.v) AS s", ""),
        ("a.k, COUNT(*) AS n", " GROUP BY a.k"),
        ("MIN(a.k) AS low, MAX(b.k) AS high", ""),
        ("a.g, MIN(a.k) AS low, MAX(b.k) AS high", " GROUP BY a.g"),
        ("a.g, b.g AS h, MAX(a.g) AS m, COUNT(a.g) AS c", " GROUP BY a.g, b.g"),
        ("a.k, b.v, COUNT(*) AS n", " GROUP BY a.k, b.v"),
    ],
)
def test_keys_and_groups_of_every_type(type_: str, select: str, groups: str) -> None:
    data, schema = data_of(type_), f"k {type_}, v BIGINT, g STRING"
    check(f"SELECT {select} FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k{groups}", schema, data)
    check(f"SELECT {select}".replace("b.", "a.") + f" FROM a {WINDOW}{groups.replace('b.', 'a.')}", schema, data)


def test_keys_of_several_columns_with_nulls_in_each() -> None:
    rows = [
        {"ts": at, "k": k, "j": j, "v": at}
        for at, (k, j) in enumerate((k, j) for k in ("", "p", None) for j in (b"", b"p", None))
    ]
    data = {"a": rows, "b": rows[::-1]}
    text = f"SELECT a.k, a.j, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k AND a.j = b.j GROUP BY a.k, a.j"
    check(text, "k STRING, j BINARY, v BIGINT", data)


def test_pipelines_are_picklable() -> None:
    pipeline = plan_of(f"SELECT MAX(k) AS high FROM a {WINDOW}", "k STRING").pipeline
    again = pickle.loads(pickle.dumps(pipeline))
    assert isinstance(again, Pipeline) and again == pipeline
