"""What a posterior answers, on draws whose answers are known."""

import json
import warnings

import numpy as np
import pytest

from polarbear.inference import Diagnostics, IndependentDirichlet, Posterior, RandomWalk, fit, from_description, models
from polarbear.rankings import ChoiceCounts, choice_counts


def diagnostics(timepoints, method="importance sampling", ess=4000.0, k_hat=0.1, r_hat=np.nan):
    return Diagnostics((method,) * timepoints, *(np.full(timepoints, x) for x in (ess, k_hat, r_hat)))


def posterior(draws, joint=False, names=None):
    draws = np.asarray(draws, dtype=float)
    names = names or tuple("abcdefgh"[: draws.shape[2]])
    return Posterior(draws, np.arange(1.0, 1 + draws.shape[1]), names, joint, diagnostics(draws.shape[1]))


FOUR = posterior(
    [
        [[0.6, 0.3, 0.1], [0.2, 0.4, 0.4]],
        [[0.5, 0.5, 0.0], [0.5, 0.3, 0.2]],
        [[0.4, 0.5, 0.1], [0.5, 0.25, 0.25]],
        [[1.0, 0.0, 0.0], [0.7, 0.2, 0.1]],
    ],
    joint=True,
)


def test_probabilities_by_hand():
    np.testing.assert_allclose(FOUR.probability_better("a", "b"), [0.625, 0.75])
    np.testing.assert_allclose(FOUR.probability_better(1, 0), [0.375, 0.25])
    assert FOUR.probability_dominates("a", "b") == 0.25
    assert FOUR.probability_dominates("a", "c") == 0.75
    np.testing.assert_allclose(FOUR.win_probability("a", "b")[:, 0], [2 / 3, 0.5, 4 / 9, 1.0])
    np.testing.assert_allclose(FOUR.win_probability("b", "c")[3], [0.5, 2 / 3])
    np.testing.assert_allclose(FOUR.mean(), [[0.625, 0.325, 0.05], [0.475, 0.2875, 0.2375]])
    np.testing.assert_allclose(FOUR.log_ratio("a", "b")[0], [np.log(2), -np.log(2)])


def test_portfolios_add_their_ratings():
    """Eq. 8: the mean is the posterior predictive probability; a portfolio of one is an algorithm."""
    np.testing.assert_allclose(FOUR.portfolio_rating(["b", "c"])[:, 1], [0.8, 0.5, 0.5, 0.3])
    np.testing.assert_allclose(FOUR.portfolio_win_probability(["a"], ["b", "c"])[:, 0], FOUR.draws[:, 0, 0])
    np.testing.assert_allclose(FOUR.portfolio_win_probability(["b", "b"], ["a", "c"])[0], [6 / 13, 8 / 14])
    np.testing.assert_array_equal(FOUR.portfolio_win_probability("a", "b"), FOUR.win_probability("a", "b"))
    np.testing.assert_allclose(FOUR.portfolio_win_probability(["b", "c"], ["c", "c"])[3], [0.5, 3 / 5])
    with pytest.raises(ValueError, match="give at least one"):
        FOUR.portfolio_win_probability([], "a")


@pytest.mark.statistical
def test_portfolios_win_as_often_as_their_best_run():
    """Gumbel utilities of a draw's ratings, one for each run (section 3)."""
    mu = np.log(FOUR.draws[0, 1])
    runs = np.random.default_rng(0).gumbel(size=(4, 100_000)) + mu[[0, 1, 1, 2]][:, None]
    won = np.mean(runs[:2].max(axis=0) > runs[2:].max(axis=0))
    assert FOUR.portfolio_win_probability(["a", "b"], ["b", "c"])[0, 1] == pytest.approx(won, abs=4 * 0.5 / 316)


def test_probability_best_adds_up_and_shares_equal_draws():
    np.testing.assert_allclose(FOUR.probability_best(), [[0.625, 0.375, 0.0], [0.75, 0.125, 0.125]])
    np.testing.assert_allclose(FOUR.probability_best(["c", "b"])[:, 1], FOUR.probability_better("b", "c"))
    many = posterior(np.random.default_rng(2).dirichlet(np.ones(5), size=(500, 3)))
    np.testing.assert_allclose(many.probability_best().sum(axis=1), 1.0)
    exact = (many.draws.argmax(axis=2)[..., None] == np.arange(5)).mean(axis=0)
    np.testing.assert_allclose(many.probability_best(), exact)
    np.testing.assert_array_equal(FOUR.probability_best("a"), 1.0)
    with pytest.raises(ValueError, match="there is no algorithm 'z'"):
        FOUR.probability_best(["a", "z"])


