"""A process that runs the query of a soak until it is killed or told to stop: ``python -m tests.soak.victim FOLDER``.

It ends cleanly when the file ``stop`` appears in the folder. With ``available`` as a second argument it ends when it
has read everything. Each micro-batch is a line of ``progress.jsonl``.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import joinfold as jf
from joinfold.runtime.handle import Handle
from tests.crashes.victim import keep_attempts
from tests.soak.feed import DELAY, IDLE, QUERY, SCHEMA, STREAMS

TRIGGER = "1 second"
STOP, PROGRESS, OUT, CHECKPOINT = "stop", "progress.jsonl", "out", "checkpoint"


def soaked(folder: Path) -> jf.Query:
    """The query over the files of a folder."""
    session = jf.Session()
    for name in STREAMS:
        (folder / name).mkdir(parents=True, exist_ok=True)
        frame = session.spark.readStream.schema(SCHEMA).parquet(str(folder / name))
        session.stream(name, frame, time="ts", delay=DELAY, idle=IDLE if name == "b" else None)
    return session.sql(QUERY)


def main(folder: Path, trigger: str = TRIGGER) -> None:
    """Runs the query."""
    handle = soaked(folder).start(
        lambda table, batch: keep_attempts(folder / OUT, table, batch),
        checkpoint=folder / CHECKPOINT,
        trigger=trigger,
    )
    known = -1
    while handle.is_active:
        time.sleep(0.5)
        known = _note(folder, handle, known)
        if (folder / STOP).exists():
            handle.stop()
            return
    handle.wait()
    _note(folder, handle, known)


def _note(folder: Path, handle: Handle, known: int) -> int:
    """Writes the micro-batches since ``known``, and returns the last one."""
    seconds = {step["batchId"]: step["durationMs"]["triggerExecution"] / 1000 for step in handle.query.recentProgress}
    with (folder / PROGRESS).open("a") as file:
        for own in handle.history():
            if own.batch > known and own.batch in seconds:
                line: dict[str, Any] = {"time": time.time(), "batch": own.batch, "seconds": seconds[own.batch]}
                line |= {"state_bytes": own.state_bytes, "entries": own.live_entries}
                line |= {"late": {stream.alias: stream.late_rows for stream in own.streams}}
                line |= {"ahead": {stream.alias: stream.ahead_rows for stream in own.streams}}
                file.write(json.dumps(line) + "\n")
                known = own.batch
    return known


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
