"""Runs a query for hours and checks it: ``scripts/soak --hours 2 --folder DIR``.

Files of two streams are written by the clock, with bursts, silence, late floods and rows of the future (`feed`). The
query is killed or stopped every few minutes and started again. Memory, files, state and the time of micro-batches are
sampled into ``samples.jsonl``. At the end, or after Ctrl-C, the query reads what is left, all answers are checked
(`check`), and the curves are judged and drawn (`report`).
"""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.crashes.matrix import processes_of
from tests.soak.check import Checked, check, note_batches
from tests.soak.feed import Feed
from tests.soak.report import SAMPLES, Flatness, read_lines, report
from tests.soak.victim import CHECKPOINT, PROGRESS, STOP

ENDS = ("stop", "driver", "jvm", "worker")
"""How a run ends: cleanly, or because one of its processes was killed."""
PATIENCE = 600.0
PAGE = os.sysconf("SC_PAGE_SIZE")
SHARED = Path(f"/dev/shm/joinfold-{os.getuid()}")


@dataclass
class Soak:
    """A soak in a new folder. A run of the query ends about ``restart_seconds`` after its first commit."""

    folder: Path
    seconds: float
    seed: int = 0
    rate: int = 300
    period: int = 60
    restart_seconds: float = 300.0
    sample_seconds: float = 5.0
    process: subprocess.Popen[bytes] | None = None
    ended: Counter[str] = field(default_factory=Counter)
    noted: set[int] = field(default_factory=set)

    def run(self) -> None:
        """Feeds, samples and restarts, until the time is over or Ctrl-C. Time counts from the first commit on."""
        self.folder.mkdir(parents=True)
        feed, draw = Feed(self.folder, self.seed, self.rate, self.period), Random(self.seed)
        second, sampled, began, ends = int(time.time()), 0.0, math.inf, math.inf
        with suppress(KeyboardInterrupt):
            while time.time() < began + self.seconds:
                while second < int(time.time()):
                    feed.write(second)
                    second += 1
                if self.process is None or self.process.poll() is not None:
                    self.process, before, ends = self._start(), self._last_commit(), math.inf
                note_batches(self.folder, self.noted)
                if ends == math.inf and self._last_commit() > before:
                    ends = time.time() + self.restart_seconds * (0.8 + 0.4 * draw.random())
                    began = min(began, time.time())
                if time.time() >= max(began, sampled + self.sample_seconds):
                    sampled = time.time()
                    self._sample((sampled - began) / 60)
                if time.time() >= ends:
                    self._end(ENDS[sum(self.ended.values()) % len(ENDS)], draw)
                time.sleep(0.2)
        self._finish()

    def _last_commit(self) -> int:
        commits = (self.folder / CHECKPOINT / "commits").glob("[0-9]*")
        return max((int(path.name) for path in commits), default=-1)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        (self.folder / STOP).unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.soak.victim", str(self.folder), *arguments]
        with (self.folder / "log.txt").open("ab") as log:
            return subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log)

    def _end(self, how: str, draw: Random) -> None:
        """Ends the run, and with it all processes that belong to it."""
        assert self.process is not None
        processes = processes_of(self.process.pid)
        if how == "stop":
            (self.folder / STOP).touch()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(60.0)
        elif processes[how]:
            with suppress(ProcessLookupError):
                os.kill(draw.choice(processes[how]), signal.SIGKILL)
            time.sleep(1.0)  # the others may notice
        for number in (number for own in processes.values() for number in own):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait()
        self.ended[how] += 1

    def _sample(self, minute: float) -> None:
        """Adds a sample: what the processes, the checkpoint and shared memory take now."""
        assert self.process is not None
        processes = processes_of(self.process.pid)
        progress = read_lines(self.folder / PROGRESS)[-1:]
        checkpoint = [path for path in _files(self.folder / CHECKPOINT) if "sources" not in path.parts]
        shared = _files(SHARED)
        is_fresh = bool(progress) and progress[0]["time"] > time.time() - 2 * self.sample_seconds
        sample: dict[str, Any] = {
            "minute": minute,
            **{f"{name}_bytes": sum(map(resident_bytes, own)) or None for name, own in processes.items()},
            "checkpoint_bytes": sum(map(_size, checkpoint)),
            "checkpoint_files": len(checkpoint),
            "source_log_bytes": sum(map(_size, _files(self.folder / CHECKPOINT / "sources"))),
            "shared_bytes": sum(map(_size, shared)),
            "shared_files": len(shared),
            "state_bytes": progress[0]["state_bytes"] if is_fresh else None,
            "batch_seconds": progress[0]["seconds"] if is_fresh else None,
        }
        with (self.folder / SAMPLES).open("a") as file:
            file.write(json.dumps(sample) + "\n")

    def _finish(self) -> None:
        """Stops the query, and runs it over what is left."""
        if self.process is not None and self.process.poll() is None:
            self._end("stop", Random(0))
        status = self._start("available").wait(PATIENCE)
        note_batches(self.folder, self.noted)
        log = (self.folder / "log.txt").read_text(errors="replace")[-2000:]
        assert status == 0, f"the query failed by itself, with status {status}:\n{log}"


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []


def _size(path: Path) -> int:
    with suppress(OSError):  # it was removed in between
        return path.stat().st_size
    return 0


def resident_bytes(process: int) -> int:
    """The bytes of memory that a process has, its share of pages that it shares with others included in full."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    return 0


def told(soak: Soak, checked: Checked, curves: list[Flatness]) -> list[str]:
    """The lines of the report."""
    ends = ", ".join(f"{number} × {how}" for how, number in soak.ended.items())
    return [
        f"ended and started again: {ends or 'never'}",
        f"right: {checked.answers:,} answers of {checked.micro_batches:,} micro-batches ({checked.attempts:,} "
        f"attempts) over {checked.rows:,} rows, {checked.late_rows:,} of them late and {checked.ahead_rows:,} ahead",
        *map(str, curves),
    ]


def main() -> int:
    """Soaks, checks and reports. The exit status is 1 if a curve grows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=2.0, help="how long; Ctrl-C ends it earlier")
    parser.add_argument("--rate", type=int, default=300, help="rows per second of each stream")
    parser.add_argument("--restart", type=float, default=300.0, help="seconds between two restarts, about")
    parser.add_argument("--seed", type=int, default=0, help="chooses rows and victims")
    parser.add_argument("--folder", type=Path, required=True, help="a new folder for streams, checkpoint and samples")
    options = parser.parse_args()
    soak = Soak(options.folder.resolve(), options.hours * 3600, options.seed, options.rate)
    soak.restart_seconds = options.restart
    soak.run()
    curves = report(soak.folder)
    for line in told(soak, check(soak.folder), curves):
        sys.stdout.write(f"{line}\n")
    return 0 if all(own.is_flat for own in curves) else 1


if __name__ == "__main__":
    sys.exit(main())
