"""The documents are true: their examples run, their links lead to something, their tables are complete.

In README.md and docs/**/*.md, every ```python block is executed, all blocks of a file in one namespace. If a ```text
block follows directly, it must be exactly what the block prints. A ```console block is a dialogue with the command
``joinfold``: below each command, which begins with ``$ ``, is what it prints. Blocks and commands that run a query need
Spark and are left out of the fast tests. Of such commands only standard output is compared, because progress lines
depend on the speed of the machine.
"""

import contextlib
import io
import re
import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from joinfold import cli
from joinfold.algebra import AGGREGATES, ALIASES
from joinfold.logical.functions import FUNCTIONS, SYNONYMS, TRUNCATION_UNITS
from joinfold.workloads import PRESETS, WORKLOADS
from joinfold_bench import SUITES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
RUNNABLE = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a document: its language, its text, and the number of its first line."""

    language: str
    text: str
    line: int


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


def blocks_of(document: Path, language: str) -> list[tuple[Block, Block | None]]:
    """The blocks of one language, each with the block that follows it."""
    text = document.read_text(encoding="utf-8")
    found = [Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1) for match in _FENCE.finditer(text)]
    return [(block, after) for block, after in pairwise([*found, None]) if block and block.language == language]


def with_blocks_in(documents: list[Path], language: str) -> list[Path]:
    return [document for document in documents if blocks_of(document, language)]


def prose_of(document: Path) -> str:
    """The text without code."""
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", document.read_text(encoding="utf-8")))


def without_escapes(document: Path) -> str:
    """The text, with the vertical bars in cells of tables unescaped."""
    return document.read_text(encoding="utf-8").replace("\\|", "|")


def needs_spark(text: str) -> bool:
    """Whether a block of Python, or a command, runs a query."""
    return bool(re.search(r"\.collect\(|\.start\(|\.spark\.|handle\.|^joinfold (run|demo)\b", text, flags=re.MULTILINE))


def needing_spark(language: str) -> list[Path]:
    return [
        document
        for document in with_blocks_in(RUNNABLE, language)
        if any(needs_spark(block.text.replace("$ ", "")) for block, _ in blocks_of(document, language))
    ]


@pytest.mark.parametrize("document", with_blocks_in(RUNNABLE, "python"), ids=name_of)
def test_python_blocks_run_and_print_what_is_shown(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    run_python(document, with_spark=False)


@pytest.mark.spark
@pytest.mark.parametrize("document", needing_spark("python"), ids=name_of)
def test_python_blocks_run_on_spark(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: object):
    monkeypatch.chdir(tmp_path)
    run_python(document, with_spark=True)


def run_python(document: Path, with_spark: bool) -> None:
    namespace: dict[str, object] = {"__name__": "document"}
    for block, after in blocks_of(document, "python"):
        if needs_spark(block.text) and not with_spark:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (block.line - 1) + block.text, str(document), "exec"), namespace)
        shown = after.text if after is not None and after.language == "text" else ""
        assert printed.getvalue() == shown, f"{name_of(document)}:{block.line}"


@pytest.mark.parametrize("document", with_blocks_in(RUNNABLE, "console"), ids=name_of)
def test_commands_print_what_is_shown(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    run_commands(document, monkeypatch, with_spark=False)


@pytest.mark.spark
@pytest.mark.parametrize("document", needing_spark("console"), ids=name_of)
def test_commands_run_on_spark(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: object):
    monkeypatch.chdir(tmp_path)
    run_commands(document, monkeypatch, with_spark=True)


def run_commands(document: Path, monkeypatch: pytest.MonkeyPatch, with_spark: bool) -> None:
    for block, _ in blocks_of(document, "console"):
        for command, shown in dialogue(block.text):
            if needs_spark(command) and not with_spark:
                continue
            assert printed_by(command, monkeypatch) == shown, f"{name_of(document)}:{block.line}: {command}"


def dialogue(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the text below it."""
    assert text.startswith("$ "), text
    exchanges = []
    for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = piece.splitlines(keepends=True)
        length = next(n for n in range(1, len(lines) + 1) if is_complete("".join(lines[:n])))
        exchanges.append(("".join(lines[:length]).replace("\\\n", " "), "".join(lines[length:])))
    return exchanges


def is_complete(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:  # an open quote
        return False
    return not command.endswith("\\\n")


def printed_by(command: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The output and the errors of ``joinfold``, run in this process; only the output if it runs a query."""
    program, *arguments = shlex.split(command)
    assert program == "joinfold", command
    monkeypatch.setattr(sys, "argv", [program, *arguments])
    printed = io.StringIO()
    errors = io.StringIO() if needs_spark(command) else printed
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors), contextlib.suppress(SystemExit):
        cli.main()
    return printed.getvalue()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_relative_links_lead_to_a_file_and_a_heading(document: Path):
    for target in _LINK.findall(prose_of(document)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (document.parent / path).resolve() if path else document
        assert linked.exists(), f"{name_of(document)} links to {target}"
        assert not anchor or anchor in anchors_of(linked), f"{name_of(document)} links to {target}"


def anchors_of(document: Path) -> set[str]:
    """The anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", document.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_function_is_described():
    text = without_escapes(DOCS / "reference" / "functions.md")
    missing = [name for name, function in FUNCTIONS.items() if f"`{function.usage}`" not in text]
    missing += [name for name in (*SYNONYMS, *TRUNCATION_UNITS) if f"`{name.upper()}`" not in text]
    assert missing == [], "add a row for each to docs/reference/functions.md"


def test_every_aggregate_is_described():
    text = without_escapes(DOCS / "reference" / "functions.md")
    missing = [name for name in AGGREGATES if f"`{name.upper()}(" not in text]
    missing += [name for name in ALIASES if f"`{name.upper()}`" not in text]
    assert missing == [], "add a row for each to docs/reference/functions.md"


def test_every_workload_and_its_parameters_are_described():
    text = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    for workload in WORKLOADS.values():
        assert f"### {workload.name}\n" in text
        section = text.split(f"### {workload.name}\n")[1].split("\n#")[0]
        assert [name for name in workload.parameter_names if f"`{name}`" not in section] == []
    assert [name for name in PRESETS if f"`{name}`" not in text] == []


def test_every_suite_is_described():
    text = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    section = text.split("\n## bench\n")[1].split("\n## ")[0]
    assert re.findall(r"^### (.+)$", section, flags=re.MULTILINE) == list(SUITES)


def test_a_word_has_one_meaning():
    words = re.findall(r"^\*\*(.+?)\*\*", (DOCS / "glossary.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(words) > 30
    assert [word for word, count in Counter(words).items() if count > 1] == []
    assert words == sorted(words, key=str.casefold)


def test_every_document_is_reachable_from_the_index():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    linked = {(DOCS / target.partition("#")[0]).resolve() for target in _LINK.findall(index)}
    assert [name_of(document) for document in sorted(DOCS.rglob("*.md")) if document not in linked] == [
        "docs/README.md"
    ]
