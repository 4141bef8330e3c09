"""``joinfold calibrate``: what operations cost on this machine."""

import json
from typing import Annotated

import typer

from joinfold.cli.printing import ProgressBar, print_line
from joinfold.session import Session


def calibrate(
    as_json: Annotated[bool, typer.Option("--json", help="Print the prices as JSON.")] = False,
) -> None:
    """Measure what operations cost on this machine, so that plans are chosen for it. Takes about two minutes."""
    from joinfold import calibration  # imports Spark

    with ProgressBar("calibrating", len(list(calibration.trials()))) as advance:
        found = calibration.calibrate(Session().spark, advance)
    path = found.weights.save()
    if as_json:
        print_line(
            json.dumps({"file": str(path), "error": found.error, "seconds": dict(found.weights.seconds)}, indent=1)
        )
        return
    print_line(f"{path}: prices of {len(found.weights.seconds)} operations, from {len(found.bills)} runs")
    print_line(f"half of the estimates are within {found.error:.0%} of the measured times")
