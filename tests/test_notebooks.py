"""The notebooks of examples/ run from their first cell to their last, and are stored without their outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first-steps", "study-a-method", "two-streams-live"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path: Path) -> None:
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert [cell for cell in cells if cell.outputs or cell.execution_count is not None] == []


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path) -> None:
    book = read(path)
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("text/html" in output.get("data", {}) for output in shown)
    if path.stem == "two-streams-live":
        assert any("rows/s" in output.get("data", {}).get("text/html", "") for output in shown)
    if path.stem != "first-steps":
        assert any("image/png" in output.get("data", {}) for output in shown)
    errors = [output.traceback[0].partition(":")[0] for output in shown if output.output_type == "error"]
    assert errors == (["QueryError"] if path.stem == "first-steps" else [])
    nbformat.write(book, tmp_path / path.name)
