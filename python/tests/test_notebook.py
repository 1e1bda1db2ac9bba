"""The notebook of the examples runs, and shows progress, the model and plots."""

import os
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples/notebooks/first-fit.ipynb"


def test_the_notebook_runs(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": NOTEBOOK.parent}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [output.data for output in outputs if "data" in output]
    html = "".join(data.get("text/html", "") for data in shown)
    assert html.count("class='gpfit'") == 2 and "Rows in leave-one-out intervals" in html
    assert sum("image/png" in data for data in shown) == 1
    assert any("gpfit:" in output.get("text", "") for output in outputs if output.output_type == "stream" and output.name == "stderr")
    if keep := os.environ.get("PYGPFIT_NOTEBOOK"):  # to look at
        nbformat.write(notebook, keep)
