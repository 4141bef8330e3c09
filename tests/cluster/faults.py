"""Faults of a real cluster while a query runs: ``scripts/cluster-faults --seed 7 --folder DIR``.

A worker is killed with -9 and started again, another one loses the files that it has shuffled, and another one is
stopped again and again for a moment. Faults take turns, one after each micro-batch. At the end the history of the query
is checked: its answers are those of the definition, and every attempt at a micro-batch has given the same.
"""

import argparse
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random

from tests.cluster.standalone import ROOT, Standalone, environment, standalone
from tests.crashes.history import check_history
from tests.crashes.workload import FILES, KINDS, micro_batches, write_files

WORKERS = 3
PATIENCE = 600.0  # a machine with few cores starts eight JVMs
FAULTS = ("worker killed", "shuffle files lost", "worker started", "worker slowed")


def inject(cluster: Standalone, fault: str, draw: Random) -> bool:
    """Injects a fault. Returns whether it could be."""
    living = [number for number, process in enumerate(cluster.workers) if process is not None]
    dead = [number for number in range(len(cluster.workers)) if number not in living]
    match fault:
        case "worker killed" if len(living) > 1:
            cluster.kill_worker(draw.choice(living))
        case "worker started" if dead:
            cluster.start_worker(dead[0])
        case "shuffle files lost":
            return sum(map(cluster.lose_shuffle_files, living[:1])) > 0
        case "worker slowed":
            cluster.slow_down(draw.choice(living), pulses=3, seconds=0.3)
        case _:
            return False
    return True


def run_with_faults(cluster: Standalone, folder: Path, kind: str, seed: int, files: int) -> Counter[str]:
    """Runs a query, injects faults, checks its history, and returns how many faults and answers there were."""
    batches, draw, counts = micro_batches(kind, seed)[:files], Random(f"{kind} {seed}"), Counter[str]()
    write_files(folder, batches)
    log = folder / "driver.txt"
    with log.open("wb") as file:
        command = [sys.executable, "-m", "tests.cluster.driver", cluster.url, str(folder), kind]
        driver = subprocess.Popen(command, stdout=file, stderr=file, env=environment(), cwd=ROOT)
    try:
        for number in range(files - 1):
            until = time.monotonic() + PATIENCE
            while len(list(folder.glob("checkpoint/commits/[0-9]*"))) <= number and driver.poll() is None:
                assert time.monotonic() < until, f"no commits any more:\n{_end_of(log)}"
                time.sleep(0.05)
            time.sleep(0.5 * draw.random())  # anywhere in the next micro-batch
            if driver.poll() is None:
                fault = FAULTS[number % len(FAULTS)]
                counts[fault] += inject(cluster, fault, draw)
        assert driver.wait(PATIENCE) == 0, f"the query failed:\n{_end_of(log)}"
    finally:
        driver.kill()
        driver.wait()
    counts["answers"] = check_history(kind, "function", folder, batches)
    return counts


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]


def run_kinds(folder: Path, kinds: Iterable[str], seed: int, files: int) -> Counter[str]:
    """Runs a query of each kind on one cluster, one after another."""
    counts = Counter[str]()
    with standalone(folder / "cluster", WORKERS) as cluster:
        for kind in kinds:
            own = folder / kind.replace(" ", "-")
            shutil.rmtree(own, ignore_errors=True)
            own.mkdir(parents=True)
            counts += run_with_faults(cluster, own, kind, seed, files)
            counts["queries"] += 1
            for number, process in enumerate(cluster.workers):
                if process is None:
                    cluster.start_worker(number)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), help="kinds of queries; all of them if left out")
    parser.add_argument("--files", type=int, default=FILES, help="micro-batches of each query")
    parser.add_argument("--seed", type=int, default=0, help="chooses rows, moments and victims")
    parser.add_argument("--folder", type=Path, required=True, help="where checkpoints and logs are kept")
    options = parser.parse_args()
    counts = run_kinds(options.folder, options.kinds, options.seed, options.files)
    sys.stdout.write(", ".join(f"{number} {what}" for what, number in counts.items()) + "\n")


if __name__ == "__main__":
    main()
