"""Damages every file of a checkpoint in turn, and goes on from it: ``scripts/damage-grid --seed 7 --folder DIR``.

A file is deleted, cut off at every eighth of its length, has one bit flipped, or is replaced by the version before it.
Then the query either goes on and all its answers are right, or it is refused with an error of joinfold's own that names
the file. It is never wrong. Results are lines of a file in the folder, so a grid that was stopped goes on where it was.

The checkpoint is damaged where it was made, since Spark keeps whole paths in it. Local files have checksums of Hadoop
beside them (``.7.crc`` for ``7``). With ``--bare`` these are removed first: object stores have none.
"""

import argparse
import json
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from random import Random

import joinfold as jf
from joinfold.runtime.failures import NOT_NAMED
from tests.crashes.history import check_history
from tests.crashes.victim import keep_attempts
from tests.crashes.workload import Data, Running, micro_batches, write_files

KIND, BEFORE, AFTER = "fold", 5, 6
EIGHTHS = 8
RESULTS = "damage.jsonl"
SETTINGS = {  # so that few micro-batches make snapshots and compacted logs
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "200ms",
    "spark.sql.streaming.fileSource.log.compactInterval": "3",
    "spark.sql.streaming.minBatchesToRetain": "3",
}
RETRIES = 2
SNAPSHOT_SECONDS = 1.0
"""How long Spark has for the last snapshot."""

Damage = Callable[[Path, Random], bool]


def _delete(path: Path, draw: Random) -> bool:
    path.unlink()
    return True


def _cut_at(eighth: int) -> Damage:
    def cut(path: Path, draw: Random) -> bool:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) * eighth // EIGHTHS])
        return bool(content)

    return cut


def _flip(path: Path, draw: Random) -> bool:
    content = bytearray(path.read_bytes())
    if content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(content)
    return bool(content)


def _replace_by_earlier(path: Path, draw: Random) -> bool:
    """Replaces ``…/7.delta`` by ``…/6.delta``, if there is such a file."""
    found = re.search(r"\d+", path.name)
    if found is None:
        return False
    earlier = path.with_name(f"{path.name[: found.start()]}{int(found[0]) - 1}{path.name[found.end() :]}")
    if not earlier.is_file():
        return False
    shutil.copyfile(earlier, path)
    return True


