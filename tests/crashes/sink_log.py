"""The files that Spark's file sink has committed: those that its log names, not all that lie in the folder."""

import json
from pathlib import Path
from urllib.parse import unquote, urlparse


def committed_files(out: Path) -> list[Path]:
    """The files of all micro-batches up to the last one, from the log and its compacted parts."""
    log = out / "_spark_metadata"
    numbers = {int(path.name.split(".")[0]): path for path in log.iterdir() if path.name.split(".")[0].isdecimal()}
    compacted = max((number for number, path in numbers.items() if path.suffix == ".compact"), default=-1)
    lines = [
        line
        for number, path in sorted(numbers.items())
        if number >= compacted
        for line in path.read_text().splitlines()[1:]
    ]
    return [Path(unquote(urlparse(json.loads(line)["path"]).path)) for line in lines if line.strip()]
