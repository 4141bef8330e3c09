"""Every word in the name of a module or class is ordinary or in the glossary. No name contains a retired word."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = (ROOT / "src" / "joinfold", ROOT / "bench" / "joinfold_bench")
PLAIN = Path(__file__).parent / "plain_words.txt"
GLOSSARY = ROOT / "docs" / "glossary.md"
RETIRED = {
    "glimpse": "sample statistics",
    "noted": "emitted",
    "pulse": "header",
    "standing": "current rows",
    "wear": "drift",
    "worn": "drift",
    "worth": "pair values",
}


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted(package.rglob("*.py"))]


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case: BucketState, bucket_state → bucket, state."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def names_in(tree: ast.Module) -> Iterator[str]:
    """Every name that a module defines: classes, functions, arguments, attributes and variables."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def in_plural(words: set[str]) -> set[str]:
    """The words, and their plurals."""
    plural = {
        word[:-1] + "ies" if word.endswith("y") else word + ("es" if word.endswith("x") else "s") for word in words
    }
    return words | plural


def explained_words() -> set[str]:
    titles = re.findall(r"^\*\*(.+?)\*\*", GLOSSARY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return in_plural({word for title in titles for word in words_of(title)})


def plain_words() -> list[str]:
    return PLAIN.read_text(encoding="utf-8").split()


def named_words() -> dict[str, str]:
    """Each word in the names of modules and classes, with one name that contains it."""
    found: dict[str, str] = {}
    for path in modules():
        names = [path.stem] if path.stem != "__init__" else [path.parent.name]
        names += [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
        for name in names:
            for word in words_of(name):
                found.setdefault(word, f"{name} in {path.relative_to(ROOT)}")
    return found


def test_a_word_is_ordinary_or_in_the_glossary():
    known = explained_words() | in_plural(set(plain_words()))
    unexplained = {word: where for word, where in named_words().items() if word not in known}
    assert unexplained == {}, (
        "explain each word in docs/glossary.md, or use an ordinary word; a word that any engineer knows from Python, "
        "SQL, Spark or mathematics may be added to tests/plain_words.txt"
    )


def test_every_plain_word_is_used_and_not_in_the_glossary():
    plain = plain_words()
    assert plain == sorted(set(plain))
    used = named_words().keys()
    assert [word for word in plain if not in_plural({word}) & used] == []
    assert [word for word in plain if word in explained_words()] == []


def test_no_name_contains_a_retired_word():
    found = [
        f"{name} in {path.relative_to(ROOT)}: say {RETIRED[word]}"
        for path in modules()
        for name in names_in(ast.parse(path.read_text()))
        for word in words_of(name)
        if word in RETIRED
    ]
    assert found == []
