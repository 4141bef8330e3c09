"""HAVING and SELECT of estimates on Spark give what they give in process, with bounds and kept."""

from typing import Any

import pyarrow as pa
import pytest

from joinfold.arrow import arrow_schema
from joinfold.physical.column_names import ANSWER
from joinfold.physical.shedding import WHOLE
from joinfold.runtime.engine import finished_schema, selected
from tests.operators.merging.test_estimating import SCHEMA, sample_of_keys
from tests.operators.runs import tuples
from tests.operators.sampled import WINDOW, assert_same_estimates, finished_of, merged, sampled_plan

pytestmark = pytest.mark.spark
TEXT = f"""SELECT g, COUNT(*) AS n, SUM(m) AS money, AVG(d) AS a, SUM(v) / COUNT(*) AS r, MAX(v) AS x, MAX(g) AS w,
           COUNT(*) > 3 AS many {WINDOW} GROUP BY g HAVING COUNT(*) > 3"""


@pytest.mark.parametrize(("changes", "complete"), [("", False), ("", True), (" CHANGES", False)])
def test_select_on_spark_is_select_in_process(spark: Any, changes: str, complete: bool) -> None:
    own = sampled_plan(TEXT + changes, SCHEMA, complete=complete)
    rates = {0: WHOLE, 10: WHOLE, 20: WHOLE // 2, 30: WHOLE // 3}
    instants = {10: sample_of_keys(1, 60, 3), 20: sample_of_keys(2, 300, 3), 30: sample_of_keys(3, 9, 3)}
    target = arrow_schema(finished_schema(own.plan))
    finished = finished_of(own, instants, rates)
    columns = [finished.column(field.name).cast(field.type) for field in target]
    frame = spark.createDataFrame(pa.Table.from_arrays(columns, schema=target))
    found = selected(own.plan, frame.alias(ANSWER)).toArrow()
    schema = arrow_schema(own.plan.query.schema)
    assert found.schema.names == schema.names
    assert_same_estimates(own, merged(own, instants, rates), tuples(found.cast(schema)))
    assert found.num_rows