DAMAGES: dict[str, Damage] = {
    "deleted": _delete,
    **{f"cut at {eighth}/8": _cut_at(eighth) for eighth in range(EIGHTHS)},
    "bit flipped": _flip,
    "version before": _replace_by_earlier,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a checkpoint after a damage: ``what`` is one of `WHATS`, ``told`` the error if there was one."""

    file: str
    damage: str
    what: str
    told: str = ""


WHATS = {
    "no damage": "the file is as before, such as one without a version before it",
    "went on": "all answers are right",
    "refused": "the error names the file",
    "explained": "the error says why it cannot name the file",
    "unnamed": "the error does not name the file",
    "wrong": "an answer is wrong",
    "raised": "the error is not one of joinfold's own",
}
RIGHT = ("no damage", "went on", "refused", "explained")


@dataclass(frozen=True, slots=True)
class Grid:
    """A checkpoint that is whole, and the rows with which the query goes on.

    ``is_bare``: without Hadoop's checksums.
    """

    session: jf.Session
    folder: Path
    seed: int
    is_bare: bool = False

    @property
    def run(self) -> Path:
        """The folder of the run: its streams, its checkpoint and its answers."""
        return self.folder / "run"

    @property
    def whole(self) -> Path:
        """A copy of the run as it was when it stopped in between."""
        return self.folder / "whole"

    @property
    def batches(self) -> list[Data]:
        """All micro-batches; the last ones come after the damage."""
        return micro_batches(KIND, self.seed)[:AFTER]

    def prepare(self) -> None:
        """Runs the query over the first files. A copy of an earlier call is kept."""
        for name, value in SETTINGS.items():
            self.session.spark.conf.set(name, value)
        if self.whole.exists():
            return
        shutil.rmtree(self.run, ignore_errors=True)
        write_files(self.run, self.batches[:BEFORE])
        self.go_on()
        time.sleep(SNAPSHOT_SECONDS)
        write_files(self.run, self.batches)
        if self.is_bare:
            for path in self.run.rglob(".*.crc"):
                path.unlink()
        shutil.copytree(self.run, self.whole)

    def go_on(self) -> None:
        """Runs the query over the files that it has not read yet."""
        query = Running(jf.Session(self.session.spark), self.run, KIND).query()
        handle = query.start(
            lambda table, batch: keep_attempts(self.run / "out", table, batch),
            checkpoint=f"{self.run}/checkpoint",
            trigger="available",
            partitions=2,
        )
        handle.wait()

    def cases(self) -> list[tuple[str, str]]:
        """Every file of the checkpoint with every damage, in a random order; checksums come last.

        A flipped bit in the log of a file source is left out where there are no checksums: Spark then takes a file for
        one that it has not read, and nothing tells that apart from a new file. The page on reliability says so.
        """
        files = sorted(path for path in (self.whole / "checkpoint").rglob("*") if path.is_file())
        cases = [
            (name, damage)
            for name in (str(path.relative_to(self.whole)) for path in files)
            for damage in DAMAGES
            if not (self.is_bare and damage == "bit flipped" and name.startswith("checkpoint/sources/"))
        ]
        return sorted(Random(self.seed).sample(cases, len(cases)), key=lambda case: case[0].endswith(".crc"))

    def tried(self, name: str, damage: str) -> Outcome:
        """Damages a file of the checkpoint, and goes on from it."""
        self.session.spark._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
        shutil.rmtree(self.run)
        shutil.copytree(self.whole, self.run)
        path = self.run / name
        before = path.read_bytes()
        is_damaged = DAMAGES[damage](path, Random(f"{self.seed} {name}"))
        if not is_damaged or (path.exists() and path.read_bytes() == before):
            return Outcome(name, damage, "no damage")
        try:
            self.go_on()
            check_history(KIND, "function", self.run, self.batches)
        except jf.JoinfoldError as error:
            told = str(error)
            what = "refused" if is_named(name, told) else "explained" if NOT_NAMED in told else "unnamed"
            return Outcome(name, damage, what, told)
        except AssertionError as error:
            return Outcome(name, damage, "wrong", str(error))
        except Exception as error:  # noqa: BLE001 - the grid reports it
            return Outcome(name, damage, "raised", f"{type(error).__name__}: {error}")
        return Outcome(name, damage, "went on")


def is_busy(outcome: Outcome) -> bool:
    """Whether the machine was too busy to start a worker, which tells nothing about the damage."""
    return "did not start in time" in outcome.told


def is_named(name: str, text: str) -> bool:
    """Whether a text names a file of the checkpoint, the file of which it is the checksum, or the folder without it."""
    inside = Path(name).relative_to("checkpoint")
    names = (inside.name, _checked_by(inside.name))
    return f"'{inside.parent}'" in text or any(str(inside.with_name(own)) in text for own in names)


def _checked_by(name: str) -> str:
    return name.removeprefix(".").removesuffix(".crc") if name.endswith(".crc") else name


def run_grid(grid: Grid, most: int | None = None) -> list[Outcome]:
    """Tries every damage, or so many of them, and returns what became of each. Those of earlier calls are included."""
    results = grid.folder / RESULTS
    grid.folder.mkdir(parents=True, exist_ok=True)
    grid.prepare()
    outcomes = [Outcome(**json.loads(line)) for line in results.read_text().splitlines()] if results.exists() else []
    done = {(own.file, own.damage) for own in outcomes}
    for name, damage in [case for case in grid.cases() if case not in done][:most]:
        outcome = next(own for number in count() if not is_busy(own := grid.tried(name, damage)) or number == RETRIES)
        outcomes.append(outcome)
        with results.open("a") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
    return outcomes


def main() -> int:
    """Runs the whole grid in one JVM. The exit status is 1 if an answer is wrong or an error does not name its file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="chooses rows, bits and the order")
    parser.add_argument("--most", type=int, help="tries so many, instead of all")
    parser.add_argument("--bare", action="store_true", help="without Hadoop's checksums, as on an object store")
    parser.add_argument("--safe", action="store_true", help="with Spark's own guards of state")
    parser.add_argument("--folder", type=Path, required=True, help="where checkpoint and results are kept")
    options = parser.parse_args()
    session = jf.Session(safe=options.safe)
    outcomes = run_grid(Grid(session, options.folder.resolve(), options.seed, options.bare), options.most)
    counts = Counter(own.what for own in outcomes)
    for what, number in counts.items():
        sys.stdout.write(f"{number:5} {what}: {WHATS[what]}\n")
    failed = [own for own in outcomes if own.what not in RIGHT]
    for own in failed:
        sys.stdout.write(f"{own.what}: {own.file}, {own.damage}: {own.told}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
