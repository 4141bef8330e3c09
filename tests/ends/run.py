"""Runs queries at their far ends, each in a process of its own: ``scripts/ends``, ``scripts/ends --case 'many keys'``.

Prints for each case the time and the peak memory of its processes, Java and workers included.
"""

import argparse
import os
import subprocess
import sys
import time
from threading import Event, Thread

from tests.crashes.matrix import processes_of
from tests.ends.cases import ENDS, RUNNERS
from tests.soak.soak import resident_bytes

SAMPLE_SECONDS = 0.1


class Peak(Thread):
    """Watches the memory of this process and of those that it has started."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes = 0
        self.ended = Event()

    def run(self) -> None:
        """Samples until it is told to end."""
        while not self.ended.wait(SAMPLE_SECONDS):
            processes = {number for own in processes_of(os.getpid()).values() for number in own}
            self.bytes = max(self.bytes, sum(map(resident_bytes, processes)))


def run_case(name: str, where: str, scale: int) -> str:
    """Runs a case, and returns a line about it."""
    peak, began = Peak(), time.perf_counter()
    peak.start()
    try:
        checked = ENDS[name].run(RUNNERS[where], scale)
    finally:
        peak.ended.set()
    seconds = time.perf_counter() - began
    return f"{name}, {where}: right ({checked}), {seconds:.1f} s, peak {peak.bytes / 2**20:,.0f} MB"


def main() -> int:
    """Runs one case in this process, or all in turn. The exit status is 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=ENDS, help="only this one")
    parser.add_argument("--where", choices=RUNNERS, help="only there")
    parser.add_argument("--scale", type=int, default=1, help="divides the size of the cases")
    options = parser.parse_args()
    if options.case is not None and options.where is not None:
        sys.stdout.write(f"{run_case(options.case, options.where, options.scale)}\n")
        return 0
    failed = 0
    for name, end in ENDS.items():
        for where in RUNNERS:
            if options.case not in (None, name) or options.where not in (None, where):
                continue
            if where == "in process" or end.on_spark:
                command = [sys.executable, "-m", "tests.ends.run", "--case", name, "--where", where]
                ended = subprocess.run([*command, "--scale", str(options.scale)], check=False, stderr=subprocess.PIPE)
                if ended.returncode:
                    failed += 1
                    told = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
                    sys.stdout.write(f"{name}, {where}: FAILED with status {ended.returncode}: {told}\n")
                sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
