"""Importing any module of joinfold or its benchmarks does not change the disk."""

import json
import os
import subprocess
import sys
from pathlib import Path

import joinfold
import joinfold_bench

IMPORTING = """
import importlib, json, os, pkgutil, sys

found = []
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}

def noted(event, arguments):
    written = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES
    if (written or event in CHANGES) and str(arguments[0]) != os.devnull:
        found.append(f"{event} {arguments[0]}")

sys.addaudithook(noted)
import joinfold, joinfold_bench
names = [
    module.name
    for package in (joinfold, joinfold_bench)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]
for name in names:
    importlib.import_module(name)
print(json.dumps([names, found]))
"""


def test_importing_every_module_creates_and_deletes_nothing(tmp_path: Path) -> None:
    """Python's audit hook records files that are opened for writing, created, moved or removed."""
    places = {name: tmp_path / name for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR")}
    for place in places.values():
        place.mkdir()
    done = subprocess.run(
        [sys.executable, "-B", "-c", IMPORTING],
        env={
            **{name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"},
            **{name: str(place) for name, place in places.items()},
            "PYTHONPATH": os.pathsep.join(
                str(Path(path).parent) for path in (*joinfold.__path__, *joinfold_bench.__path__)
            ),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names, changed = json.loads(done.stdout)
    assert {"joinfold.runtime.streaming", "joinfold.kernels.products", "joinfold_bench.engines.measure"} <= {*names}
    assert changed == []
    assert sorted(path for path in tmp_path.rglob("*") if path not in places.values()) == []
