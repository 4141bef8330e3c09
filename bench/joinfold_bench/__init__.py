"""Benchmarks: joinfold beside other engines over the same files, and joinfold's plans beside each other.

``SUITES`` is the table of all suites; ``joinfold bench SUITE`` runs one. Every suite returns ``Results``, so one report
serves all of them. A *bar* is a ratio that a measurement should reach.

    suites       what is measured, and the bars
    reporting    results as tables, JSON and a chart
    mapping      the queries of the map, and the rate of each
    plans        joinfold's plans, in process and on Spark
    engines      runs engines and times them; the only room that imports pyspark
    data         the streams that the engines read
"""

from joinfold_bench.reporting.results import Results
from joinfold_bench.reporting.writing import prepare_output, write_results
from joinfold_bench.suites import SUITES, suite_named
from joinfold_bench.suites.suite import Options, Suite

__all__ = ["SUITES", "Options", "Results", "Suite", "prepare_output", "suite_named", "write_results"]
