"""joinfold measured: beside other engines over the same files, and its own plans beside each other.

``SUITES`` is the table of what can be measured, and ``joinfold bench SUITE`` runs one. All give ``Results``, so
there is one report.

    suites       what is measured, and which bars it is held against
    reporting    results as tables, JSON and a chart
    plans        joinfold's plans, in process and on Spark
    engines      how engines run and are timed; the only room that knows pyspark
    data         the streams that they read
"""

from joinfold_bench.reporting.results import Results
from joinfold_bench.reporting.writing import prepare_output, write_results
from joinfold_bench.suites import SUITES, suite_named
from joinfold_bench.suites.suite import Options, Suite

__all__ = ["SUITES", "Options", "Results", "Suite", "prepare_output", "suite_named", "write_results"]
