"""Which features of its instances decide a race: simulated runs whose effect is known."""

import json

import numpy as np
import polars as pl
import pytest

from polarbear.analyzer import ratings_by_features
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory
from polarbear.results import Result
from polarbear.study import recorded_race, recorded_result
from tests.cli.commands import polarbear

FUNCTIONS = 80
RNG = np.random.default_rng(3)
SLOPE, LUCK = RNG.normal(size=(2, FUNCTIONS))
TABLE = pl.DataFrame({"instance": [f"toy-f{f}-i1-d2" for f in range(FUNCTIONS)], "slope": SLOPE, "luck": LUCK})


def recorded(algorithm, function, ratings):
    """A run that is as good as its algorithm's Plackett–Luce rating on the function, at both times."""
    values = np.array([2.0, 1.0]) * np.exp(-ratings - RNG.gumbel())
    end = Outcome(Reason.BUDGET, 100, 0.0)
    key = RunKey(f"toy-f{function}-i1-d2", algorithm, 1)
    return Run(key, Trajectory(np.array([1, 50]), np.zeros(2), values, end), None, 0.0)


@pytest.fixture(scope="module")
def result():
    runs = [
        recorded(algorithm, function, effect * SLOPE[function])
        for function in range(FUNCTIONS)
        for algorithm, effect in (("steady", 0.0), ("climber", 2.0))
    ]
    return Result.of(recorded_result(recorded_race(runs, times=[10, 100]), runs))


def test_the_one_that_does_is_found_and_says_who_is_best(result):
    ratings = result.by_features(TABLE)
    shares = ratings.importance()
    assert (shares["slope"].mean > 0.9).all()
    assert (shares["slope"].positive > 0.99).all()
    assert (ratings.effect("slope").low[:, ratings.names.index("climber")] > 0).all()
    for slope, best in ((2.0, "climber"), (-2.0, "steady")):
        given = ratings.given({"slope": slope})
        assert given.names[int(given.draws[:, -1].mean(axis=0).argmax())] == best


def test_a_table_is_read_by_name_and_its_rows_of_an_instance_are_averaged(result):
    order = [each.name for each in result.problems]
    by_name = dict(zip(TABLE["instance"], TABLE.select("slope", "luck").rows(), strict=True))
    columns = dict(zip(("slope", "luck"), np.array([by_name[name] for name in order]).T, strict=True))
    shifted = TABLE.with_columns(pl.col("slope") + 1, pl.col("luck") - 1)
    twice = pl.concat([TABLE.with_columns(pl.col("slope") - 1, pl.col("luck") + 1), shifted]).sample(
        fraction=1.0, shuffle=True, seed=1
    )
    expected = ratings_by_features(result, columns, draws=50)
    np.testing.assert_allclose(ratings_by_features(result, twice, draws=50).draws, expected.draws, atol=1e-6)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE.drop("instance"), "has no column 'instance'; it has slope, luck"),
        (TABLE.head(79), "the table of features has no row for toy-f79-i1-d2"),
        (TABLE.with_columns(kind=pl.lit("a")), "column 'kind' of the table of features is not numeric"),
        ({"slope": [1.0, 2.0]}, "feature 'slope' has shape"),
    ],
)
def test_faults_are_named(result, table, message):
    with pytest.raises(ValueError, match=message):
        result.by_features(table)


def test_the_command_tells_them_of_runs_and_a_table_of_landscapes(tmp_path):
    (tmp_path / "plan.toml").write_text(
        '[plan]\nbudget = 60\nrepetitions = 1\n[instances]\nsuite = "bbob"\nfunctions = "1-6"\ndimensions = [2]\n'
        'instances = "1-2"\n[[algorithms]]\noptimizer = "random-search"\n[[algorithms]]\noptimizer = "scipy-minimize"\n'
    )
    polarbear("run", "plan.toml", cwd=tmp_path)
    polarbear("landscape", "features", "plan.toml", "--designs", 2, "--points", 40, "--set", "nbc", cwd=tmp_path)
    command = ("check", "plan.study", "--features", "plan.landscape/features.csv")
    told = json.loads(polarbear(*command, "--json", cwd=tmp_path)[0])
    assert len(told["times"]) == len(told["deciding features"]["nbc.nb_fitness.cor"]["share"])
    assert "nbc.nb_fitness.cor" in polarbear(*command, cwd=tmp_path)[0]
    (tmp_path / "wrong.csv").write_text("slope\n1\n")
    assert "has no column 'instance'" in polarbear(*command[:-1], "wrong.csv", code=2, cwd=tmp_path)[1]
