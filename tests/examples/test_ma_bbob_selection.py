"""The study of selectors reads the published data as the authors did; ratings keep to the single best on MA-BBOB."""

import os
import runpy
from pathlib import Path

import pytest

from polarbear.selectors import transfer

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
    assert "not like those of the training" in evaluation.warning
