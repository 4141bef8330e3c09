"""Join trees and chains of folds as golden files; `REGENERATE=1` writes them, to be read as a user would."""

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import joinfold as jf
from joinfold.logical.expressions import Column
from joinfold.logical.graph import JoinGraph, KeyClass, join_tree
from joinfold.logical.sql import expression_text
from joinfold.physical.source import ViewOf
from joinfold.physical.stage import FoldAtInstants, makes_view
from joinfold.planner import chaining
from joinfold.planner.chaining import Branch
from joinfold.planner.planned_query import PlannedQuery
from joinfold.types import INT

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "chains"

QUERIES = {
    "bids_by_state": (ROOT / "examples" / "queries" / "bids_by_state.sql").read_text(encoding="utf-8"),
    "star": """
        SELECT c.l, SUM(a.v * c.v) AS s, MAX(b.d) AS x
        FROM   a [1 MINUTE SLIDE 1 SECOND], b [1 MINUTE SLIDE 1 SECOND], c [TUMBLE 1 HOUR]
        WHERE  a.k = b.k AND a.l = c.l GROUP BY c.l CHANGES""",
    "tree_of_five": """
        SELECT COUNT(*) AS n, SUM(e.d) AS s
        FROM   a [1 MINUTE], b [1 MINUTE], c [1 MINUTE], d [UNBOUNDED], e [1 MINUTE]
        WHERE  a.k = b.k AND a.k = c.k AND b.l = d.l AND c.v = e.v EMIT EVERY 10 SECONDS""",
    "triangle": """
        SELECT COUNT(*) AS n FROM a [1 MINUTE SLIDE 1 SECOND], b [1 MINUTE SLIDE 1 SECOND], c [TUMBLE 1 HOUR]
        WHERE a.k = b.k AND b.l = c.l AND c.v = a.v""",
    "one_key": """
        SELECT a.k, COUNT(*) AS n, SUM(c.v) AS s
        FROM   a [1 MINUTE SLIDE 1 SECOND], b [1 MINUTE SLIDE 1 SECOND], c [TUMBLE 1 HOUR], d [UNBOUNDED]
        WHERE  a.k = b.k AND b.k = c.k AND c.k = d.k GROUP BY a.k""",
    "one_fold_as_asked": """
        SELECT COUNT(*) AS n FROM a [1 MINUTE SLIDE 1 SECOND], b [1 MINUTE SLIDE 1 SECOND], c [TUMBLE 1 HOUR]
        WHERE a.k = b.k AND b.l = c.l OPTION (method = tc)""",
    "one_fold_for_a_condition": """
        SELECT COUNT(*) AS n FROM a [1 MINUTE SLIDE 1 SECOND], b [1 MINUTE SLIDE 1 SECOND], c [TUMBLE 1 HOUR]
        WHERE a.k = b.k AND b.l = c.l AND a.v < c.v""",
    "one_fold_for_arrivals": """
        SELECT COUNT(*) AS n FROM a [1 MINUTE], b [1 MINUTE], c [1 MINUTE] WHERE a.k = b.k AND b.l = c.l
        EMIT ON ARRIVAL""",
}

SHAPES = {
    "path of three": ("abc", "a.k = b.k AND b.l = c.l"),
    "path of four": ("abcd", "a.k = b.k AND b.l = c.l AND c.v = d.v"),
    "star, every branch over its own key": ("abcd", "a.k = b.k AND a.l = c.l AND a.v = d.v"),
    "star, two branches over one key": ("abcd", "a.k = b.k AND a.k = c.k AND a.l = d.l"),
    "tree of five": ("abcde", "a.k = b.k AND a.k = c.k AND b.l = d.l AND c.v = e.v"),
    "two keys, and one of them again": ("abc", "a.k = b.k AND a.l = b.l AND b.k = c.k"),
    "two keys, one to each side": ("abcd", "a.k = b.k AND a.l = b.l AND b.l = c.l AND a.k = d.k"),
    "two keys to a third that has both": ("abc", "a.k = c.k AND a.l = c.l AND b.k = c.k AND b.l = c.l"),
    "one key": ("abc", "a.k = b.k AND b.k = c.k"),
    "one key of two columns": ("abc", "a.k = b.k AND b.k = c.k AND a.l = b.l AND b.l = c.l"),
    "a chord that makes no cycle": ("abc", "a.k = b.k AND b.l = c.l AND a.l = c.l"),
    "triangle": ("abc", "a.k = b.k AND b.l = c.l AND c.v = a.v"),
    "triangle in one input's keys": ("abcd", "a.k = b.k AND b.l = c.l AND c.v = a.v AND a.k = d.k AND b.l = d.l"),
    "triangle whose keys a fourth has": (
        "abcd",
        "a.k = b.k AND b.l = c.l AND c.v = a.v AND d.k = a.k AND d.l = b.l AND d.v = c.v",
    ),
    "square": ("abcd", "a.k = b.k AND b.l = c.l AND c.v = d.v AND d.d = a.d"),
}


@pytest.fixture(scope="module")
def session() -> jf.Session:
    session = jf.Session()
    for name in "abcde":
        session.stream(name, "ts TIMESTAMP, k INT, l INT, v BIGINT, d DOUBLE", time="ts")
    session.stream("person", "id BIGINT, state STRING, ts TIMESTAMP", time="ts")
    session.stream("auction", "id BIGINT, seller BIGINT, ts TIMESTAMP", time="ts")
    session.stream("bid", "auction BIGINT, price DOUBLE, ts TIMESTAMP", time="ts")
    return session


