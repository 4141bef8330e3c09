"""The live table at one moment."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from joinfold.explain.tables import Table
from joinfold.runtime.showing.live_table import LiveTable
from tests.runtime.test_progress import PROGRESS, SCRIPT
from tests.test_notebook import Reader

ANSWERS = Table("The last 20 answers", ("instant", "k"), (("2025-01-01 00:00:10", SCRIPT),), words=2)


def test_before_the_first_micro_batch_it_says_what_happens() -> None:
    assert str(LiveTable(None, None, "running")).startswith("running. The first micro-batch starts Python workers")
    assert str(LiveTable(None, None, "ended")) == "ended"


def test_it_has_the_status_the_streams_and_the_answers() -> None:
    now = datetime.now(UTC)
    text = str(LiveTable(replace(PROGRESS, silent_since=now), ANSWERS, "running"))
    assert text.splitlines()[:2] == ["running · micro-batch 4 in 2.0 s · watermark not yet · latency 13 min", "Streams"]
    assert "The last 20 answers" in text and "no answer for" not in text


def test_it_says_why_a_query_is_silent() -> None:
    long_ago = datetime.now(UTC) - timedelta(seconds=75)
    silent = replace(PROGRESS, silent_since=long_ago, waiting_for="'b' has had no rows yet")
    assert "no answer for 75 s: 'b' has had no rows yet" in str(LiveTable(silent, None, "running"))
    assert "no answer for" not in str(LiveTable(silent, None, "ended"))


def test_a_notebook_gets_it_escaped() -> None:
    bundle = LiveTable(PROGRESS, ANSWERS, "running")._repr_mimebundle_()
    read = Reader(bundle["text/html"])
    assert SCRIPT in read.text and "script" not in read.elements
    assert "the state has grown" in read.text
    assert SCRIPT in bundle["text/plain"]
