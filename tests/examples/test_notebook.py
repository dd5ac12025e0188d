"""The notebook runs from its first cell to its last, and what stands in a cell's last line shows itself."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "race.ipynb"


def run_cell(source, namespace):
    """Execute a cell as a kernel does; return the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), namespace) if last else None


@pytest.fixture(scope="module")
def shown():
    """What each cell with code shows, by its identifier."""
    notebook, namespace = json.loads(NOTEBOOK.read_text()), {"__name__": "example"}
    codes = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"}
    return {name: run_cell(source, namespace) for name, source in codes.items()}


def test_a_result_shows_its_answer_and_the_ratings(shown):
    result = shown["race"]
    page = result._repr_html_()
    assert result.pareto_set
    assert all(name in page for name in result.pareto_set)
    assert "<svg" in page


def test_a_figure_and_a_data_frame_show_themselves(shown):
    assert "<svg" in shown["figure"]._repr_svg_()
    assert shown["frame"]["evaluations"].sum() == shown["race"].evaluations
    assert "<table" in shown["frame"]._repr_html_()
