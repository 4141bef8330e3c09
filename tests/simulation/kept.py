"""Scenarios that have failed. Every run of the tests tries them again first.

To keep another one, copy the ``Scenario(…)`` that hypothesis prints as its falsifying example, after it has shrunk it,
and say in a comment what was wrong. Examples that hypothesis itself remembers stay on one machine, and a seed draws
something else as soon as the strategies change.
"""

from tests.simulation.scenario import Attempt, Loss, MicroBatch, Registered, Scenario

KEPT: dict[str, Scenario] = {
    # the metrics of a bucket that had no rows yet looked for the replicates of its groups
    "the first rows go to some buckets only, and SHED leaves out whole groups": Scenario(
        text="SELECT a.k, COUNT(*) AS n FROM a [TUMBLE 4 MICROSECOND], b [TUMBLE 4 MICROSECOND] WHERE a.k = b.k "
        "GROUP BY a.k SHED TO HOLD 9 ROWS SAMPLE BY KEY",
        schema="ts TIMESTAMP, k INT",
        sources={"a": Registered(), "b": Registered()},
        batches=(MicroBatch({"a": [{"ts": 0, "k": 1}]}), MicroBatch({"b": [{"ts": 9, "k": 1}]}, clock_us=1)),
        buckets=3,
    ),
    # a chunk ended between two matches of one row, and a bucket that was opened from its state had only the second
    "a row with several matches in a relation waits for its turn, in several chunks": Scenario(
        text="SELECT COUNT(*) AS n FROM a [UNBOUNDED], r WHERE a.k = r.k EMIT ON ARRIVAL",
        schema="ts TIMESTAMP, k INT",
        sources={"a": Registered(), "r": Registered(is_stream=False)},
        batches=(
            MicroBatch({"a": [{"ts": 1, "k": 1}], "r": [{"k": 1}, {"k": 1}]}),
            MicroBatch({"a": [{"ts": 2, "k": 1}]}, attempts=(Attempt(loss=Loss(memory=True, files="gone")),)),
        ),
        entries_per_chunk=1,
    ),
    # all rows of the stream were late, so nobody knew where its window 0 begins
    "a stream that was idle from the beginning brings only late rows under SYNC ON WINDOW ID": Scenario(
        text="SELECT COUNT(*) AS n FROM a [ROWS 1], b [TUMBLE 1 MICROSECOND] WHERE a.k = b.k SYNC ON WINDOW ID",
        schema="ts TIMESTAMP, k INT",
        sources={"a": Registered(), "b": Registered(idle_us=1)},
        batches=(
            MicroBatch({"a": [{"ts": 5, "k": 1}]}),
            MicroBatch({"a": [{"ts": 6, "k": 1}]}, clock_us=1),
            MicroBatch({"b": [{"ts": 0, "k": 1}]}, clock_us=2),
            MicroBatch({"a": [{"ts": 9, "k": 1}], "b": [{"ts": 8, "k": 1}, {"ts": 9, "k": 1}]}, clock_us=3),
        ),
    ),
}
