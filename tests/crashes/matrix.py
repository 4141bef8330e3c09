"""Kills a query again and again, and checks its history: ``scripts/crash-matrix --kills 300 --seed 7 --folder DIR``.

A run is one query over thirty micro-batches, which is killed every few commits until it has read everything. What is
killed is the driver, the JVM or a worker, at a random moment after at least three commits. Runs take turns in kind and
sink. Results are lines of a file in the folder, so a matrix that was stopped goes on where it was.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from tests.crashes.history import check_history
from tests.crashes.victim import FAILED
from tests.crashes.workload import KINDS, micro_batches, write_files

SINKS = ("parquet", "function")
TARGETS = ("driver", "jvm", "worker")
COMMITS = 3
PATIENCE = 240.0
DEAD = (-signal.SIGKILL, FAILED)
RESULTS = "results.jsonl"


@dataclass(frozen=True, slots=True)
class Run:
    """One query, its sink and its folder."""

    number: int
    seed: int
    folder: Path

    @property
    def kind(self) -> str:
        """The kind of the query."""
        return list(KINDS)[self.number % len(KINDS)]

    @property
    def sink(self) -> str:
        """Where its answers go."""
        return SINKS[self.number // len(KINDS) % len(SINKS)]

    @property
    def commits(self) -> int:
        """The micro-batches that have been committed."""
        return len(list(self.folder.glob("checkpoint/commits/[0-9]*")))

    def start(self) -> subprocess.Popen[bytes]:
        """Starts the query, or starts it again."""
        command = [sys.executable, "-m", "tests.crashes.victim", str(self.folder), self.kind, self.sink]
        with (self.folder / "log.txt").open("ab") as log:
            return subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log)


def killed_to_the_end(run: Run, most: int) -> list[str]:
    """Kills a run until it has read everything, or so many times; returns what was killed."""
    draw = Random(f"{run.seed} {run.number}")
    shutil.rmtree(run.folder, ignore_errors=True)
    run.folder.mkdir(parents=True)
    write_files(run.folder, micro_batches(run.kind, run.seed + run.number))
    killed: list[str] = []
    while len(killed) < most:
        process, target = run.start(), draw.choice(TARGETS)
        wanted, until = run.commits + COMMITS + draw.randrange(2), time.monotonic() + PATIENCE
        while run.commits < wanted and process.poll() is None:
            assert time.monotonic() < until, "no commits any more"
            time.sleep(0.02)
        time.sleep(draw.random() * 1.5)  # anywhere between two commits
        victims = processes_of(process.pid)
        if process.poll() is not None or not victims[target]:
            _ended(process, run)
            return killed
        with suppress(ProcessLookupError):  # a worker may have ended by itself
            os.kill(draw.choice(victims[target]), signal.SIGKILL)
        killed.append(target)
        if target == "worker":
            time.sleep(draw.random())  # Spark may start another one
        _bury(process, target, victims)
    process = run.start()
    process.wait(PATIENCE)
    _ended(process, run)
    return killed


def processes_of(driver: int) -> dict[str, list[int]]:
    """The processes of a query, by what they are. Spark's Python daemon counts as a worker: it forks the others."""
    found: dict[str, list[int]] = {"driver": [driver], "jvm": [], "worker": []}
    for number, command in descendants(driver).items():
        if b"org.apache.spark.deploy.SparkSubmit" in command:
            found["jvm"].append(number)
        elif b"pyspark.daemon" in command:
            found["worker"].append(number)
    return found


def descendants(root: int) -> dict[int, bytes]:
    """The command lines of all processes that a process has started, directly or not."""
    parents, commands = dict[int, int](), dict[int, bytes]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                commands[int(entry.name)] = (entry / "cmdline").read_bytes()
            except OSError:  # it has ended
                continue
    found, added = {root}, True
    while added:
        more = {number for number, parent in parents.items() if parent in found} - found
        found, added = found | more, bool(more)
    return {number: commands.get(number, b"") for number in found - {root}}


def _bury(process: subprocess.Popen[bytes], target: str, victims: dict[str, list[int]]) -> None:
    """Waits until the query is dead, and kills what is left of it."""
    try:
        status = process.wait(60.0 if target == "jvm" else 0.5)
        assert status in DEAD or target == "worker", f"ended with status {status} after its {target} was killed"
    except subprocess.TimeoutExpired:
        assert target == "worker", f"still runs a minute after its {target} was killed"
    for number in (number for own in victims.values() for number in own):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    process.wait()


def _ended(process: subprocess.Popen[bytes], run: Run) -> None:
    status = process.wait(PATIENCE)
    log = (run.folder / "log.txt").read_text(errors="replace")[-2000:]
    assert status == 0, f"the query failed by itself, with status {status}:\n{log}"


def run_matrix(kills: int, seed: int, folder: Path, most: int = 8) -> Counter[str]:
    """Runs until so many kills have been survived, those of earlier calls included; returns how many of each kind."""
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / RESULTS
    done = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    counts: Counter[str] = Counter()
    for result in done:
        counts += _counted(result)
    for number in count(max((result["run"] for result in done), default=-1) + 1):
        if counts["kills"] >= kills:
            return counts
        run = Run(number, seed, folder / f"run-{number}")
        killed = killed_to_the_end(run, min(most, kills - counts["kills"]))
        answers = check_history(run.kind, run.sink, run.folder, micro_batches(run.kind, seed + number))
        result = {"run": number, "kind": run.kind, "sink": run.sink, "killed": killed, "answers": answers}
        with results.open("a") as file:
            file.write(json.dumps(result) + "\n")
        counts += _counted(result)
        shutil.rmtree(run.folder)
    raise AssertionError


def _counted(result: dict[str, Any]) -> Counter[str]:
    return Counter({"kills": len(result["killed"]), "runs": 1, "answers": result["answers"]}) + Counter(
        result["killed"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300, help="how many kills to survive, with those of earlier runs")
    parser.add_argument("--seed", type=int, default=0, help="chooses rows, moments and victims")
    parser.add_argument("--folder", type=Path, required=True, help="where runs and results are kept")
    options = parser.parse_args()
    counts = run_matrix(options.kills, options.seed, options.folder)
    sys.stdout.write(", ".join(f"{number} {what}" for what, number in counts.items()) + "; all right\n")


if __name__ == "__main__":
    main()
