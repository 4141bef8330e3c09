"""Views of a chain where they are delicate: rebuilt half-way, drifted, without labels, with NULLs for keys."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators import labels
from joinfold.operators.stages.fold import Fold
from joinfold.physical.stage import FoldAtInstants, makes_view
from tests.operators.chains import chain_of
from tests.operators.runs import Data, check_batches

WINDOW = "[8 MICROSECOND SLIDE 4 MICROSECOND]"
SCHEMA = "k INT, j INT, i INT, v BIGINT, d DOUBLE, s STRING"
LINKS = "a.k = b.k AND b.j = c.j AND c.i = d.i"  # rooted in d: views of a b and of a b c, the second in the middle


def path_of(select: str, tail: str = "", root: str = "d") -> InProcess:
    """A path of four streams: two views, and a fold that answers."""
    inputs = ", ".join(f"{name} {WINDOW}" for name in "abcd")
    plan = chain_of(f"SELECT {select} FROM {inputs} WHERE {LINKS}{tail} OPTION (root = {root})", SCHEMA)
    assert [makes_view(stage) for stage in plan.stages] == [True, True, False]
    views = [stage.body.views for stage in plan.stages if isinstance(stage, FoldAtInstants)]
    assert list(map(bool, views)) == [False, True, True]
    return InProcess(plan, 2)


def row(ts: int, **values: Any) -> dict[str, Any]:
    return {"ts": ts, "k": 1, "j": 1, "i": 1, "v": ts, "d": 0.5, "s": "s"} | values


@pytest.fixture
def rebuilt(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The folds, by how many streams are below them, that have made anew what is live."""
    found, rebuild = list[int](), Fold.rebuild

    def counted(fold: Fold, keep_labels: bool = False) -> None:
        found.append(len(fold.body.views) if fold.is_view else -1)
        rebuild(fold, keep_labels)

    monkeypatch.setattr(Fold, "rebuild", counted)
    return found


MIDDLE = 1  # a view that reads a view


@pytest.mark.parametrize("changes", ["", " CHANGES"])
@pytest.mark.parametrize("select", ["SUM(c.d) AS s", "SUM(a.d) AS s, COUNT(*) AS n", "AVG(c.d) AS m, MAX(a.v) AS x"])
def test_sums_that_drift_in_the_middle_are_rebuilt(select: str, changes: str, rebuilt: list[int]) -> None:
    """A value of 1e28 comes and goes: what is left beside it would be wrong in the third digit."""
    batches: list[Data] = []
    for batch in range(8):
        ts = 4 * batch
        large = [row(ts, d=1e28, j=1, k=1)] if batch % 3 == 1 else []
        small = [row(ts + 1, d=0.1 + batch, k=batch % 2, j=batch % 2), row(ts + 2, d=0.7, s=str(batch))]
        batches.append({name: [*large, *small] for name in "abcd"})
    found = check_batches(path_of(f"a.s AS g, {select}", f" GROUP BY a.s{changes}"), batches)
    assert len(found) > 10
    assert MIDDLE in rebuilt


def test_labels_that_run_out_in_the_middle_are_given_anew(rebuilt: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that fall between two others again and again."""
    monkeypatch.setattr(labels, "STRIDE", 4)
    batches: list[Data] = [{name: [row(0, s="a"), row(1, s="c")] for name in "abcd"}]
    for batch in range(1, 10):
        text = "b" * batch + "a"
        batches.append({name: [row(4 * batch, s=text), row(4 * batch + 1, s=text, j=2)] for name in "abcd"})
    found = check_batches(path_of("b.j AS g, MAX(a.s) AS x, MIN(c.s) AS y, COUNT(*) AS n", " GROUP BY b.j"), batches)
    assert {value for _, _, *both, _ in found for value in both} > {"a", "c", "bbbba"}
    assert MIDDLE in rebuilt


numbers = st.integers(0, 2)
streams = st.lists(
    st.builds(
        lambda ts, k, j, i, d, s: row(ts, k=k, j=j, i=i, d=d, s=s),
        st.integers(0, 5),
        numbers,
        numbers,
        numbers,
        st.sampled_from([0.5, 0.1, -3.0, 1e12]),
        st.sampled_from("xyz"),
    ),
    max_size=5,
)


@given(
    parts=st.lists(st.fixed_dictionaries(dict.fromkeys("abcd", streams)), min_size=3, max_size=4),
    often=st.lists(st.booleans(), min_size=24, max_size=24),
    root=st.sampled_from("ad"),
)
def test_whatever_is_made_anew_goes_on_as_before(parts: list[Data], often: list[bool], root: str) -> None:
    batches = [
        {name: [own | {"ts": own["ts"] + 5 * number} for own in rows] for name, rows in part.items()}
        for number, part in enumerate(parts)
    ]
    machine = path_of("a.s AS g, COUNT(*) AS n, SUM(b.d) AS t, MIN(c.d) AS m", " GROUP BY a.s", root)
    turns, answering = iter(often), machine.answer

    def after_rebuilding(to_the_end: bool = False) -> Any:
        for fold, is_rebuilt in zip(machine.buckets, turns, strict=False):
            if is_rebuilt:
                assert isinstance(fold, Fold)
                fold.rebuild()
        return answering(to_the_end)

    machine.answer = after_rebuilding  # type: ignore[method-assign]
    check_batches(machine, batches)


@pytest.mark.parametrize("root", "abcd")
@pytest.mark.parametrize("name", "kji")
def test_the_nulls_of_two_views_are_not_equal(name: str, root: str) -> None:
    """From b the key in the middle joins two views, each with a group whose key is NULL."""
    inputs = ", ".join(f"{name} {WINDOW}" for name in "abcd")
    plan = chain_of(f"SELECT COUNT(*) AS n FROM {inputs} WHERE {LINKS} OPTION (root = {root})", SCHEMA)
    null = {name: None}
    batches: list[Data] = [
        {stream: [row(ts), row(ts + 1, **null), row(ts + 2, **null)] for stream in "abcd"} for ts in range(0, 16, 4)
    ]
    found = check_batches(InProcess(plan, 2), batches)
    assert max(count for _, count in found) > 0
