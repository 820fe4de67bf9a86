"""The notebooks of the docs run in a real kernel, quickly, and leave nothing but results."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = sorted(
    path for path in (DOCS / "notebooks").glob("*.md") if "file_format: mystnb" in path.read_text()
)
MOST_SECONDS = 20  # of a processor
HOW_LONG = "import time; print(time.process_time())"


def cells_of(path):
    """The code of a notebook that is kept as text, cell by cell."""
    return re.findall(r"^```\{code-cell\}\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def test_there_are_three_and_each_can_be_downloaded():
    assert {path.stem for path in NOTEBOOKS} == {
        "first-list", "payments-with-cards", "reading-a-tree",
    }  # fmt: skip
    for path in NOTEBOOKS:
        assert f"{{nb-download}}`a notebook <{path.stem}.ipynb>`" in path.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_quickly_and_shows_its_results(path, tmp_path):
    code = [*cells_of(path), HOW_LONG]
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, code)])
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, resources=where).execute()

    *cells, last = notebook.cells
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [each for each in outputs if each.get("name") == "stderr"]
    views = [
        each for each in outputs if "toprank-view" in each.get("data", {}).get("text/html", "")
    ]
    assert len(views) >= 2
    assert float(last.outputs[0]["text"]) < MOST_SECONDS
    assert not list(tmp_path.iterdir())
