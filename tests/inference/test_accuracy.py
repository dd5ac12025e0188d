"""The accuracy gate: every model against long runs of NUTS and of exact samplers, over sizes and hard cases.

The references in tests/inference/references are made by benchmarks/references.py; for NUTS the models are written down
a second time. With 40,000 draws means are held to 0.1 sd, sds to 7 %, pair probabilities to 0.03, dominance at all
times to 0.02, each with two standard errors of that very number added; and to no more than chance: the root mean square
of the differences of means to 2 standard errors, the mean of each hyperparameter to 4.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks import references
from benchmarks.accuracy import SPREAD, TAIL, answered, compared, spread
from benchmarks.references import DIVERGENCES, FOLDER, LARGEST_R_HAT, SMALLEST_ESS, Run, cases
from polarbear.inference import GaussianProcess, HierarchicalDirichlet, IndependentDirichlet, RandomWalk, models

CASES = cases()
LARGE = [name for name in CASES if name.endswith(("-long", "-wide", "-crowd"))]
CHAINS = [name for name in CASES if name.endswith("-dominance")]
DAILY = {"random-walk-wide", "matern-3-2-long", "independent-crowd"}
"""Of these the ones that `make test` has; of Markov chains it has those of the tests of methods and of chains."""
WRONG = {
    "random-walk": RandomWalk(initial_sd=1.3),
    "random-walk-two": RandomWalk(initial_sd=1.1),
    "independent": IndependentDirichlet(1.15),
    "matern-3-2-dominance": GaussianProcess(sigma_log_mean=0.15),
    "hierarchical-two": HierarchicalDirichlet(0.5),
}
WRONG_LARGE = {"random-walk-long": RandomWalk(sigma_log_sd=0.6), "matern-3-2-wide": GaussianProcess(ell_scale=3.0)}


def excesses(name, case=None, **effort):
    return compared(answered(case or CASES[name], **effort), FOLDER / f"{name}.npz").excesses()


@pytest.mark.statistical(rate=0.05)
@pytest.mark.parametrize("name", [name for name in CASES if name in DAILY or name not in {*LARGE, *CHAINS}])
def test_the_accuracy_gate(name):
    """Some large cases with fewer draws, which have a larger error."""
    assert excesses(name, runs=4, **({"draws": 4000} if name in LARGE else {})) == []


@pytest.mark.statistical(rate=0.05)
@pytest.mark.slow
@pytest.mark.parametrize("name", [*LARGE, *CHAINS])
def test_the_accuracy_gate_at_length(name):
    assert excesses(name) == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * name.endswith(("-dominance", "hierarchical-two")))
        for name in WRONG
    ],
)
def test_the_gate_refuses_wrong_models(name):
    assert excesses(name, replace(CASES[name], model=WRONG[name]), runs=4)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG_LARGE)
def test_the_gate_refuses_wrong_models_of_large_cases(name):
    assert excesses(name, replace(CASES[name], model=WRONG_LARGE[name]))


def test_every_case_has_its_reference_and_every_model_a_case():
    assert {path.stem for path in FOLDER.glob("*.npz")} == set(CASES)
    of_their_own = {"instance-bootstrap"}  # see test_instance_bootstrap.py
    assert {case.model.name for case in CASES.values()} == set(models()) - of_their_own


@pytest.mark.parametrize("name", CASES)
def test_references_are_good_enough(name):
    kept, case = np.load(FOLDER / f"{name}.npz"), CASES[name]
    hyperparameters = {"sigma", "ell", "kappa"} & set(kept.files)
    shape = case.counts.wins.shape
    assert kept["r_hat"] < LARGEST_R_HAT
    assert kept["ess"].shape == kept["mean"].shape == kept["sd"].shape == shape
    assert kept["better"].shape == (*shape, shape[1])
    assert kept["dominates"].shape == (shape[1], shape[1])
    assert min(kept["ess"].min(), *(kept[name][2] for name in hyperparameters), np.inf) > SMALLEST_ESS
    assert "divergences" not in kept or kept["divergences"] <= DIVERGENCES.get(name, 0)
    assert all(np.isfinite(kept[field]).all() for field in kept.files)
    assert len({"divergences", "quantiles", "seed", "seconds"} & set(kept.files)) in (0, 4)


def a_run(**changes):
    draws = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=(500, 2)))
    return replace(Run(draws, np.full((2, 3), 450.0), {"sigma": (np.ones(500), 450.0)}, 1.005, 0), **changes)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"divergences": 1}, "1 divergences; allowed: 0"),
        ({"r_hat": 1.0101}, r"R-hat 1.0101; it must be below 1.01"),
        ({"r_hat": np.nan}, "R-hat nan; it must be below 1.01"),
        ({"ess": np.full((2, 3), 400.0)}, "smallest ESS 400; it must be above 400"),
        ({"hyperparameters": {"sigma": (np.ones(500), 12.0)}}, "smallest ESS 12; it must be above 400"),
    ],
)
def test_a_run_that_is_not_good_enough_is_not_kept(changes, fault, tmp_path, monkeypatch, capsys):
    run = a_run(**changes)
    assert run.faults() == [fault]
    monkeypatch.setattr(references, "FOLDER", tmp_path)
    monkeypatch.setattr(references, "runner", lambda case: lambda case, seed: run)
    references.make("some", CASES["random-walk"])
    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().out.count(f"NOT KEPT; {fault}") == references.SEEDS


def test_a_good_run_is_kept_with_how_it_came_about(tmp_path, monkeypatch):
    runs = [a_run(divergences=2), a_run()]
    monkeypatch.setattr(references, "FOLDER", tmp_path)
    monkeypatch.setattr(references, "runner", lambda case: lambda case, seed: runs[seed])
    references.make("some", CASES["random-walk"])
    kept = np.load(tmp_path / "some.npz")
    assert kept["seed"] == 1
    assert kept["divergences"] == 0
    assert 0 <= kept["seconds"] < 60
    np.testing.assert_allclose(kept["quantiles"], np.quantile(runs[1].log_theta, [0.1, 0.9], axis=0), rtol=1e-6)
    assert a_run(divergences=2).faults(2) == []


@pytest.mark.statistical
def test_heavy_tails_are_compared_by_probabilities():
    """Of Student's t with 2.5 degrees of freedom no sample has the standard deviation, but any the quantiles."""
    rng, heavy, error = np.random.default_rng(0), stats.t(2.5), np.full((1, 1), 0.005)
    draws = heavy.rvs((40_000, 1, 1), random_state=rng)
    quantiles = np.reshape(heavy.ppf([0.1, 0.9]), (2, 1, 1))
    reference = {"sd": np.full((1, 1), 1.2 * draws.std()), "quantiles": quantiles}
    scale, tail = spread(draws, draws.std(axis=0), reference, error)
    assert scale.values == 0
    assert np.abs(tail.values).max() < 0.008
    np.testing.assert_allclose(tail.error, 0.3 * 0.005)
    assert list(tail.excess()) == []
    assert list(spread(1.2 * draws, 1.2 * draws.std(axis=0), reference, error)[1].excess())
    by_sd, none = spread(draws, draws.std(axis=0), {"sd": reference["sd"]}, error)
    assert by_sd.values[0, 0] == pytest.approx(-np.log(1.2))
    assert list(none.excess()) == []
    light = rng.normal(size=(40_000, 1, 1))
    by_sd, none = spread(light, light.std(axis=0), {"sd": np.full((1, 1), 0.9), "quantiles": quantiles}, error)
    assert by_sd.values[0, 0] == pytest.approx(np.log(light.std() / 0.9))
    assert by_sd.error[0, 0] == pytest.approx(0.5 * np.sqrt(2) * 0.005, rel=0.05)
    assert list(by_sd.excess())
    assert list(none.excess()) == []


def test_the_bound_of_a_tail_is_that_of_a_scale():
    assert stats.norm.cdf(stats.norm.ppf(0.1) / np.exp(SPREAD)) - 0.1 == pytest.approx(TAIL, abs=5e-4)
