"""What a notebook shows of every object: whole, escaped, without scripts; and errors without their tracebacks."""

from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from IPython.core.interactiveshell import InteractiveShell

import joinfold as jf
from joinfold import notebook
from tests.runtime.test_progress import PROGRESS

SCRIPT = "<script>alert('1')</script>"
VOID = ("meta", "br")


class Reader(HTMLParser):
    """Checks that elements are closed in order, and collects elements and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += "" if "style" in self.open else data


@pytest.fixture
def session() -> jf.Session:
    session = jf.Session()
    session.stream("a", f"k INT, ts TIMESTAMP, `{SCRIPT}` STRING", delay="5 seconds")
    session.table("t", "k INT, name STRING")
    return session


def sql(session: jf.Session) -> jf.Query:
    return session.sql(f"SELECT COUNT(*) AS n, '{SCRIPT.replace(chr(39), '')}' AS s FROM a [1 MINUTE SLIDE 2 MINUTE]")


SHOWN: dict[str, tuple[Callable[[jf.Session], object], list[str]]] = {
    "a session": (lambda session: session, ["a", "stream", SCRIPT, "5 SECOND", "t", "relation"]),
    "a session without streams": (lambda session: jf.Session(), ["There are none yet"]),
    "a query": (sql, ["SELECT", "<script>", "slides by 2 MINUTE", "n", "BIGINT"]),
    "a builder": (lambda session: session["a"].tumble("1 minute").agg(n=jf.count()), ["SELECT", "COUNT(*)"]),
    "half a builder": (lambda session: session["a"], ["not yet a query", "QueryError: "]),
    "lines": (lambda session: sql(session).explain("logical"), ["Answer: ", "└─ ", "<script>"]),
    "nothing forced": (lambda session: jf.Plan(), ["Nothing is forced"]),
    "a forced plan": (
        lambda session: jf.Plan("tc", early=("a", SCRIPT), index={"a": "hash"}, rate={SCRIPT: 5}),
        ["method", "tc", f"a, {SCRIPT}", "a hash", f"{SCRIPT} 5"],
    ),
    "a planned query": (lambda session: sql(session).plan, ["query.explain()"]),
    "progress": (
        lambda session: PROGRESS,
        ["4, in 2.0 s", "latency", "13 min", SCRIPT, "1,500", "the state has grown"],
    ),
}


@pytest.mark.parametrize("what", SHOWN)
def test_it_is_shown_as_html_and_escaped(session: jf.Session, what: str) -> None:
    make, texts = SHOWN[what]
    shown = make(session)._repr_html_()  # type: ignore[attr-defined]
    read = Reader(shown)
    assert [text for text in texts if text not in read.text] == []
    assert set(read.elements) <= {"div", "style", "table", "tr", "th", "td", "p", "h2", "h4", "pre"}


def test_colours_are_those_of_the_page() -> None:
    style = notebook.fragment()
    assert "color: inherit" in style and "#fff" not in style and "#000" not in style


def test_lines_are_a_text_that_a_prompt_shows_as_lines(session: jf.Session) -> None:
    text = sql(session).explain("logical")
    assert isinstance(text, str) and repr(text) == str(text) and "\n" in repr(text)


@pytest.fixture(scope="module")
def shell() -> InteractiveShell:
    shell = InteractiveShell.instance()
    shell.colors = "nocolor"
    shell.run_cell("import joinfold as jf; session = jf.Session(); session.stream('a', 'k INT, ts TIMESTAMP')")
    return shell


def test_an_error_in_a_notebook_is_its_message_caret_and_hint(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("session.sql('SELECT COUNT(kk) AS n FROM a [TUMBLE 1 MINUTE]')")
    assert capsys.readouterr().out.splitlines() == [
        "QueryError: unknown column 'kk'",
        "  SELECT COUNT(kk) AS n FROM a [TUMBLE 1 MINUTE]",
        "               ^^",
        "Hint: the query has: k, ts.",
        "The traceback: import sys; print(sys.last_value.trace())",
    ]
    shell.run_cell("import sys; print(sys.last_value.trace())")
    assert "Traceback (most recent call last)" in capsys.readouterr().out


def test_an_error_does_not_write_to_the_terminal(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("session.stream('\\x1b[31m', 5)\n")
    shell.run_cell("raise jf.RunError('\\x1b[31mred\\nnext', 'go on.')")
    out = capsys.readouterr().out
    assert "\\x1b[31mred\nnext\nHint: go on.\n" in out and "\x1b" not in out


def test_the_cause_is_in_the_trace() -> None:
    error = jf.RunError("the sink failed")
    error.__cause__ = ValueError("of Spark")
    assert "ValueError: of Spark" in error.trace() and "RunError: the sink failed" in error.trace()
    assert "of Spark" not in "".join(error._render_traceback_())
