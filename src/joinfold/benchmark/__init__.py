"""joinfold side by side with other engines: the same files, the same run, the same answers.

``run_suite`` is what the command ``joinfold bench`` runs; ``write_report`` leaves its results as JSON and a chart.
"""

from joinfold.benchmark.report import as_json, prepare_output, tables, write_report
from joinfold.benchmark.results import Results
from joinfold.benchmark.suite import Settings, run_suite

__all__ = ["Results", "Settings", "as_json", "prepare_output", "run_suite", "tables", "write_report"]
