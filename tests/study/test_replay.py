"""Races on recorded runs: a race that gets its runs from an archive decides as one that gets them from the truth."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from polarbear import Race
from polarbear.inference import GaussianProcess, fit
from polarbear.rankings import Rankings
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory
from polarbear.simulate import prior_truth
from polarbear.study import load, recorded_groups, recorded_race, replay, usual_pooling

TIMES = np.arange(1.0, 13.0)
TRUTH = prior_truth(GaussianProcess(), TIMES, 4, np.random.default_rng(3), hyperparameters={"sigma": 1.5, "ell": 0.5})
RECORDED = [
    TRUTH.run(RunKey(f"f-{block:03d}", name, seed), until=30)
    for block in range(60)
    for seed in (0, 1)
    for name in TRUTH.names
]


def fresh(**settings):
    return Race(TRUTH.names, times=TIMES, draws=500, seed=5, **settings)


def test_it_decides_as_a_race_whose_runs_are_cut_by_hand():
    found = replay(fresh(), RECORDED)
    race, spent = fresh(), 0
    blocks = sorted({(run.key.instance, run.key.seed) for run in RECORDED})
    order = np.random.default_rng([5, 1]).permutation(len(blocks))
    while requests := race.ask(len(blocks)):
        runs = []
        for request in requests:
            instance, seed = blocks[order[request.draw]]
            cut = TRUTH.run(RunKey(instance, request.key.algorithm, seed), until=request.until)
            runs.append(replace(cut, key=replace(request.key, instance=instance)))
            spent += request.until
        race.tell(runs)
    assert found.result.pareto_set == race.pareto_set
    np.testing.assert_array_equal(found.result.values, race.result().values)
    assert found.spent == spent
    assert found.recorded == len(RECORDED) * 12
    assert 0 < found.saved < 1


def test_all_runs_together_are_one_round():
    found = replay(fresh(), RECORDED)
    assert found.everything.values.shape == (120, 12, 4)
    assert len(found.everything.rounds) == 1
    assert found.as_dict()["pareto_set_of_all_runs"] == list(found.everything.pareto_set)
    assert "saved" in str(found)


def test_instances_that_lack_an_algorithm_give_partial_rankings():
    chosen = np.random.default_rng(4).random(len(RECORDED)) < 0.6
    some = list(itertools.compress(RECORDED, chosen))
    found = replay(fresh(), some)
    sizes = chosen.reshape(120, 4).sum(axis=1)
    assert (found.blocks, found.whole, found.passed_over) == tuple(
        np.count_nonzero(condition) for condition in (sizes > 1, sizes == 4, sizes == 1)
    )
    values = np.full((120, 4, 12), np.nan)
    for run in some:
        row = 2 * int(run.key.instance[2:]) + run.key.seed
        values[row, TRUTH.names.index(run.key.algorithm)] = run.trajectory.value_at(TIMES)
    values = np.swapaxes(values, 1, 2)[sizes > 1]
    np.testing.assert_array_equal(found.everything.values, values)
    settings = found.result.settings
    rng = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(1,)))
    expected = fit(Rankings.of(values, times=TIMES), model=fresh().model, draws=500, rng=rng)
    np.testing.assert_array_equal(found.everything.posterior.draws, expected.draws)
    used = np.isfinite(found.result.values)
    assert found.spent == np.sum(used.sum(axis=1))  # values were found, and asked for, from 1 to the end
    assert found.recorded == 12 * sizes[sizes > 1].sum()


def test_algorithms_that_no_instances_link_are_an_error():
    alone = [run for run in RECORDED if (run.key.algorithm == "A") == (run.key.seed == 0)]
    with pytest.raises(ValueError, match="both of one of A and of one of B, C, D, so they cannot be compared"):
        replay(fresh(), alone)
    chain = [run for run in RECORDED if run.key.algorithm in ("AB", "BC", "CD")[int(run.key.instance[2:]) % 3]]
    assert replay(fresh(), chain).whole == 0
    apart = [run for run in RECORDED if run.key.algorithm in ("AC", "BD")[run.key.seed]]
    with pytest.raises(ValueError, match="one of A, C and of one of B, D, so they"):
        replay(fresh(), apart)


def test_a_race_on_recorded_runs_is_kept_as_a_study(tmp_path):
    some = [run for run in RECORDED if (run.key.algorithm, run.key.seed) != ("A", 0)]
    found = replay(fresh(), some, into=tmp_path / "raced.study")
    view = load(tmp_path / "raced.study")
    np.testing.assert_array_equal(view.result.values, found.result.values)
    np.testing.assert_array_equal(view.result.posterior.draws, found.result.posterior.draws)
    assert (view.result.rounds, view.result.undecided) == (found.result.rounds, found.result.undecided)
    assert (view.damaged, view.failures) == ((), ())
    assert view.result.evaluations == found.spent
    with pytest.raises(FileExistsError, match="is already a study"):
        replay(fresh(), some, into=tmp_path / "raced.study")


def test_two_runs_of_one_key_are_an_error():
    with pytest.raises(ValueError, match=r"two runs of A on f-000 \(seed 0\); give each repetition its own seed"):
        replay(fresh(), [*RECORDED, RECORDED[0]])


@pytest.mark.parametrize("axis", ["evaluations", "seconds"])
def test_a_run_is_cut_where_the_race_stops_it_and_unknown_beyond_its_own_end(axis):
    def run(name, reason, values):
        steps = np.arange(1, len(values) + 1)
        return Run(RunKey("f", name, 0), Trajectory(steps, steps, values, Outcome(reason, len(values), len(values))))

    runs = [
        run("cut", Reason.BUDGET, [3.0, 2.0]),
        run("ended", Reason.STOPPED, [4.0]),
        run("long", Reason.BUDGET, [5.0, 4.5, 1.0, 0.5]),
    ]
    race = recorded_race(runs, times=[1.0, 2.0, 3.0], axis=axis, draws=200)
    found = replay(race, runs)
    np.testing.assert_array_equal(found.result.values[0], [[3.0, 4.0, 5.0], [2.0, 4.0, 4.5], [np.nan, 4.0, 1.0]])
    assert found.recorded == 2 + 1 + 3


def test_default_timepoints_end_where_half_of_the_runs_of_every_algorithm_did():
    runs = [replace(run, trajectory=run.trajectory) for run in RECORDED]
    race = recorded_race(runs, model=GaussianProcess())
    assert race.names == TRUTH.names
    assert (race.times[0], race.times[-1]) == (10, 30)
    short = [TRUTH.run(run.key, until=5) for run in RECORDED]
    with pytest.raises(ValueError, match="ended within 5 evaluations; give timepoints"):
        recorded_race(short)


def timed(seconds, *, names=("A", "B"), first=0.05, blocks=30):
    """Runs of a budget in seconds that they overshoot by a little; B is better throughout."""
    rng = np.random.default_rng(8)
    runs = []
    for block in range(blocks):
        for name in names:
            at = np.sort(rng.uniform(first, seconds, 20))
            values = 10.0 ** -np.arange(20) * (1 + rng.random()) * (1.0 if name == "A" else 0.1)
            end = Outcome(Reason.BUDGET, 500, seconds * (1 + 0.01 * rng.random()))
            steps = np.arange(1, 21)
            runs.append(Run(RunKey(f"f-{block}", name, 0), Trajectory(steps, np.append(first, at[1:]), values, end)))
    return runs


def untimed(run):
    """The run as data hold it that tell no seconds."""
    told = run.trajectory
    end = replace(told.outcome, seconds=0.0)
    return replace(run, trajectory=Trajectory(told.evaluations, np.zeros(told.values.size), told.values, end))


UNTIMED = [untimed(run) for run in RECORDED]
PLANNED, RACED = {"plan": {"axis": "seconds"}}, {"race": {"axis": "seconds"}}


@pytest.mark.parametrize(
    "spec", [PLANNED, RACED, {"merged": [{"spec": PLANNED}, {"spec": {"merged": [{"spec": RACED}]}}]}]
)
def test_a_race_on_a_study_of_seconds_is_over_seconds(spec):
    runs = timed(2.0)
    race = recorded_race(runs, spec=spec, draws=300, alpha=0.9)
    assert race.settings.axis == "seconds"
    np.testing.assert_allclose(race.times, np.geomspace(0.05, 2.0, 50), rtol=1e-12)
    found = replay(race, runs)
    assert found.recorded == pytest.approx(60 * 2.0)
    assert not np.isnan(found.everything.values).any()  # all runs reach the last timepoint
    assert str(found).startswith(f"seconds spent: {found.spent:.3g} of 120 recorded")


@pytest.mark.parametrize(
    ("spec", "runs"),
    [
        (None, timed(2.0)),
        ({"imported": []}, timed(2.0)),
        ({"plan": {"axis": "evaluations"}}, timed(2.0)),
        ({"merged": [{"spec": PLANNED}, {"spec": {"race": {"axis": "evaluations"}}}]}, timed(2.0)),
        (PLANNED, UNTIMED),
    ],
    ids=["no study", "imported", "on evaluations", "on both", "without times"],
)
def test_other_races_are_over_evaluations(spec, runs):
    race = recorded_race(runs, spec=spec)
    assert race.settings.axis == "evaluations"
    assert race.times[0] == 10


def test_an_axis_that_is_given_counts():
    assert recorded_race(timed(2.0), spec=PLANNED, axis="evaluations").times[-1] == 500
    assert recorded_race(timed(2.0), axis="seconds").times[-1] == 2.0


def test_usual_timepoints_in_seconds():
    """From a thousandth of the last one, or from when half of the runs of the slowest beginner had a value."""
    early = recorded_race(timed(0.3, first=1e-5), axis="seconds")
    assert (early.times[0], early.times[-1]) == (pytest.approx(3e-4), 0.3)
    late = timed(0.3, names=["A"]) + timed(0.3, names=["B"], first=0.2)
    assert recorded_race(late, axis="seconds").times[0] == pytest.approx(0.2)
    nothing = [
        replace(run, trajectory=Trajectory.empty(run.outcome)) if run.key.algorithm == "B" else run
        for run in timed(0.3)
    ]
    with pytest.raises(ValueError, match=r"half of the runs of an algorithm found no value within 0\.3 s; give timep"):
        recorded_race(nothing, axis="seconds")
    with pytest.raises(ValueError, match="ended within 0 seconds; give timepoints"):
        recorded_race(UNTIMED, axis="seconds")


@pytest.mark.parametrize(
    ("budget", "first", "last"),
    [("20", 10, 20), (20, 10, 20), ("8", 4, 8), ("2..20", 2, 20), ("1*d..4*d", 5, 20), ("4 * d", 10, 20)],
)
def test_timepoints_reach_to_a_budget_or_over_a_range(budget, first, last):
    named = [replace(run, key=replace(run.key, instance=f"bbob-f1-i{run.key.instance[2:]}-d5")) for run in RECORDED]
    times = recorded_race(named, budget=budget).times
    assert (times[0], times[-1]) == (first, last)
    mixed = [*named, replace(named[0], key=replace(named[0].key, instance="bbob-f1-i1-d2"))]
    if "d" in str(budget):
        with pytest.raises(ValueError, match="needs one dimension"):
            recorded_race(mixed, budget=budget)


@pytest.mark.parametrize("budget", ["uniform", "normal(30, 5)"])
def test_runs_are_not_compared_up_to_a_distribution(budget):
    with pytest.raises(ValueError, match="give one up to which to compare runs, or a range"):
        recorded_race(RECORDED, budget=budget)


def test_recorded_runs_are_grouped_by_function_and_dimension_unless_pooled():
    names = ["bbob-f10-i1-d2", "bbob-f2-i1-d2", "bbob-f2-i7-d5", "sphere-d5", "rastrigin-d5", "mine"]
    runs = [replace(RECORDED[0], key=RunKey(name, "A", 0)) for name in names]

    def grouped(*pooled):
        return {group.name: [run.key.instance for run in group.runs] for group in recorded_groups(runs, pooled)}

    assert grouped() == {
        "all problems": ["mine"],
        "in 5-D": ["sphere-d5", "rastrigin-d5"],
        "bbob f2 in 2-D": ["bbob-f2-i1-d2"],
        "bbob f10 in 2-D": ["bbob-f10-i1-d2"],
        "bbob f2 in 5-D": ["bbob-f2-i7-d5"],
    }
    assert list(grouped("function")) == ["all problems", "in 5-D", "bbob in 2-D", "bbob in 5-D"]
    assert list(grouped("dimension")) == ["all problems", "bbob f2", "bbob f10"]
    assert grouped("function", "dimension") == {"all problems": names}
    assert [group.file for group in recorded_groups(runs)] == ["all", "d5", "bbob-f2-d2", "bbob-f2-d5", "bbob-f10-d2"]


def test_recorded_runs_are_grouped_by_groups_in_place_of_functions():
    names = ["bbob-f9-i1-d2", "bbob-f2-i1-d2", "bbob-f1-i7-d5", "bbob-f1-i2-d2"]
    runs = [replace(RECORDED[0], key=RunKey(name, "A", 0)) for name in names]

    def grouped(*pooled, groups="known"):
        return {each.file: [run.key.instance for run in each.runs] for each in recorded_groups(runs, pooled, groups)}

    assert grouped() == {
        "bbob-moderate_conditioning-d2": names[:1],
        "bbob-separable-d2": [names[1], names[3]],
        "bbob-separable-d5": [names[2]],
    }
    assert grouped("dimension") == {"moderate_conditioning": names[:1], "separable": names[1:]}
    table = {"bbob-f1-i2-d2": "z", "1": "a", "2": "a", "9": "z", "10": "y"}
    assert grouped("dimension", groups=table) == {"z": [names[0], names[3]], "a": names[1:3]}
    assert recorded_groups(runs, (), table)[0].name == "bbob z in 2-D"
    with pytest.raises(ValueError, match="has no row for bbob-f9-d2, bbob-f2-d2; add what is missing, or leave it out"):
        grouped(groups={"1": "a"})


def test_runs_of_a_race_are_pooled():
    assert usual_pooling({"race": {}}) == usual_pooling({"merged": [{"spec": {"race": {}}}]})
    assert usual_pooling({"race": {}}) == ("function", "dimension")
    assert usual_pooling({"plan": {}}) == usual_pooling({}) == ()
