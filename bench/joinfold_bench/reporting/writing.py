"""Writes results to files."""

import json
from pathlib import Path

from joinfold.errors import UsageError
from joinfold_bench.reporting.results import Results


def prepare_output(directory: Path) -> None:
    """Creates the output folder. Called first, so that an unusable folder is noticed before a long run."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to '{directory}': {error.strerror}", "choose another --output.") from error


def write_results(results: Results, directory: Path, name: str) -> tuple[Path, ...]:
    """Writes the results as JSON to a file with this name, and their other files. Returns the paths."""
    texts = {name: json.dumps(results.to_json(), indent=1) + "\n", **results.files()}
    for file, text in texts.items():
        (directory / file).write_text(text, encoding="utf-8")
    return tuple(directory / file for file in texts)