def test_timepoints_are_found_by_value():
    assert [FOUR.timepoint(time) for time in (1, 2.0, 1 + 1e-12)] == [0, 1, 0]
    with pytest.raises(ValueError, match=r"no timepoint 1\.4 among the 2 from 1 to 2; the nearest is 1"):
        FOUR.timepoint(1.4)
    with pytest.raises(ValueError, match="no timepoint 1; the posterior has none"):
        posterior(np.empty((3, 0, 2))).timepoint(1)


def test_matrices_agree_with_pairs():
    draws = np.random.default_rng(0).dirichlet(np.ones(5), size=(301, 4))
    draws[::7, :, 1] = draws[::7, :, 3] = 0.1
    draws /= draws.sum(axis=2, keepdims=True)
    found = posterior(draws, joint=True)
    better, near, dominates = (
        found.pairwise_probabilities(),
        found.equivalence_probabilities(0.05),
        found.dominance_probabilities(),
    )
    for i in range(5):
        np.testing.assert_array_equal(better[:, i, i], 0.5)
        np.testing.assert_array_equal(near[:, i, i], 1.0)
        for j in range(5):
            np.testing.assert_allclose(better[:, i, j], found.probability_better(i, j), rtol=1e-12)
            np.testing.assert_allclose(better[:, i, j] + better[:, j, i], 1.0)
            share = (np.abs(found.win_probability(i, j) - 0.5) <= 0.05).mean(axis=0)
            np.testing.assert_allclose(near[:, i, j], share, atol=1e-12)
            assert dominates[i, j] == found.probability_dominates(i, j)


def test_equivalence_at_zero_width_is_equality():
    assert FOUR.equivalence_probabilities(0.0)[0, 0, 1] == 0.25


def test_intervals_are_quantiles():
    draws = np.random.default_rng(0).dirichlet(np.ones(3), size=(1000, 2))
    lower, upper = posterior(draws).interval(0.8)
    np.testing.assert_allclose(((draws > lower) & (draws < upper)).mean(axis=0), 0.8, atol=0.002)
    with pytest.raises(ValueError, match="level is 95"):
        FOUR.interval(95)


def test_without_a_joint_posterior_nothing_is_said_of_all_times():
    marginal = posterior(FOUR.draws)
    with pytest.raises(ValueError, match=r'; fit pb\.inference\.InstanceBootstrap\(\), .*elimination="pointwise"'):
        marginal.probability_dominates("a", "b")
    with pytest.raises(ValueError, match="joint"):
        marginal.dominance_probabilities()


@pytest.mark.parametrize("unknown", ["z", 3, -1])
def test_unknown_algorithms_are_named_with_those_there_are(unknown):
    with pytest.raises(ValueError, match=r"there is no algorithm .*a, b, c"):
        FOUR.probability_better("a", unknown)


