"""`Handle.answers`, `show` and `plot` of a real query, with each kind of sink."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import joinfold as jf
from joinfold.runtime.showing import tail
from tests.runtime import resumable

pytestmark = pytest.mark.spark


def test_the_last_answers_of_a_query_are_shown_and_drawn(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "files").mkdir()
    resumable.write_files(tmp_path / "files")
    query = resumable.query_over(jf.Session(spark), tmp_path / "files")
    whole: list[pa.Table] = []
    handle = query.start(lambda table, batch: whole.append(table), checkpoint=tmp_path / "1", trigger="available")
    handle.show()
    out = capsys.readouterr().out
    assert out.startswith("ended · micro-batch ") and "The last 20 answers" in out and "rows/s" in out
    order = [(field.name, "ascending") for field in query.logical.leading]
    answers = pa.concat_tables(whole).sort_by(order)
    assert handle.answers().column(0).to_pylist() == answers.column(0).to_pylist()
    assert sorted(map(str, handle.answers().to_pylist())) == sorted(map(str, answers.to_pylist()))
    number = next(field.name for field in answers.schema if pa.types.is_integer(field.type))
    assert handle.plot(number)._repr_mimebundle_()["image/png"]
    assert "<joinfold.Handle ended" in repr(handle) and "ended" in handle._repr_html_()

    monkeypatch.setattr(tail, "TAIL_ROWS", 7)
    handle = query.start("latest", checkpoint=tmp_path / "2", trigger="available")
    assert handle.wait(300)
    assert handle.answers(7).column(0).to_pylist() == answers.column(0).to_pylist()[-7:]
    assert handle.plot(number, seconds=None).title == f"{number} over {order[0][0]}"

    handle = query.start("memory", checkpoint=tmp_path / "3", trigger="available", name="kept_by_spark")
    assert handle.wait(300)
    with pytest.raises(jf.UsageError, match="go to a sink of Spark"):
        handle.answers()
    handle.show()
    assert "The last 20 answers" not in capsys.readouterr().out
