"""Warnings before a query runs: that the machine is too slow or too small for its plan."""

from joinfold.amounts import bytes_text, seconds_text, share_text, times_text
from joinfold.planner.cost.estimates import Estimate, StageKind

_LESS_WORK: dict[StageKind, str] = {
    "PACK": "Filter the streams before the query, or use more cores.",
    "shuffle": "A larger slide sends fewer entries. Otherwise use more cores.",
    "FOLD": "A larger slide, fewer groups or fewer keys reduce it. Otherwise use more cores.",
    "MERGE": "A larger slide or fewer groups reduce it. Otherwise use more cores.",
}


def decision_warnings(estimate: Estimate, cores: float, memory_bytes: float) -> tuple[str, ...]:
    """Warns if the streams are too fast for this number of cores, and if the windows do not fit into this memory."""
    assert cores > 0 and memory_bytes > 0
    warnings = []
    if estimate.cpu > cores:
        by_kind = {kind: sum(stage.cpu for stage in estimate.stages if stage.kind == kind) for kind in _LESS_WORK}
        slowest = max(by_kind, key=lambda kind: by_kind[kind])
        have = "1 core gives" if cores == 1 else f"{cores:g} cores give"
        warnings.append(
            f"the query cannot keep up with its streams: one second of stream takes {seconds_text(estimate.cpu)} of "
            f"CPU, {times_text(estimate.cpu, cores)} what {have}. {share_text(by_kind[slowest] / estimate.cpu)} of it "
            f"is {slowest}. {_LESS_WORK[slowest]}"
        )
    if estimate.memory_bytes > memory_bytes:
        warnings.append(
            f"the windows do not fit into memory: they need {bytes_text(estimate.memory_bytes)}, and the machine has "
            f"{bytes_text(memory_bytes)}. Shorter windows, filters, fewer keys or fewer groups reduce it."
        )
    return tuple(warnings)
