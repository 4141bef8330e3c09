"""Results as files in a folder that is made before the long work begins."""

import json
from pathlib import Path

from joinfold.errors import UsageError
from joinfold_bench.reporting.results import Results


def prepare_output(directory: Path) -> None:
    """Makes the folder of the report, before the long work begins."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to '{directory}': {error.strerror}", "choose another --output.") from error


def write_results(results: Results, directory: Path, name: str) -> tuple[Path, ...]:
    """Writes the figures as JSON under a name, and whatever else the results have; gives the paths."""
    texts = {name: json.dumps(results.to_json(), indent=1) + "\n", **results.files()}
    for file, text in texts.items():
        (directory / file).write_text(text, encoding="utf-8")
    return tuple(directory / file for file in texts)
