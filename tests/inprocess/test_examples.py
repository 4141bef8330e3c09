"""The example query with SHED, over generated packets: exact within its budget, and near the exact answer beyond it."""

from pathlib import Path

import pyarrow as pa
import pytest

from joinfold import Session
from joinfold.workloads import batches

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "queries" / "packets_within_memory.sql"


@pytest.fixture(scope="module")
def session() -> Session:
    blocks = list(batches("packets", rows=120_000, rows_per_second=1_000, hosts=300, zipf=0.5))
    session = Session()
    for name in ("backbone", "branch"):
        session.stream(name, pa.concat_tables([block[name] for block in blocks]), time="ts")
    return session


def answers(session: Session, text: str) -> list[dict[str, object]]:
    return session.sql(text).run_in_process(rows_per_step=10_000).answers.to_pylist()


def test_the_example_sheds_beyond_its_budget(session: Session) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    exact = answers(session, text.partition("SHED")[0])
    found = answers(session, text)
    kept = [row["kept"] for row in found]
    assert kept[0] == 1 and min(kept) < 0.6
    covered = []
    for truth, row in zip(exact, found, strict=True):
        if row["kept"] == 1:
            assert row["pairs_low"] == row["pairs"] == row["pairs_high"] == truth["pairs"]
            assert row["traffic_low"] == row["traffic"] == row["traffic_high"] == truth["traffic"]
        elif row["pairs"]:
            covered.append(row["pairs_low"] <= truth["pairs"] <= row["pairs_high"])
    assert len(covered) > 15 and sum(covered) >= 0.8 * len(covered)


def test_the_example_is_exact_if_its_budget_is_large_enough(session: Session) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    found = answers(session, text.replace("50000", "1000000"))
    assert {row["kept"] for row in found} == {1.0}
    assert [row["pairs"] for row in found] == [row["pairs"] for row in answers(session, text.partition("SHED")[0])]
