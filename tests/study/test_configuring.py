"""Configuring an optimizer on problems, from Python and from the command line."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import polarbear as pb
from polarbear import study
from polarbear.analyzer.modules import module_figures
from polarbear.configure import Configurator, spaces
from polarbear.study.configuration_result import means_of
from tests.cli.commands import polarbear

FILE = """
[configure]
budget = 60
times = { first = "2*d", last = "20*d", count = 4 }
validate_on = 8

[space]
optimizer = "modular-cmaes"
modules = ["active", "elitist"]

[space.ranges]
population_size = [4, 20]

[instances]
suite = "bbob"
functions = [1]
dimensions = [2]
"""


@dataclass(frozen=True)
class Climber:
    """A (1+1) evolution strategy whose steps may be hopeless, or which may break."""

    step: float = 1e-4
    broken: bool = False
    start: str = "anywhere"
    name: str = "climber"

    def __call__(self, problem, rng):
        if self.broken:
            raise RuntimeError("the climber fell")
        best = rng.uniform(problem.lower, problem.upper) if self.start == "anywhere" else np.array(problem.upper)
        value = problem(best)
        while True:
            trial = np.clip(best + self.step * rng.normal(size=problem.dimension), problem.lower, problem.upper)
            if (found := problem(trial)) < value:
                best, value = trial, found


def sphere(x):
    return float(np.sum(x**2))


def problems():
    return [pb.problems.FunctionProblem(sphere, lower=-5, upper=5, dimension=2, optimum=0)]


def configurator(**options):
    space = spaces.of(Climber, step={"from": 1e-4, "to": 10, "log": True})
    return Configurator(space, times=[20, 100], **{"budget": 80} | options)


class Stop(study.ConfigureObserver):
    def __init__(self, after):
        self.left = after

    def run_finished(self, configurator):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_the_step_of_a_users_own_optimizer_is_found_and_its_worth_told(tmp_path):
    result = study.configure(configurator(), problems(), tmp_path / "c.study", validate=16)
    best = result.configurator.elites[0]
    assert 0.05 < result.configurator.configurations[best]["step"] < 8  # the default, 1e-4, does not move
    assert best in result.pareto_set
    mean, low, high = result.wins[best].found
    assert 0.6 < low < mean < high <= 1
    assert result.means[best].found[0] < result.wins[best].promised
    assert pb.load(result.path).pareto_set == result.pareto_set  # the race on fresh runs is an ordinary study
    seeds = {key.seed for key in pb.store.open(tmp_path / "c.study")}
    assert not seeds & {key.seed for key in pb.store.open(result.path)}
    told = str(result)
    assert result.recommended == result.as_dict()["recommended"] in result.configurator.elites
    assert f"recommended: {result.recommended}; with probability 95%" in told
    assert f"{best} beats the default in" in told
    assert f"{best} has mean-aocc {result.means[best].found[0]:.4g} (" in told
    assert result.means[best].gap == result.means[best].found[0] - result.means[best].promised
    assert "default is dominated with probability 1.00" in told
    assert result.dominated["default"] > 0.99 > 0.95 > result.dominated[best]


@pytest.mark.slow
def test_an_interrupted_search_goes_on_as_if_it_had_not_been(tmp_path):
    whole = study.configure(configurator(), problems(), tmp_path / "whole.study", validate=4)
    with pytest.raises(KeyboardInterrupt):
        study.configure(configurator(), problems(), tmp_path / "c.study", validate=4, observer=Stop(33))
    with pb.store.open(tmp_path / "c.study") as kept:
        assert 0 < len(list(kept)) < whole.configurator.spent
    resumed = study.configure(configurator(), problems(), tmp_path / "c.study", validate=4, workers=2)
    assert resumed.configurator.iterations == whole.configurator.iterations
    assert resumed.as_dict() | {"race": ""} == whole.as_dict() | {"race": ""}
    with pytest.raises(study.OtherSettings, match=r"configure\.budget was 80"):
        study.configure(configurator(budget=90), problems(), tmp_path / "c.study")


@pytest.mark.slow
def test_where_the_optimum_is_unknown_the_mean_is_of_the_value_at_the_end(tmp_path):
    unknown = [pb.problems.FunctionProblem(sphere, lower=-5, upper=5, dimension=2)]
    result = study.configure(configurator(), unknown, tmp_path / "c.study", validate=16)
    best = result.configurator.elites[0]
    assert result.criterion == "final"
    assert result.means[best].found[2] < result.means["default"].found[1]
    assert f"{best} has final " in str(result)
    assert "mean-aocc needs the optimum, which is unknown" in str(result)
    assert result.as_dict()["means"][best]["gap"] == result.means[best].gap


@dataclass(frozen=True)
class Chooser(Climber):
    """A climber that chooses a long step by itself, and takes the shorter of two."""

    step: float | None = None
    other: float | None = None

    def __call__(self, problem, rng):
        given = [each for each in (self.step, self.other) if each is not None]
        return Climber(min(given, default=1.0))(problem, rng)


def chooser():
    return Configurator(spaces.of(Chooser, step=(0, 0.01)), times=[20, 100], budget=80)


def test_the_default_is_the_optimizer_as_it_is_without_the_space(tmp_path):
    """Steps of 0.005, the middle of the range, hardly move, as none does that the space has; its own of 1 does."""
    result = study.configure(chooser(), problems(), tmp_path / "c.study", validate=16)
    assert result.default == {}
    assert result.pareto_set == ("default",)
    assert "the default: step chosen by the optimizer" in str(result)
    with pb.store.open(tmp_path / "c.study") as kept:
        assert kept.spec["algorithms"]["default"] == pb.optimizers.describe(Chooser())


def test_a_study_that_began_with_another_default_goes_on_with_it(tmp_path):
    """As those do that are older than defaults which lack parameters."""
    older = chooser()
    older.begin_with({"step": 0.005})
    whole = study.configure(older, problems(), tmp_path / "c.study", validate=4)
    with pytest.warns(UserWarning, match=r"started with another default, \{'step': 0.005\}, and continues that way"):
        resumed = study.configure(chooser(), problems(), tmp_path / "c.study", validate=4)
    assert resumed.as_dict() == whole.as_dict()
    assert resumed.configurator.iterations == whole.configurator.iterations
    assert "the default: step = 0.005" in str(resumed)


def test_other_configurations_to_include_are_other_settings(tmp_path):
    def including(*steps):
        return configurator(budget=120, include=[{"step": step} for step in steps])

    path = tmp_path / "c.study"
    first = study.configure(including(0.5, 2.0), problems(), path, validate=0)
    with pytest.raises(study.OtherSettings, match=r"configure\.include was \[\{'step': 0\.5\}, .* and is now \[\]"):
        study.configure(including(), problems(), path, validate=0)
    with pb.store.open(path, write=True) as kept:  # as older studies are
        older = {key: each for key, each in kept.spec["configure"].items() if key != "include"}
        kept.replace_spec({**kept.spec, "configure": older})
    for steps in ((), (0.5,), (0.5, 2.0, 3.0), (0.5, 3.0)):
        with pytest.raises(study.OtherSettings, match=r"did not start with .* made with another include"):
            study.configure(including(*steps), problems(), path, validate=0)
    again = study.configure(including(0.5, 2.0), problems(), path, validate=0)
    assert again.configurator.iterations == first.configurator.iterations
    with pb.store.open(path) as kept:
        assert kept.spec["configure"] == older


def test_effects_are_inferred_from_a_study_without_importing_what_it_names(tmp_path):
    study.configure(configurator(newcomers="modelled"), problems(), tmp_path / "c.study", validate=2)
    effects = study.effects_of(tmp_path / "c.study", draws=200)
    step = effects.of("step")
    assert step["lowest"].high[-1] < step["middle"].low[-1]
    with pytest.raises(pb.store.StudyError, match="not the study of a configurator"):
        study.effects_of(tmp_path / "c-race.study")


@pytest.mark.slow
def test_a_module_that_helps_is_found_to_help_and_its_searches_go_on(tmp_path):
    """Without it the step stays at 1e-4 and the start alone varies, which does not help within 100 evaluations."""
    space = spaces.of(Climber, {"start": ["anywhere", "corner"]}, step={"from": 1e-4, "to": 10, "log": True})
    for _ in range(2):  # the second time all runs are there
        search = Configurator(space, times=[20, 100], budget=60)
        assessed = study.assess_module(search, "step", problems(), tmp_path / "c.study", validate=8)
    assert assessed.better[-1] > 0.95
    assert assessed.wins[1] > 0.5
    assert any(1e-2 < option < 8 for option in assessed.options.values())
    assert set(json.loads(json.dumps(assessed.as_dict()))["effects"]) == {"lowest", "middle", "highest"}
    assert pb.load(assessed.path).pareto_set == assessed.race.pareto_set
    with pb.store.open(tmp_path / "c-without.study") as kept:
        assert not any("step" in each for each in kept.spec["configurations"].values())
    assert set(module_figures(tmp_path / "c.study", study.effects_of(tmp_path / "c.study"))) >= {"elites"}
    drawn = module_figures(tmp_path / "c.study", study.effects_of(tmp_path / "c.study"), [tmp_path / "c-without.study"])
    assert set(drawn) >= {"elites", "options", "initial", "changes"}
    corner = dict[str, float]()
    for side, path in (("with-", tmp_path / "c.study"), ("without-", tmp_path / "c-without.study")):
        names = [name for name in assessed.race.posterior.names if name.startswith(side)] or ["default"]
        with pb.store.open(path) as kept:
            elites = [kept.spec["configurations"][name.removeprefix(side)] for name in names]
        corner[side] = np.mean([each["start"] == "corner" for each in elites])
    change = corner["with-"] - corner["without-"]
    (cells,) = (mark for mark in drawn["changes"].panels[0].marks if hasattr(mark, "shades"))
    np.testing.assert_allclose(np.sort(np.ravel(cells.value)), np.sort([change, -change]))
    with pytest.raises(ValueError, match="the space has no parameter 'steps'; did you mean 'step'"):
        study.assess_module(Configurator(space, times=[20], budget=60), "steps", problems(), tmp_path / "d.study")
    worse = spaces.of(Chooser, step=(0, 0.01), other=(0, 0.01))
    with pytest.raises(study.NothingToCompare, match="with a larger budget"):
        study.assess_module(Configurator(worse, times=[100], budget=80), "step", problems(), tmp_path / "d.study")


@pytest.mark.slow
def test_the_command_assesses_a_module(tmp_path):
    file = tmp_path / "space.toml"
    file.write_text(FILE.replace("validate_on = 8", "validate_on = 2"))
    assert "the best with elitist beats the best without it" in polarbear("configure", file, "--new", "elitist")[0]
    assert "has no parameter 'elite'" in polarbear("configure", file, "--new", "elite", code=2)[1]


def test_a_space_in_which_all_crash_is_told_so_and_keeps_its_runs(tmp_path):
    space = spaces.of(Climber, {"step": [0.1, 1.0]}, fixed={"broken": True})
    crashing = Configurator(space, times=[20, 100], budget=40)
    with pytest.raises(study.EveryRunFailed, match="the climber fell"):
        study.configure(crashing, problems(), tmp_path / "c.study")
    with pb.store.open(tmp_path / "c.study") as kept:
        assert len(list(kept)) > 1


def test_fresh_runs_that_were_all_cut_short_tell_no_means():
    searched = configurator()
    while requests := searched.ask():
        searched.tell(cut_short(each.key, pb.Reason.BUDGET, 100) for each in requests)
    runs = [cut_short(pb.RunKey("fresh", name, 1), pb.Reason.TIMED_OUT, 7) for name in searched.elites]
    assert means_of(searched, runs, searched.elites) == ("mean-aocc", {})


def cut_short(key, reason, evaluations):
    trajectory = pb.Trajectory(np.array([1]), np.zeros(1), np.ones(1), pb.Outcome(reason, evaluations, 0.5))
    return pb.Run(key, trajectory, optimum=0.0)


def test_a_space_and_settings_are_searched_as_their_configurator_is(tmp_path):
    space, times = configurator().space, [20, 100]
    settings = {"times": times, "include": [{"step": 1.0}], "first": 4, "validate": 0}
    found = study.configure(space, problems(), tmp_path / "c.study", runs=40, **settings)
    same = Configurator(space, times=times, budget=40, first=4, include=[{"step": 1.0}])
    assert study.configure(same, problems(), tmp_path / "c.study", validate=0).as_dict() == found.as_dict()
    for wrong in ({"runs": 40}, {"times": times}, {"times": times, "runs": 40, "unit": "seconds"}, {"unit": "runs"}):
        with pytest.raises(TypeError, match="a space needs times, and either runs or budget and unit; given:"):
            study.configure(space, problems(), tmp_path / "d.study", **wrong)
    with pytest.raises(TypeError, match="first can only be given with a space; a Configurator has its own"):
        study.configure(configurator(), problems(), tmp_path / "d.study", first=3)


def test_a_search_that_was_told_runs_elsewhere_is_refused(tmp_path):
    used = configurator()
    study.configure(used, problems(), tmp_path / "c.study", validate=2)
    with pytest.raises(ValueError, match="already been told runs"):
        study.configure(used, problems(), tmp_path / "d.study")


def test_the_command_configures_resumes_and_says_what_is_wrong(tmp_path):
    file = tmp_path / "space.toml"
    file.write_text(FILE)
    printed, told = polarbear("configure", file)
    assert "configurations tried" in printed
    assert "beats the default" in printed
    assert "mean-aocc" in printed
    assert "P(dominated)" in printed
    assert "gap: value on fresh instances minus promised value" in printed
    assert "iteration 1:" in told
    told = json.loads(polarbear("modules", tmp_path / "space.study", "--pair", "active,elitist", "--json")[0])
    assert set(told["importance"]) == {"active", "elitist", "population_size", "active & elitist"}
    drawn = polarbear("modules", tmp_path / "space.study", "--figures", tmp_path / "drawn")[0]
    assert "population_size: lowest" in drawn
    files = {each.stem for each in (tmp_path / "drawn").iterdir()}
    assert files == {"importance", "effects", "options", "configurations", "elites", "initial"}
    assert str(tmp_path / "drawn" / "elites.svg") in drawn
    assert "--pair is 'active'" in polarbear("modules", tmp_path / "space.study", "--pair", "active", code=2)[1]
    found = json.loads(polarbear("configure", file, "--json")[0])
    assert set(found["configurations"]) == set(found["pareto_set"])
    assert found["dominated"].keys() == found["means"].keys()
    assert "continue with polarbear configure" in polarbear("resume", tmp_path / "space.study", code=2)[1]
    assert "this is a configurator's file, not a race" in polarbear("race", file, code=2)[1]
    file.write_text(FILE.replace("budget = 60", "budget = -1"))
    assert "line 3: configure.budget" in polarbear("configure", file, code=2)[1]
    file.write_text(FILE.replace('"elitist"', '"elitism"'))
    assert "line 9: ModularCMAES declares no options for 'elitism'" in polarbear("configure", file, code=2)[1]


@pytest.mark.slow
def test_options_of_elites_are_drawn_over_searches(tmp_path):
    """Shares are those counted by hand; the first configurations are beside the default, which does not move."""
    space = spaces.of(Climber, {"start": ["anywhere", "corner"]}, step={"from": 1e-4, "to": 10, "log": True})
    paths = [tmp_path / "a.study", tmp_path / "b.study"]
    for seed, path in enumerate(paths):
        study.configure(Configurator(space, times=[20, 100], budget=80, seed=seed), problems(), path, validate=4)
    drawn = module_figures(paths[0], study.effects_of(paths[0], draws=100), paths[1:])
    columns = []
    for path in paths:
        with pb.store.open(path) as kept, pb.store.open(path.with_name(f"{path.stem}-race.study")) as raced:
            names = [name for name in raced.spec["algorithms"] if name != "default"]
            corner = np.mean([kept.spec["configurations"][name]["start"] == "corner" for name in names])
            initial = kept.spec["initial"]
            assert initial[0] == "default"
            assert 1 < len(initial) < len(kept.spec["configurations"])
        columns.append([1 - corner, corner])
    (cells,) = (mark for mark in drawn["options"].panels[0].marks if hasattr(mark, "shades"))
    assert np.sort(np.ravel(cells.value)) == pytest.approx(np.sort(np.ravel(columns)))
    gains = {mark.algorithm: mark.x for mark in drawn["initial"].panels[0].marks if mark.algorithm}
    assert set(gains) == {"a", "b"}
    assert max(gains["a"]) > 0
    assert "changes" not in drawn
