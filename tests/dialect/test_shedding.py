"""Every spelling of SHED, and what it means."""

from itertools import permutations

import pytest

from joinfold.dialect import ParsedShed, parse
from joinfold.logical.shedding import UNSTATED, AllTo, Budget, HoldBytes, HoldRows, KeepUp, Process


def shed_of(text: str) -> ParsedShed:
    shed = parse(f"SELECT x FROM s [1 SECOND] {text}").shed
    assert shed is not None
    return shed


@pytest.mark.parametrize(
    ("text", "budgets"),
    [
        ("SHED", UNSTATED),
        ("shed to keep up", (KeepUp(),)),
        ("SHED TO KEEP UP WITHIN 5 SECONDS", (KeepUp(5_000_000),)),
        ("SHED TO KEEP UP WITHIN 1 MINUTE 30 SECOND", (KeepUp(90_000_000),)),
        ("SHED TO PROCESS 50000 ROWS PER SECOND", (Process(50_000),)),
        ("SHED TO PROCESS 1 ROW PER SECOND", (Process(1),)),
        ("SHED TO HOLD 1000 ROWS", (HoldRows(1000),)),
        ("SHED TO HOLD 1 ROW", (HoldRows(1),)),
        ("SHED TO HOLD 1 BYTE", (HoldBytes(1),)),
        ("SHED TO HOLD 5 BYTES", (HoldBytes(5),)),
        ("SHED TO HOLD 5 KILOBYTE", (HoldBytes(5_000),)),
        ("SHED TO HOLD 5 KILOBYTES", (HoldBytes(5_000),)),
        ("SHED TO HOLD 1 MEGABYTE", (HoldBytes(1_000_000),)),
        ("SHED TO HOLD 64 MEGABYTES", (HoldBytes(64_000_000),)),
        ("SHED TO HOLD 2 GIGABYTE", (HoldBytes(2_000_000_000),)),
        ("SHED TO HOLD 2 GIGABYTES", (HoldBytes(2_000_000_000),)),
        ("SHED TO KEEP UP AND HOLD 5 ROWS", (KeepUp(), HoldRows(5))),
        ("SHED TO KEEP UP WITHIN 5 SECONDS AND TO HOLD 5 ROWS", (KeepUp(5_000_000), HoldRows(5))),
        ("SHED TO HOLD 5 BYTES AND PROCESS 5 ROWS PER SECOND AND TO KEEP UP", (HoldBytes(5), Process(5), KeepUp())),
    ],
)
@pytest.mark.parametrize("tail", ["", " SEED 7", " EMIT ON SLIDE", " OPTION (x = 1)", ";"])
def test_budgets(text: str, budgets: tuple[Budget, ...], tail: str) -> None:
    shed = shed_of(text + tail)
    assert shed.budgets == budgets
    assert shed.seed == (7 if "SEED" in tail else None)


@pytest.mark.parametrize(
    ("text", "part", "value"),
    [
        ("SAMPLE BY KEY", "sampler", "key"),
        ("SAMPLE BY ROW", "sampler", "row"),
        ("CONFIDENCE 95 PERCENT", "confidence", 95.0),
        ("CONFIDENCE 99.5 PERCENT", "confidence", 99.5),
        ("CONFIDENCE 50 PERCENT", "confidence", 50.0),
        ("CONFIDENCE 99.99 PERCENT", "confidence", 99.99),
        ("SEED 0", "seed", 0),
        ("SEED 9223372036854775807", "seed", 2**63 - 1),
        ("SEED 00000000000000000000000000000000007", "seed", 7),
        ("FAVOUR MOST PAIRS", "favour", "most pairs"),
        ("FAVOR RATES", "favour", "rates"),
        ("FAVOUR INVERSE RATES", "favour", "inverse rates"),
        ("FAVOUR WINDOWS", "favour", "windows"),
        ("favour equal", "favour", "equal"),
        ("FAVOUR ALL TO b", "favour", AllTo("b")),
        ("FAVOUR ALL TO `to at`", "favour", AllTo("to at")),
        ("FAVOUR ALL TO seed", "favour", AllTo("seed")),
        ("AT LEAST 10 ROWS OF EACH", "least_rows", 10),
        ("AT LEAST 1 ROW OF EACH", "least_rows", 1),
        ("AT LEAST 10 ROWS PER SECOND OF EACH", "least_rows_per_second", 10),
    ],
)
@pytest.mark.parametrize(
    "head", ["SHED ", "SHED TO KEEP UP ", "SHED TO KEEP UP WITHIN 5 SECONDS ", "SHED TO HOLD 5 ROWS "]
)
def test_parts(text: str, part: str, value: object, head: str) -> None:
    """A part is what it says, the others are not written, and its place is known."""
    shed = shed_of(head + text)
    parts = ("sampler", "confidence", "favour", "least_rows", "least_rows_per_second", "seed")
    assert {name: getattr(shed, name) for name in parts} == dict.fromkeys(parts) | {part: value}
    assert dict(shed.spans)[part].words == text


PARTS = ("SEED 3", "FAVOUR ALL TO a", "AT LEAST 5 ROWS OF EACH", "AT LEAST 6 ROWS PER SECOND OF EACH")


def test_parts_may_come_in_any_order() -> None:
    for order in permutations(PARTS):
        shed = shed_of(f"SHED TO KEEP UP {' '.join(order)} EMIT ON SLIDE")
        assert (shed.seed, shed.favour, shed.least_rows, shed.least_rows_per_second) == (3, AllTo("a"), 5, 6)
        assert {name: span.words for name, span in shed.spans} == {
            "KEEP UP": "KEEP UP",
            "seed": PARTS[0],
            "favour": PARTS[1],
            "least_rows": PARTS[2],
            "least_rows_per_second": PARTS[3],
        }


def test_shed_may_stand_anywhere_after_having() -> None:
    for order in permutations(("EMIT ON SLIDE", "CHANGES", "SYNC ON TIME", "SHED SEED 3", "OPTION (x = 1)")):
        parsed = parse(f"SELECT COUNT(*) FROM s [1 SECOND] {' '.join(order)}")
        assert parsed.shed is not None and parsed.shed.seed == 3
        span = parsed.span("shed")
        assert span is not None and span.words == "SHED SEED 3"
