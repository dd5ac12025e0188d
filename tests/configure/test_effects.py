"""Effects of options: found where they are known, honest about what is not, equal to a logit of another package."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import polarbear as pb
from polarbear.configure import fit_effects, spaces
from polarbear.rankings import Rankings

TRUE = {"mirrored": {"NONE": 0.0, "MIRRORED": 1.0, "PAIRWISE": 0.0}, "active": {False: 0.0, True: 0.8}}


def space():
    return spaces.of(pb.optimizers.ModularCMAES, ["mirrored", "active", "elitist"], population_size=(4, 40))


def truth(configuration, scale):
    number = (configuration["population_size"] - 22) / 36
    return scale * sum(TRUE[name][configuration[name]] for name in TRUE) - scale * number


def simulated(seed, instances=60, size=24, repeated=1):
    """Rankings at two timepoints: at the first nothing matters, at the second the effects are those above."""
    rng = np.random.default_rng(seed)
    chosen = {str(index): each for index, each in enumerate(space().sample(rng, size))}
    luck = np.repeat(rng.gumbel(size=(instances, 1, size)), 2 * repeated, axis=1)
    ratings = np.array([[truth(each, scale) for each in chosen.values()] for scale in (0, 1) for _ in range(repeated)])
    times = np.arange(1.0, 2 * repeated + 1)
    return chosen, Rankings.of(-(ratings + luck), times=times, algorithms=list(chosen))


def test_effects_are_found_and_those_that_are_not_there_stay_near_zero():
    chosen, rankings = simulated(1)
    effects = fit_effects(space(), chosen, rankings, rng=np.random.default_rng(0))
    mirrored = effects.of("mirrored")["MIRRORED"]
    assert mirrored.low[1] < 2 / 3 < mirrored.high[1]
    assert mirrored.positive[1] > 0.99
    assert abs(effects.of("elitist")["True"].mean[1]) < 0.15
    assert effects.of("population_size")["lowest"].low[1] > 0
    share = effects.importance()
    assert max(share, key=lambda name: share[name].mean[1]) in ("mirrored", "active", "population_size")
    assert sum(each.mean[1] for each in share.values()) == pytest.approx(1)
    assert effects.scales["elitist"] < effects.scales["mirrored"]


def test_predictions_order_configurations_that_were_never_tried():
    chosen, rankings = simulated(2)
    effects = fit_effects(space(), chosen, rankings, rng=np.random.default_rng(0))
    new = space().sample(np.random.default_rng(99), 50)
    predicted, true = effects.predict(new).mean(axis=0)[1], [truth(each, 1) for each in new]
    assert np.corrcoef(predicted, true)[0, 1] > 0.95


def test_of_two_configurations_it_is_a_logistic_regression():
    """With the prior's precision the two share: scikit-learn's ridge is on the same coefficients."""
    rng = np.random.default_rng(3)
    small = spaces.of(pb.optimizers.ModularCMAES, ["active"])
    chosen = {"a": {"active": True}, "b": {"active": False}}
    wins = rng.random(400) < 0.7
    values = np.where(wins[:, None], [[0.0, 1.0]], [[1.0, 0.0]])[:, None]
    effects = fit_effects(
        small, chosen, Rankings.of(values, times=[1.0], algorithms=list(chosen)), draws=20_000, rng=rng
    )
    penalty = effects.scales["active"] ** -2 / 2  # two coefficients, one difference
    logit = LogisticRegression(C=1 / penalty, fit_intercept=False, tol=1e-10).fit(np.ones((400, 1)), wins)
    difference = effects.draws[:, 0, 1] - effects.draws[:, 0, 0]
    assert difference.mean() == pytest.approx(logit.coef_[0, 0], abs=0.01)
    assert difference.std() == pytest.approx((400 * 0.21) ** -0.5, rel=0.12)


def test_rankings_that_repeat_themselves_are_not_counted_as_new():
    chosen, once = simulated(4)
    _, often = simulated(4, repeated=10)
    single, many = (fit_effects(space(), chosen, each, rng=np.random.default_rng(0)) for each in (once, often))
    width = [each.of("active")["True"].high[-1] - each.of("active")["True"].low[-1] for each in (single, many)]
    assert width[1] == pytest.approx(width[0], rel=0.15)
    path = many.draws[:, -10:].mean(axis=1).std(axis=0)
    assert path == pytest.approx(many.draws[:, -1].std(axis=0), rel=1e-3)


def test_ties_count_half_and_pairs_are_found():
    rng = np.random.default_rng(5)
    chosen = {str(index): each for index, each in enumerate(space().sample(rng, 20))}
    rating = np.array([2.0 * (each["active"] and each["elitist"]) for each in chosen.values()])
    values = -np.round(rating + rng.gumbel(size=(80, 1, 20)))
    rankings = Rankings.of(values, times=[1.0], algorithms=list(chosen))
    effects = fit_effects(space(), chosen, rankings, pairs=[("active", "elitist")], rng=rng)
    share = effects.importance()
    assert share["active & elitist"].mean[0] > share["mirrored"].high[0]
    even = Rankings.of(np.zeros((10, 1, 20)), times=[1.0], algorithms=list(chosen))
    assert np.abs(fit_effects(space(), chosen, even, rng=rng).draws.mean(axis=0)).max() < 0.2


@dataclass(frozen=True)
class Odd:
    """An optimizer whose words look like the names of columns."""

    rule: str = "a=b"
    law: str = "x & y"
    name: str = "odd"

    def __call__(self, problem, rng):
        raise NotImplementedError


def test_options_may_look_like_the_names_of_columns():
    odd = spaces.of(Odd, {"rule": ["a=b", "a & b", "a"], "law": ["x & y", "x=y"]})
    chosen = {str(index): each for index, each in enumerate(odd.sample(np.random.default_rng(4), 30))}
    better = np.array([2.0 * (each["rule"] == "a & b") for each in chosen.values()])
    luck = np.random.default_rng(5).gumbel(size=(60, 1, len(chosen)))
    rankings = Rankings.of(-(better + luck), times=[1], algorithms=list(chosen))
    effects = fit_effects(odd, chosen, rankings, pairs=[("rule", "law")], rng=np.random.default_rng(0))
    rules, both = effects.of("rule"), effects.groups[2]
    assert list(rules) == ["a=b", "a & b", "a"]
    assert rules["a & b"].low[0] > 0 > rules["a"].high[0]
    assert (both.names, both.options[0], len(both.options)) == (("rule", "law"), ("a=b", "x & y"), 6)
    assert list(effects.importance()) == ["law", "rule", "rule & law"]


def test_faults_are_named():
    chosen, rankings = simulated(1, instances=4)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="'0', which is missing from configurations"):
        fit_effects(space(), {}, rankings, rng=rng)
    with pytest.raises(ValueError, match="'c1' is not a module"):
        fit_effects(space(), chosen, rankings, pairs=[("c1", "active")], rng=rng)
    effects = fit_effects(space(), chosen, rankings, draws=10, rng=rng)
    with pytest.raises(ValueError, match="no parameter 'c1'; choose from: active"):
        effects.of("c1")


@pytest.mark.slow
@pytest.mark.statistical
def test_bands_cover_what_they_say():
    """95 % bands of 7 effects in 150 simulations; the simulations are independent, effects in one of them are not."""
    covered = []
    for seed in range(150):
        chosen, rankings = simulated(1000 + seed, instances=40, size=16)
        effects = fit_effects(space(), chosen, rankings, rng=np.random.default_rng(seed))
        for name in ("mirrored", "active"):
            centre = np.mean(list(TRUE[name].values()))
            for option, value in TRUE[name].items():
                band = effects.of(name)[str(option)]
                covered.append(band.low[1] <= value - centre <= band.high[1])
        for band in effects.of("elitist").values():
            covered.append(band.low[1] <= 0 <= band.high[1])
    assert np.mean(covered) == pytest.approx(0.95, abs=0.035)


def test_what_parameters_contribute_adds_up_to_the_difference_of_ratings():
    """Differences of predicted log ratings are the sum of differences of contributions, as the model has it."""
    chosen, rankings = simulated(4)
    effects = fit_effects(space(), chosen, rankings, draws=50, rng=np.random.default_rng(1))
    first, second = list(chosen.values())[:2]
    ratings = effects.predict([first, second])
    mine, theirs = (sum(effects.contributions(each).values()) for each in (first, second))
    np.testing.assert_allclose(mine - theirs, ratings[:, :, 0] - ratings[:, :, 1], atol=1e-9)
    option = "True" if first["active"] else "False"
    np.testing.assert_allclose(effects.contributions(first)["active"].mean(axis=0), effects.of("active")[option].mean)
