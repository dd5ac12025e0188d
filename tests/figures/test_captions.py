"""Captions name the marks that are there, and no others."""

import inspect
import re

import pytest

from polarbear import figures
from polarbear.figures import captions

DRAWING = [name for name in figures.__all__ if inspect.isfunction(getattr(figures, name)) and name != "svg"]
CAPTIONS = captions.__all__


@pytest.mark.parametrize("name", DRAWING)
def test_every_figure_has_a_caption_and_says_in_its_docstring_what_its_marks_mean(name):
    assert name in CAPTIONS
    assert "Marks: " in inspect.getdoc(getattr(figures, name))


@pytest.mark.parametrize("name", CAPTIONS)
def test_every_caption_belongs_to_a_figure(name):
    assert name in DRAWING


EXAMPLES = [
    captions.rating_over_time(3, withdrawn=True),
    captions.dominance_over_rounds(alpha=0.99, joint=False, withdrawn=True),
    captions.runtime_distributions(3),
    captions.runtime_distributions(9, dots=True, restarts=True, reference="best 2009", background=30),
    captions.runtime_distributions(1, crosses=False),
    captions.performance_profiles(9),
    captions.data_profiles(2),
    captions.ert_over_targets(3),
    captions.ert_over_targets(3, runs=15),
    captions.ert_over_dimension(3, successes=True, spent=True),
    captions.ert_over_dimension(20, successes=True),
    captions.convergence(3),
    captions.convergence(20, levels=(0.1, 0.25, 0.5, 0.75, 0.9)),
    captions.parameter_over_time("sigma", 2, levels=(0.4,)),
    captions.parameter_over_targets("sigma", 2),
    captions.attainment(unknown=True),
    captions.attainment(lines=()),
    captions.attainment(lines=(0.5,)),
    captions.attainment_difference("A", "B", unknown=True),
    captions.attainment_ecdf(3, level=0.95),
    captions.heat_map("ERT ratio", best="lowest", missing=True, infinite=True),
    captions.heat_map("difference", center=0),
    captions.partial_order(alpha=0.05),
    captions.value_distributions(3, "10,000 evaluations", "runs"),
    captions.value_densities("10,000 evaluations", histogram=True, runs=True),
]


@pytest.mark.parametrize("caption", EXAMPLES)
def test_captions_are_sentences(caption):
    assert re.match(r"[A-Z]|difference", caption)
    assert caption.endswith(".")
    assert not re.search(r"  | \.|\.\.|;\.|\(\)|None|[a-z]\.[A-Z]", caption)


def test_only_marks_that_are_there_are_explained():
    assert "withdrawn" not in captions.rating_over_time(3)
    assert "eliminated or withdrawn" in captions.rating_over_time(3, withdrawn=True)
    assert "ithdrawn" not in captions.dominance_over_rounds(alpha=0.99, joint=False)
    assert "Withdrawn" in captions.dominance_over_rounds(alpha=0.99, joint=False, withdrawn=True)
    assert "cross" not in captions.runtime_distributions(3, crosses=False)
    assert "restarts" in captions.runtime_distributions(3, restarts=True)
    assert "best 2009" in captions.runtime_distributions(3, reference="best 2009")
    assert "markers" in captions.runtime_distributions(9)
    assert "markers" not in captions.runtime_distributions(8)
    assert "bands" not in captions.convergence(9)
    assert "25% to 75% and from 10% to 90%" in captions.convergence(3, levels=(0.1, 0.25, 0.5, 0.75, 0.9))
    assert "40% quantile" in captions.convergence(3, levels=(0.4,))
    assert "25%, 50% and 75%" in captions.attainment()
    assert "Hatched" not in captions.attainment()
    assert "smaller" in captions.heat_map("p-value", reverse=True)
    assert "beside them" not in captions.ert_over_dimension(20, successes=True)
