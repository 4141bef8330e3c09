"""Rooms: few files with one idea each, none of them long, and a test that a reader finds by the module's name."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENGINE, BENCH = ROOT / "src" / "joinfold", ROOT / "bench" / "joinfold_bench"
TESTED = (
    *("calibration", "explain", "inprocess", "kernels", "operators", "physical", "planner", "runtime", "statistics"),
)
TYPES_ONLY = {
    "physical/measured.py": "planner/test_stream_statistics.py",
    "physical/source.py": "physical/test_stage.py",
    "planner/context.py": "planner/passes/test_choose.py",
}
"""Modules that only declare types, and the test that makes and reads them."""
MOST_FILES, MOST_LINES = 20, 400


def modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("folder", [ENGINE, BENCH], ids=lambda folder: folder.name)
def test_a_room_has_few_files(folder: Path) -> None:
    rooms = [room for room in (folder, *folder.rglob("*")) if room.is_dir()]
    counts = {str(room.relative_to(ROOT)): len(list(room.glob("*.py"))) for room in rooms}
    assert {room: count for room, count in counts.items() if count > MOST_FILES} == {}


def test_no_file_is_long() -> None:
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in (ENGINE, BENCH)
        for path in modules(folder)
    }
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_every_module_of_the_engine_has_a_test_of_its_name() -> None:
    missing = []
    for room in TESTED:
        for path in modules(ENGINE / room):
            inside = path.relative_to(ENGINE)
            own = inside.parent / f"test_{path.stem}.py"
            test = ROOT / "tests" / TYPES_ONLY.get(inside.as_posix(), own)
            missing += [] if test.exists() else [str(test.relative_to(ROOT))]
    assert missing == []


def test_only_modules_that_are_there_have_no_test_of_their_name() -> None:
    assert [inside for inside in TYPES_ONLY if not (ENGINE / inside).exists()] == []