def check_golden(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_and_its_folds(session: jf.Session, name: str) -> None:
    query = session.sql(QUERIES[name])
    check_golden(name, f"{query.explain('logical')}\n\n{query.explain('physical')}")


def test_every_golden_file_has_its_query() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {*QUERIES, "shapes"}


def test_shapes(session: jf.Session) -> None:
    """For every shape, and every root, the tree and what its folds join by what."""
    texts = []
    for shape, (inputs, where) in SHAPES.items():
        texts.append(f"{shape}: {where}")
        text = f"SELECT COUNT(*) AS n FROM {', '.join(f'{name} [1 MINUTE]' for name in inputs)} WHERE {where}"
        whole = session.sql(text, jf.Plan(order=tuple(inputs))).plan
        for ordinal, root in enumerate(inputs):
            tree = chaining.join_tree(whole.body, ordinal)
            if tree is None:
                texts.append("  no join tree")
                break
            if session.sql(text).plan.root is None:
                texts.append("  one fold")
                break
            texts.append(f"  {tree_text(whole, tree)}")
            texts += fold_texts(session.sql(text, jf.Plan(root=root)).plan)
        texts.append("")
    check_golden("shapes", "\n".join(texts[:-1]))


def tree_text(plan: PlannedQuery, branch: Branch) -> str:
    """An input, and in parentheses what hangs below it."""
    below = ", ".join(tree_text(plan, lower) for lower in branch.branches)
    return plan.query.streams[branch.ordinal].alias + (f" ({below})" if below else "")


def fold_texts(plan: PlannedQuery) -> Iterator[str]:
    columns = {name: expression for frame in plan.frames for name, expression in frame.expressions.items()}
    for number, stage in enumerate(plan.stages):
        assert isinstance(stage, FoldAtInstants)
        first = stage.body.inputs[0]
        keys = " and ".join(" = ".join(map(expression_text, plan.keys[own])) for own in sorted(set(first.classes)))
        joined = ", ".join(
            f"view {spec.source.stage + 1}" if isinstance(spec.source, ViewOf) else spec.name
            for spec in stage.body.inputs
        )
        groups = [expression_text(columns[name]) for name in stage.body.groups]
        made = f" -> view {number + 1} by {', '.join(groups)}" if makes_view(stage) else ""
        yield f"    {joined} by {keys}{made}"


def test_one_key_is_one_fold_whatever_is_summed(session: jf.Session) -> None:
    """So every plan of it goes on from every checkpoint."""
    text = "SELECT MAX(b.v) AS x, AVG(c.d) AS m FROM a [1 MINUTE], b [1 MINUTE], c [1 MINUTE] WHERE {}"
    plan = session.sql(text.format("a.k = b.k AND b.k = c.k")).plan
    assert (plan.root, len(plan.stages), len(plan.body.inputs)) == (None, 1, 3)
    assert session.sql(text.format("a.k = b.k AND b.l = c.l")).plan.root == "c"
    with pytest.raises(jf.QueryError, match="only a join over different keys, without a cycle, has a root"):
        session.sql(text.format("a.k = b.k AND b.k = c.k"), jf.Plan(root="a"))


classes = st.lists(st.frozensets(st.integers(0, 3), min_size=1, max_size=3), min_size=2, max_size=4)


@given(classes=classes, root=st.integers(0, 3))
def test_a_join_tree_is_found_if_and_only_if_there_is_one(classes: list[frozenset[int]], root: int) -> None:
    root %= len(classes)
    above = join_tree(classes, root)
    trees = list(all_trees(len(classes), root))
    assert (above is not None) == any(is_join_tree(classes, tree) for tree in trees)
    if above is not None:
        assert above in trees and is_join_tree(classes, above)
    aliases = "abcd"[: len(classes)]
    keys = tuple(
        KeyClass(tuple(Column(alias, "k", INT) for alias, own in zip(aliases, classes, strict=True) if key in own), INT)
        for key in sorted(frozenset().union(*classes))
    )
    graph = JoinGraph(tuple(aliases), keys, (), (), ())
    assert (above is not None) == (graph.is_acyclic and graph.is_connected) == (graph.tree is not None)


def all_trees(inputs: int, root: int) -> Iterator[dict[int, int]]:
    """Every way to hang inputs below others, up to the root."""
    for uppers in product(range(inputs), repeat=inputs):
        tree = dict(enumerate(uppers))
        if tree[root] == root and all(root in path_of(tree, ordinal) for ordinal in range(inputs)):
            yield tree


def path_of(tree: dict[int, int], ordinal: int) -> list[int]:
    path = [ordinal]
    while tree[path[-1]] not in path:
        path.append(tree[path[-1]])
    return path


def is_join_tree(classes: list[frozenset[int]], tree: dict[int, int]) -> bool:
    """Whether neighbours share a key, and the inputs of every class hang together: one of them is above all others."""
    if any(ordinal != upper and not classes[ordinal] & classes[upper] for ordinal, upper in tree.items()):
        return False
    for key in frozenset().union(*classes):
        own = [ordinal for ordinal, keys in enumerate(classes) if key in keys]
        tops = [ordinal for ordinal in own if tree[ordinal] == ordinal or key not in classes[tree[ordinal]]]
        if len(tops) != 1:
            return False
    return True
