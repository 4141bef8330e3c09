"""The profile `safe`: state with Spark's own guards is stopped, continued and answered as without them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import joinfold as jf
from joinfold.runtime.sessions.settings import SAFE
from tests.crashes.history import check_history
from tests.crashes.victim import keep_attempts
from tests.crashes.workload import Running, micro_batches, write_files

pytestmark = pytest.mark.spark

STOPS = (3, 5)


@pytest.fixture
def restored(spark: Any) -> Iterator[Any]:
    """The session, whose settings are as before afterwards."""
    before = {name: spark.conf.get(name) for name in SAFE}
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def go_on(spark: Any, folder: Path, kind: str, safe: bool) -> None:
    """Runs the query over the files that it has not read yet."""
    query = Running(jf.Session(spark, safe=safe), folder, kind).query()
    query.start(
        lambda table, batch: keep_attempts(folder / "out", table, batch),
        checkpoint=f"{folder}/checkpoint",
        trigger="available",
        partitions=2,
    ).wait()


@pytest.mark.parametrize("kind", ["fold", "chain"])
def test_a_safe_query_continues_right(restored: Any, tmp_path: Path, kind: str) -> None:
    batches = micro_batches(kind, 3)[: STOPS[-1]]
    for stop in STOPS:
        write_files(tmp_path, batches[:stop])
        go_on(restored, tmp_path, kind, safe=True)
    check_history(kind, "function", tmp_path, batches)
    state = {path.name.partition(".")[2] for path in (tmp_path / "checkpoint/state/0/0").glob("[0-9]*")}
    assert state == {"changelog", "changelog.crc", "zip", "zip.crc"}


@pytest.mark.parametrize("safe_first", [False, True], ids=["safe later", "safe at first"])
def test_a_checkpoint_of_the_other_profile_goes_on_right(restored: Any, tmp_path: Path, safe_first: bool) -> None:
    unsafe = {name: restored.conf.get(name) for name in SAFE}
    batches = micro_batches("fold", 3)[: STOPS[-1]]
    for stop, safe in zip(STOPS, (safe_first, not safe_first), strict=True):
        for name, value in unsafe.items():
            restored.conf.set(name, value)
        write_files(tmp_path, batches[:stop])
        go_on(restored, tmp_path, "fold", safe)
    check_history("fold", "function", tmp_path, batches)


def test_a_session_of_ones_own_gets_the_settings(restored: Any) -> None:
    assert jf.Session(restored, safe=True).spark is restored
    assert {name: restored.conf.get(name) for name in SAFE} == SAFE
