"""What a plan cannot do with the machine it is given, said before it runs."""

from joinfold.amounts import bytes_text, seconds_text, share_text, times_text
from joinfold.planner.cost.estimates import Estimate, StageKind

_LESS_WORK: dict[StageKind, str] = {
    "PACK": "filter the streams before, or give it more cores",
    "shuffle": "a larger slide makes fewer entries of more rows; else give it more cores",
    "FOLD": "a larger slide, fewer groups or fewer keys make it less; else give it more cores",
    "MERGE": "a larger slide or fewer groups make fewer answers; else give it more cores",
}


def decision_warnings(estimate: Estimate, cores: float, memory_bytes: float) -> tuple[str, ...]:
    """That the streams are too fast for so many cores, or that what is held does not fit into so much memory."""
    assert cores > 0 and memory_bytes > 0
    warnings = []
    if estimate.cpu > cores:
        by_kind = {kind: sum(stage.cpu for stage in estimate.stages if stage.kind == kind) for kind in _LESS_WORK}
        slowest = max(by_kind, key=lambda kind: by_kind[kind])
        have = "1 core gives" if cores == 1 else f"{cores:g} cores give"
        warnings.append(
            f"the query cannot keep up with its streams: a second of them takes {seconds_text(estimate.cpu)} of CPU, "
            f"{times_text(estimate.cpu, cores)} what {have}; {share_text(by_kind[slowest] / estimate.cpu)} of it is "
            f"{slowest}: {_LESS_WORK[slowest]}"
        )
    if estimate.memory_bytes > memory_bytes:
        warnings.append(
            f"the windows do not fit into memory: they take {bytes_text(estimate.memory_bytes)} and there are "
            f"{bytes_text(memory_bytes)}; shorter windows, fewer keys and groups or filters make it less"
        )
    return tuple(warnings)
