"""Small trees of text: every line hangs where its branch is."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from joinfold.explain.tree import Tree

words = st.text("abc", min_size=1, max_size=3)
trees: st.SearchStrategy[Tree] = st.recursive(
    st.builds(Tree, words), lambda inner: st.builds(Tree, words, st.lists(inner, max_size=3).map(tuple)), max_leaves=8
)


def read(lines: list[str]) -> Tree:
    """A tree of its lines: those below a branch are indented by three."""
    text, *below = lines
    starts = [number for number, line in enumerate(below) if line.startswith(("├─ ", "└─ "))]
    parts = [below[start:end] for start, end in pairwise([*starts, len(below)])]
    for number, (first, *others) in enumerate(parts):
        is_last = number == len(parts) - 1
        assert first.startswith("└─ " if is_last else "├─ ")
        assert all(line.startswith("   " if is_last else "│  ") for line in others)
    return Tree(text, tuple(read([line[3:] for line in part]) for part in parts))


@given(tree=trees)
def test_a_tree_is_read_again_from_its_text(tree: Tree) -> None:
    assert read(str(tree).splitlines()) == tree


def test_a_branch_that_is_there_twice_is_the_last_once() -> None:
    branch = Tree("x", (Tree("y"),))
    assert str(Tree("top", (branch, branch))) == "top\n├─ x\n│  └─ y\n└─ x\n   └─ y"
