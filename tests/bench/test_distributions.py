"""Two distributions of one version: joinfold without its benchmarks, and the benchmarks, which need it."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


def described(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path / "pyproject.toml").read_text(encoding="utf-8"))


ENGINE, BENCH = described("."), described("bench")


def test_they_have_one_version_and_ask_for_it() -> None:
    version = ENGINE["project"]["version"]
    assert BENCH["project"]["version"] == version
    assert ENGINE["project"]["optional-dependencies"]["bench"] == [f"joinfold-bench=={version}"]
    assert f"joinfold=={version}" in BENCH["project"]["dependencies"]


def test_each_wheel_has_its_own_package() -> None:
    wheels = [of["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] for of in (ENGINE, BENCH)]
    assert wheels == [["src/joinfold"], ["joinfold_bench"]]


def test_both_take_the_same_duckdb() -> None:
    (needed,) = (name for name in BENCH["project"]["dependencies"] if name.startswith("duckdb"))
    assert needed in ENGINE["project"]["optional-dependencies"]["dev"]


def test_setup_installs_the_folder_and_no_namesake() -> None:
    """There is a project called `bench` on PyPI: without `./` some commands of pip mean that one."""
    words = (ROOT / "scripts" / "setup").read_text(encoding="utf-8").split()
    assert "./bench" in words and "bench" not in words
