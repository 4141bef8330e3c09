"""The curves of a soak: whether each is flat, and a picture.

A curve is flat if its median in the last quarter is at most ``RATIO`` times that in the second quarter, plus some
slack. The first quarter is left out: Java and the caches fill up.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from joinfold_bench.reporting.lines import Line, Panel, lines_svg

SAMPLES, PICTURE = "samples.jsonl", "soak.svg"
RATIO = 1.25
MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Curve:
    """What is sampled, in which unit, and by how much it may grow beyond `RATIO`."""

    name: str
    unit: str
    scale: float
    slack: float


CURVES = {
    "jvm_bytes": Curve("memory of Java", "MB", MEGABYTE, 100),
    "driver_bytes": Curve("memory of the driver", "MB", MEGABYTE, 50),
    "worker_bytes": Curve("memory of the Python workers", "MB", MEGABYTE, 50),
    "checkpoint_bytes": Curve("checkpoint without the sources' logs", "MB", MEGABYTE, 1),
    "checkpoint_files": Curve("files of the checkpoint without the sources' logs", "files", 1, 50),
    "shared_bytes": Curve("shared memory", "MB", MEGABYTE, 1),
    "shared_files": Curve("files in shared memory", "files", 1, 4),
    "state_bytes": Curve("state", "MB", MEGABYTE, 1),
    "batch_seconds": Curve("micro-batch", "s", 1, 0.5),
}


@dataclass(frozen=True, slots=True)
class Flatness:
    """A curve with its medians of the second and the last quarter; None if there are too few samples."""

    curve: Curve
    second: float | None
    last: float | None

    @property
    def bound(self) -> float:
        """The largest median of the last quarter that counts as flat."""
        return RATIO * (self.second or 0.0) + self.curve.slack

    @property
    def is_flat(self) -> bool:
        """Whether it does not grow."""
        return self.second is None or self.last is None or self.last <= self.bound

    def __str__(self) -> str:
        if self.second is None or self.last is None:
            return f"{self.curve.name}: too few samples"
        verdict = "flat" if self.is_flat else "GROWS"
        unit = self.curve.unit
        return (
            f"{self.curve.name}: {verdict}, {self.second:,.2f} {unit} in the second quarter, {self.last:,.2f} {unit} "
            f"in the last; at most {self.bound:,.2f} {unit} is flat"
        )


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines. A last line that was cut off is left out."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def points_of(samples: list[dict[str, Any]], name: str) -> list[tuple[float, float]]:
    """The minutes and values of a curve, in its unit."""
    scale = CURVES[name].scale
    return [(own["minute"], own[name] / scale) for own in samples if own.get(name) is not None]


def flatness(name: str, points: list[tuple[float, float]]) -> Flatness:
    """Compares the second with the last quarter of the time."""
    if len(points) < 8:
        return Flatness(CURVES[name], None, None)
    first, last = points[0][0], points[-1][0]
    quarter = (last - first) / 4
    second = [value for minute, value in points if first + quarter <= minute < first + 2 * quarter]
    fourth = [value for minute, value in points if minute >= last - quarter]
    if not second or not fourth:
        return Flatness(CURVES[name], None, None)
    return Flatness(CURVES[name], median(second), median(fourth))


def report(folder: Path) -> list[Flatness]:
    """Whether each curve is flat; also draws them all."""
    samples = read_lines(folder / SAMPLES)
    curves = {name: points_of(samples, name) for name in CURVES}
    panels = [
        Panel(f"{CURVES[name].name} ({CURVES[name].unit})", (Line(CURVES[name].name, tuple(points)),), y_range=(0, 1))
        for name, points in curves.items()
        if points
    ]
    (folder / PICTURE).write_text(lines_svg("soak", "minutes", panels), encoding="utf-8")
    return [flatness(name, points) for name, points in curves.items()]
