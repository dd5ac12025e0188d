"""The study of selectors reads the published data as the authors did; ratings keep to the single best on MA-BBOB."""

import os
import runpy
from pathlib import Path

import pytest

from polarbear.selectors import cross_validate, transfer

DATA = Path(os.environ.get("POLARBEAR_SHARED", "../shared")) / "data" / "ma_bbob_study"
pytestmark = pytest.mark.skipif(
    not DATA.exists(), reason=f"the published MA-BBOB data are not at {DATA}; set POLARBEAR_SHARED"
)


@pytest.fixture(scope="module")
def study():
    return runpy.run_path(str(Path(__file__).parents[2] / "examples" / "ma_bbob_selection.py"))


def test_published_claims_about_the_single_best(study, capsys):
    study["claims"](DATA)
    assert capsys.readouterr().out.splitlines() == [
        "5D: modcma best on 56.7% of BBOB, 66.9% of MA-BBOB; it loses 0.0276 on all, 0.0259 on MA-BBOB",
        "2D: modcma best on 46.7% of BBOB, 60.0% of MA-BBOB; it loses 0.0407 on all, 0.0359 on MA-BBOB",
    ]


def test_from_bbob_to_its_combinations_ratings_stay_with_the_single_best_and_the_shift_is_noticed(study):
    cases, of_bbob = study["read"](DATA, 5, "ela")
    assert len(cases.features) == 44
    evaluation = transfer(cases.among(of_bbob), cases.among(~of_bbob), ["ratings"])
    assert evaluation.scores["single best"].regret == pytest.approx(0.0259, abs=5e-5)
    assert evaluation.scores["ratings"].regret <= 0.0259
    assert "differ from those of the training" in evaluation.warning


@pytest.mark.parametrize(("dimension", "single_best"), [(5, 0.0259), (2, 0.0359)])
def test_from_bbob_to_its_combinations_cautious_forests_lose_no_more_than_the_single_best(
    study, dimension, single_best
):
    pytest.importorskip("sklearn")
    cases, of_bbob = study["read"](DATA, dimension, "ela")
    scores = transfer(cases.among(of_bbob), cases.among(~of_bbob), ["cautious forest"], seed=1).scores
    assert scores["single best"].regret == pytest.approx(single_best, abs=5e-5)
    assert scores["cautious forest"].regret <= scores["single best"].regret + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "published", "accepted"), [(5, 0.0259, 0.0263), (2, 0.0400, 0.0407)])
def test_on_functions_left_out_cautious_forests_lose_what_the_study_says(study, dimension, published, accepted):
    pytest.importorskip("sklearn")
    cases, _ = study["read"](DATA, dimension, "ela")
    score = cross_validate(cases, ["cautious forest"], split="function", seed=1).scores["cautious forest"]
    assert score.regret == pytest.approx(published, abs=2e-4)  # forests of another scikit-learn may differ a little
    assert score.regret < accepted
