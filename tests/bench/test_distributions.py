"""joinfold and its benchmarks are two distributions with the same version. The benchmarks depend on joinfold."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


def described(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path / "pyproject.toml").read_text(encoding="utf-8"))


ENGINE, BENCH = described("."), described("bench")


def test_both_have_the_same_version_and_require_it_of_each_other() -> None:
    version = ENGINE["project"]["version"]
    assert BENCH["project"]["version"] == version
    assert ENGINE["project"]["optional-dependencies"]["bench"] == [f"joinfold-bench=={version}"]
    assert f"joinfold=={version}" in BENCH["project"]["dependencies"]


def test_each_wheel_contains_only_its_own_package() -> None:
    wheels = [of["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] for of in (ENGINE, BENCH)]
    assert wheels == [["src/joinfold"], ["joinfold_bench"]]


def test_both_require_the_same_duckdb() -> None:
    (needed,) = (name for name in BENCH["project"]["dependencies"] if name.startswith("duckdb"))
    assert needed in ENGINE["project"]["optional-dependencies"]["dev"]


def test_setup_installs_the_folder_bench_and_not_the_project_of_that_name() -> None:
    """PyPI has a project called `bench`. Without `./`, some commands of pip would install that one."""
    words = (ROOT / "scripts" / "setup").read_text(encoding="utf-8").split()
    assert "./bench" in words and "bench" not in words
