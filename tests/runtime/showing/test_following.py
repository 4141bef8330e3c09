"""Drawing while a query runs: in a notebook, in a terminal, in neither; and that Ctrl-C ends it and nothing else."""

import io
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from rich.console import Console

from joinfold.runtime.showing import following
from joinfold.runtime.showing.following import follow, notebook_display


@dataclass(frozen=True)
class Number:
    number: int

    def __str__(self) -> str:
        return f"drawing {self.number}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/plain": str(self)}


class Counter:
    """Draws numbers; a query that is active for so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.drawn = 0

    def is_active(self) -> bool:
        self.looks -= 1
        return self.looks >= 0

    def draw(self) -> Number:
        self.drawn += 1
        return Number(self.drawn)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "REDRAW_SECONDS", 0.001)
    monkeypatch.setattr(following, "notebook_display", lambda: None)


def test_where_nothing_can_be_drawn_in_place_the_last_drawing_is_printed() -> None:
    written, counter = io.StringIO(), Counter(3)
    assert follow(counter.is_active, counter.draw, None, Console(file=written)) == Number(4)
    assert written.getvalue() == "drawing 4\n"


def test_a_terminal_ends_with_the_last_drawing() -> None:
    written, counter = io.StringIO(), Counter(3)
    follow(counter.is_active, counter.draw, None, Console(file=written, force_terminal=True, width=80))
    assert "drawing 4" in written.getvalue()


def test_a_notebook_updates_one_display(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Display:
        def update(self, drawn: Number) -> None:
            shown.append(f"update {drawn}")

    def display(drawn: Number, display_id: bool) -> Display:
        shown.append(f"new {drawn}")
        return Display()

    monkeypatch.setattr(following, "notebook_display", lambda: display)
    counter = Counter(2)
    follow(counter.is_active, counter.draw, None)
    assert shown == ["new drawing 1", "update drawing 2", "update drawing 3"]


def test_it_ends_after_some_seconds() -> None:
    counter = Counter(10**9)
    follow(counter.is_active, counter.draw, 0.05, Console(file=io.StringIO()))
    assert counter.drawn > 1


def test_ctrl_c_ends_the_drawing_and_does_not_reach_spark() -> None:
    cancelled: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: cancelled.append(number))
    try:
        counter = Counter(10**9)
        timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        follow(counter.is_active, counter.draw, None, Console(file=io.StringIO()))
        timer.join()
        assert cancelled == []
        os.kill(os.getpid(), signal.SIGINT)  # Spark's handler is back
        assert cancelled == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_may_draw() -> None:
    counter, drawn = Counter(2), []
    thread = threading.Thread(
        target=lambda: drawn.append(follow(counter.is_active, counter.draw, None, Console(file=io.StringIO())))
    )
    thread.start()
    thread.join()
    assert drawn == [Number(3)]


@pytest.mark.parametrize(("shell", "is_notebook"), [(None, False), (object(), False)])
def test_a_prompt_is_no_notebook(monkeypatch: pytest.MonkeyPatch, shell: object, is_notebook: bool) -> None:
    import IPython

    monkeypatch.undo()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    found: Callable[..., Any] | None = notebook_display()
    assert (found is not None) == is_notebook


def test_a_kernel_is_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    import IPython

    class Shell:
        kernel = object()

    monkeypatch.undo()
    monkeypatch.setattr(IPython, "get_ipython", Shell)
    assert notebook_display() is IPython.display.display
