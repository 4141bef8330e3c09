"""Runs a query in this process, without Spark: the same PACK, FOLD and MERGE over Arrow tables, with their cost."""

from joinfold.inprocess.bounded import InProcessRun, run_in_process
from joinfold.inprocess.driver import InProcess, Measures

__all__ = ["InProcess", "InProcessRun", "Measures", "run_in_process"]
