"""The steps that every suite of streaming engines takes: write data once, run engines in turn, report progress."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from joinfold.timetext import duration_text
from joinfold_bench.data import AuctionData, Dataset
from joinfold_bench.engines.measurements import Measurement, Run
from joinfold_bench.environment import Say

UNCAPPED_SECONDS = 3600.0


class RunOnce(Protocol):
    """Runs the engine of a measurement over a folder, and adds the run and its answers to the measurement."""

    def __call__(self, folder: Path, measurement: Measurement, *, cap_seconds: float, keep_answers: bool) -> Run:
        """Returns the run."""


@contextmanager
def bench_folder() -> Iterator[Path]:
    """A temporary folder for the files of a suite, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="joinfold-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one suite, which keeps its data in ``folder``."""

    folder: Path
    run_once: RunOnce
    say: Say

    def run_in_turn(
        self,
        measurements: Sequence[Measurement],
        repeats: int,
        cap_seconds: float = UNCAPPED_SECONDS,
        keep_answers: bool = True,
    ) -> None:
        """Runs every engine once, then every engine again, and so on, so that other load affects all of them."""
        for repeat in range(repeats):
            for measurement in measurements:
                folder = self.written(measurement.dataset)
                run = self.run_once(folder, measurement, cap_seconds=cap_seconds, keep_answers=keep_answers)
                self.tell(measurement, run, f"run {repeat + 1} of {repeats}")

    def written(self, data: Dataset | AuctionData) -> Path:
        """The folder of a dataset. Writes it on the first call."""
        path = self.folder / f"{abs(hash(data)):x}"
        if not path.exists():
            self.say(f"writing {data}")
            data.write(path)
        return path

    def tell(self, measurement: Measurement, run: Run, which: str) -> None:
        """Prints a progress line about a run."""
        start = f", start-up {run.startup_seconds:.1f} s" if run.startup_seconds is not None else ""
        capped = f", stopped after {run.seconds:.0f} s" if run.capped else ""
        data = measurement.dataset
        what = f"{measurement.engine}, {data.name}, slide {duration_text(measurement.slide_us).lower()}"
        self.say(f"{what}, {which}: {run.rate.rows_per_second:,.0f} rows/s{start}{capped}")
