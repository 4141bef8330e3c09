"""joinfold side by side with other engines: the same files, the same run, the same answers.

``run_suite`` is what the command ``joinfold bench`` runs; ``write_report`` leaves its results as JSON and a chart.
``run_methods`` is what it runs with ``--methods``: joinfold's own plans and structures, in process.
``run_joins`` is what it runs with ``--joins``: joins of three streams, as a chain of folds and in one fold.
``run_planner`` is what it runs with ``--planner``: whether what is chosen by cost is also the fastest.
``run_windows`` is what it runs with ``--windows``: windows of rows beside windows of time, and joins by window ids.
"""

from joinfold_bench.engines.results import Results
from joinfold_bench.reporting.joins import join_tables, joins_json, write_joins
from joinfold_bench.reporting.methods import method_tables, methods_json, write_methods
from joinfold_bench.reporting.planner import planner_json, planner_tables, write_planner
from joinfold_bench.reporting.report import as_json, prepare_output, tables, write_report
from joinfold_bench.reporting.windows import window_tables, windows_json, write_windows
from joinfold_bench.suites.engines import Settings, run_suite
from joinfold_bench.suites.joins import JoinResults, JoinSettings, run_joins
from joinfold_bench.suites.methods import MethodResults, MethodSettings, run_methods
from joinfold_bench.suites.planner import PlannerResults, run_planner
from joinfold_bench.suites.windows import WindowResults, WindowSettings, run_windows

__all__ = [
    "JoinResults",
    "JoinSettings",
    "MethodResults",
    "MethodSettings",
    "PlannerResults",
    "Results",
    "Settings",
    "WindowResults",
    "WindowSettings",
    "as_json",
    "join_tables",
    "joins_json",
    "method_tables",
    "methods_json",
    "planner_json",
    "planner_tables",
    "prepare_output",
    "run_joins",
    "run_methods",
    "run_planner",
    "run_suite",
    "run_windows",
    "tables",
    "window_tables",
    "windows_json",
    "write_joins",
    "write_methods",
    "write_planner",
    "write_report",
    "write_windows",
]