def test_epsilon_is_checked():
    with pytest.raises(ValueError, match=r"epsilon is 0\.5"):
        FOUR.equivalence_probabilities(0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"draws": np.ones((4, 3)) / 3}, "draws has shape"),
        ({"draws": np.ones((4, 2, 3)) / 2}, "sum to 1"),
        ({"draws": np.full((4, 2, 3), np.nan)}, "sum to 1"),
        ({"times": np.array([1.0, 1.0])}, "strictly increasing"),
        ({"times": np.array([1.0])}, "times has shape"),
        ({"names": ("a", "b")}, "2 names"),
        ({"names": ("a", "b", "a")}, "two algorithms are named 'a'"),
        ({"diagnostics": diagnostics(3)}, "diagnostics has 3 timepoints; it must have 2"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    fields = {name: getattr(FOUR, name) for name in ("draws", "times", "names", "joint", "diagnostics")}
    with pytest.raises(ValueError, match=message):
        Posterior(**(fields | changes))


def test_draws_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        FOUR.draws[0, 0, 0] = 1.0


def test_arviz_gets_every_draw_with_its_labels():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = FOUR.to_arviz()
    theta = data.posterior["theta"]
    assert theta.dims == ("chain", "draw", "time", "algorithm")
    np.testing.assert_array_equal(theta.values[0], FOUR.draws)
    assert list(theta.coords["algorithm"].values) == ["a", "b", "c"]
    np.testing.assert_array_equal(theta.coords["time"], FOUR.times)
    assert "model" not in data.posterior.attrs


def test_arviz_gets_hyperparameters_and_the_model(tmp_path):
    """Also once they were on disk."""
    import arviz

    model = RandomWalk(initial_sd=2.0)
    found = fit(choice_counts(np.zeros((1, 2, 3))), model=model, draws=20, rng=np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found.to_arviz().to_netcdf(str(tmp_path / "found.nc"))
        back = arviz.from_netcdf(str(tmp_path / "found.nc")).posterior
    np.testing.assert_array_equal(back["sigma"], found.hyperparameters["sigma"][np.newaxis])
    assert back["sigma"].dims == ("chain", "draw")
    assert back.attrs["model"] == "random-walk"
    assert from_description(json.loads(back.attrs["description"])) == model
    assert "The effective sample size is at least" in back.attrs["diagnostics"]


def test_arviz_missing_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "arviz", None)
    with pytest.raises(ImportError, match=r"polarbear-race\[arviz\]"):
        FOUR.to_arviz()


def test_diagnostics_say_what_can_be_relied_on():
    good = diagnostics(3)
    assert good.reliable
    assert " at 3 of 3 timepoints" in good.summary()
    assert "The draws are reliable." in good.summary()
    bad = Diagnostics(
        ("importance sampling", "Gibbs", "Gibbs", "importance sampling"),
        np.array([4000.0, 1000.0, 1000.0, 50.0]),
        np.array([0.8, np.nan, np.nan, 0.1]),
        np.array([np.nan, 1.002, 1.2, np.nan]),
    )
    np.testing.assert_array_equal(bad.doubtful, [True, False, True, True])
    assert not bad.reliable
    assert "Do not rely on the draws at 3 timepoints (indices 0, 2, 3)" in bad.summary()
    with pytest.raises(ValueError, match="ess has shape"):
        Diagnostics(("Gibbs",), np.ones(2), np.ones(1), np.ones(1))


def test_models_describe_themselves():
    for name, kind in models().items():
        model = kind()
        assert model.name == name
        assert from_description(model.describe()) == model
    assert from_description({"model": "independent-dirichlet", "alpha": 0.5}) == IndependentDirichlet(alpha=0.5)
    with pytest.raises(ValueError, match="no model 'wishful'; the models are independent-dirichlet"):
        from_description({"model": "wishful"})
    with pytest.raises(ValueError, match="no parameter 'beta'; its parameters are alpha"):
        from_description({"model": "independent-dirichlet", "beta": 1.0})


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.inf, np.nan])
def test_concentration_must_be_positive(alpha):
    with pytest.raises(ValueError, match="alpha is"):
        IndependentDirichlet(alpha=alpha)


def test_fit_checks_its_arguments():
    counts, rng = choice_counts(np.zeros((1, 2, 3))), np.random.default_rng(0)
    with pytest.raises(ValueError, match="times has shape"):
        fit(counts, times=[1.0], rng=rng)
    with pytest.raises(ValueError, match="2 names"):
        fit(counts, names=["a", "b"], rng=rng)
    with pytest.raises(ValueError, match="draws is 0"):
        fit(counts, draws=0, rng=rng)
    with pytest.raises(TypeError, match="rng is 1"):
        fit(counts, rng=1)
    named = fit(counts, times=[3.0, 4.0], names=["a", "b", "c"], draws=7, rng=rng)
    assert named.draws.shape == (7, 2, 3)
    assert named.names == ("a", "b", "c")
    np.testing.assert_array_equal(named.times, [3.0, 4.0])
    assert fit(counts, rng=rng, draws=5).names == ("algorithm 0", "algorithm 1", "algorithm 2")
    assert fit(ChoiceCounts.none(0, 3), rng=rng).mean().shape == (0, 3)
    np.testing.assert_array_equal(fit(ChoiceCounts.none(2, 1), rng=rng, draws=5).draws, 1.0)
