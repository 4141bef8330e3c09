"""Puts faults into the engine and reports which the tests find: ``scripts/mutants --seed 7 --number 100 --folder DIR``.

Each mutant is a copy of the sources with one fault. The fast tests run first, then a few tests on Spark. Results are
lines of a file in the folder, so a run that was stopped goes on where it was. Mutants that change nothing that anyone
could see are listed in `equivalent.txt`, with the reason.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

from tests.mutants.mutate import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("operators", "runtime", "shedding")
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
RESULTS = "mutants.jsonl"
FAST = ("-m", "not spark and not slow")
ON_SPARK = ("tests/runtime/test_streaming.py", "tests/runtime/test_checkpoint.py", "tests/runtime/test_failures.py")
LONG = 600.0
"""A mutant that makes the tests run longer than this many seconds is found, too: it never ends."""


def chosen(seed: int, number: int) -> list[Mutant]:
    """So many mutants at random, without those that are equivalent."""
    files = sorted(path for room in ROOMS for path in (ROOT / "src/joinfold" / room).rglob("*.py"))
    every = [mutant for path in files for mutant in mutants_of(path)]
    listed = equivalents()
    shuffled = Random(seed).sample(every, min(len(every), 2 * number))
    return [mutant for mutant in shuffled if mutant.name not in listed][:number]


def equivalents() -> set[str]:
    """The names of the mutants that change nothing; each stands before its reason."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []
    return {line.split(":")[0] for line in lines if line and not line.startswith("#")}


def found_by(mutant: Mutant, folder: Path) -> str | None:
    """The tests that find a mutant; None if none does."""
    copy = folder / "mutated"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / mutant.path.relative_to(ROOT)).write_text(mutant.applied())
    for name, arguments in (("fast", FAST), ("spark", ON_SPARK)):
        if not _passes(copy, folder, arguments):
            return name
    return None


def _passes(copy: Path, folder: Path, arguments: tuple[str, ...]) -> bool:
    paths = os.pathsep.join(map(str, (copy / "src", ROOT / "bench", ROOT)))
    environment = os.environ | {
        "PYTHONPATH": paths,
        "HYPOTHESIS_PROFILE": "fast",
        "NUMBA_CACHE_DIR": str(folder / "kernels"),  # no mutant is in a kernel, so all can share them
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "2", *arguments]
    try:
        ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=LONG, check=False)
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0


def main() -> None:
    """Tries every chosen mutant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="chooses the mutants")
    parser.add_argument("--number", type=int, default=100, help="how many")
    parser.add_argument("--folder", type=Path, required=True, help="where results are kept")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = options.folder / RESULTS
    known = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    found = {own["name"]: own["found"] for own in known}
    for mutant in chosen(options.seed, options.number):
        if mutant.name in found:
            continue
        found[mutant.name] = found_by(mutant, options.folder)
        line = f"{mutant.path.relative_to(ROOT)}:{mutant.line} {mutant.what}"
        with results.open("a") as file:
            file.write(json.dumps({"name": mutant.name, "place": line, "found": found[mutant.name]}) + "\n")
        sys.stdout.write(f"{found[mutant.name] or 'SURVIVES':8}  {line}" + "\n")
        sys.stdout.flush()
    sys.stdout.write(
        ", ".join(f"{number} {what or 'survive'}" for what, number in Counter(found.values()).items()) + "\n"
    )


if __name__ == "__main__":
    main()
