"""A room has few files, no file is long, and the test of a module has the module's name."""

from pathlib import Path

import pytest

from tests.conftest import SLOW

ROOT = Path(__file__).parent.parent
ENGINE, BENCH = ROOT / "src" / "joinfold", ROOT / "bench" / "joinfold_bench"
TESTED = "calibration explain inprocess kernels operators physical planner runtime shedding statistics".split()
TYPES_ONLY = {
    "operators/calendars/calendar.py": "operators/calendars/test_open_calendars.py",
    "operators/emitted.py": "operators/merging/test_merge.py",
    "physical/measured.py": "planner/test_stream_statistics.py",
    "physical/source.py": "physical/test_stage.py",
    "planner/context.py": "planner/known.py",
}
"""Modules that only declare types, each with a test that uses it."""
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


def test_every_module_of_the_engine_has_a_test_with_its_name() -> None:
    missing = []
    for room in TESTED:
        for path in modules(ENGINE / room):
            inside = path.relative_to(ENGINE)
            if inside.as_posix() in TYPES_ONLY:
                continue
            test = ROOT / "tests" / inside.parent / f"test_{path.stem}.py"
            missing += [] if test.exists() else [str(test.relative_to(ROOT))]
    assert missing == []


@pytest.mark.parametrize(("module", "test"), TYPES_ONLY.items())
def test_a_module_of_types_is_used_by_a_test(module: str, test: str) -> None:
    own = ENGINE / module
    assert own.exists() and not (ROOT / "tests" / module).with_name(f"test_{own.name}").exists()
    assert module.removesuffix(".py").replace("/", ".") in (ROOT / "tests" / test).read_text(encoding="utf-8")


def test_every_slow_test_file_exists() -> None:
    files = [path.as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    assert [name for name in SLOW if not any(path.endswith(name) for path in files)] == []
