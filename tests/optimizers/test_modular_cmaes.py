"""Every module of the modular CMA-ES takes effect; it runs on, stays in the box's scale, and is reproducible."""

import itertools
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polarbear.optimizers import ModularCMAES
from polarbear.optimizers.adapters.modcma import BASELINE, FAULTY, OPTIONS, RATES, SWITCHES
from polarbear.protocols import PLAIN

FOREIGN_NUMBERS = "ignore:(overflow|invalid value) encountered:RuntimeWarning"
"""PSR of modcma 1.2.0 takes what lies beyond an array for a number, which may be of any size."""
pytestmark = pytest.mark.filterwarnings("ignore:step_size_adaptation is '(PSR|SA)':UserWarning")
CHOICES = [(module, option) for module, options in OPTIONS.items() for option in options]
MODCMA_NAMES = {"step_size_adaptation": "ssa"}


def settings(optimizer, recorder):
    return optimizer.settings(recorder, np.random.default_rng(0))


def test_the_anytime_configuration_is_appendix_b(record, functions):
    """Section B: sigma0 2/10 of the domain, active, repelling, no threshold, COTN, IPOP, UNIFORM; else defaults."""
    given = settings(ModularCMAES.anytime(), record(functions["sphere"], 10, 30))
    modules = given.modules
    assert given.sigma0 == pytest.approx(0.2 * (given.ub - given.lb)[0])
    np.testing.assert_allclose(given.ub - given.lb, 1.0)
    assert (modules.active, modules.repelling_restart, modules.threshold_convergence) == (True, True, False)
    assert modules.bound_correction.name == "COTN"
    assert modules.restart_strategy.name == "IPOP"
    assert modules.center_placement.name == "UNIFORM"
    assert (modules.ssa.name, modules.matrix_adaptation.name) == ("CSA", "COVARIANCE")
    assert (modules.elitist, modules.orthogonal, modules.sequential_selection, modules.sample_sigma) == (False,) * 4
    assert (modules.mirrored.name, modules.weights.name, modules.sampler.name) == ("NONE", "DEFAULT", "UNIFORM")
    assert modules.sample_transformation.name == "GAUSSIAN"
    assert (given.lambda0, given.mu0) == (4 + int(3 * np.log(30)), (4 + int(3 * np.log(30))) // 2)
    assert given.budget == 10**15
    assert all(getattr(given, rate) is None for rate in RATES)


def test_the_defaults_are_modcma_s_own(record, functions):
    from modcma import c_maes

    own = c_maes.parameters.Modules()
    given = settings(ModularCMAES(), record(functions["sphere"], 10)).modules
    for module in OPTIONS:
        name = MODCMA_NAMES.get(module, module)
        assert getattr(given, name) == getattr(own, name), module
    for switch in SWITCHES:
        assert getattr(given, switch) == getattr(own, switch), switch
    assert c_maes.parameters.Settings(5, own).sigma0 == 0.2 * 10


def test_the_options_are_those_of_modcma():
    from modcma import c_maes

    own = c_maes.parameters.Modules()
    for module, options in OPTIONS.items():
        valid = type(getattr(own, MODCMA_NAMES.get(module, module))).__members__
        assert set(options) == set(valid), module


@pytest.mark.parametrize(("module", "option"), CHOICES)
def test_every_option_reaches_modcma(module, option, record, functions):
    optimizer = ModularCMAES(**{module: option.lower()})
    assert getattr(optimizer, module) == option
    given = settings(optimizer, record(functions["sphere"], 10)).modules
    assert getattr(given, MODCMA_NAMES.get(module, module)).name == option


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_switch_reaches_modcma(switch, record, functions):
    for value in (True, False):
        given = settings(ModularCMAES(**{switch: value}), record(functions["sphere"], 10)).modules
        assert getattr(given, switch) is value


def test_numbers_reach_modcma(record, functions):
    rates = {rate: 0.01 * (i + 1) for i, rate in enumerate(RATES)}
    optimizer = ModularCMAES(relative_sigma0=0.05, population_size=20, parents=7, x0=[1, 2], **rates)
    given = settings(optimizer, record(functions["sphere"], 10, 2, lower=[0, -10], upper=[4, 10]))
    assert (given.sigma0, given.lambda0, given.mu0) == (0.05, 20, 7)
    np.testing.assert_allclose(given.x0, [1 / 4, 2 / 20])
    np.testing.assert_allclose(given.lb, [0, -0.5])
    assert {rate: getattr(given, rate) for rate in RATES} == rates


@pytest.mark.parametrize("keywords", [
    {}, {"mirrored": "PAIRWISE"}, {"matrix_adaptation": "CMSA"}, {"step_size_adaptation": "SA", "mirrored": "PAIRWISE"},
])  # fmt: skip
def test_populations_and_parents_are_taken_as_they_are_or_refused(keywords, record, functions):
    """`modcma` makes populations of pairs even, halves too many parents, and reads foreign memory with SA and CMSA."""
    tried = 0
    for dimension in (1, 2, 3, 4, 5, 20, 101):
        recorder = record(functions["sphere"], 10, dimension)
        default = settings(ModularCMAES(**keywords), recorder)
        for size, parents in itertools.product((None, 2, 3, 7, 8), (None, 1, 2, 5, 7, 8, 9, 50)):
            try:
                optimizer = ModularCMAES(population_size=size, parents=parents, **keywords)
            except ValueError:
                assert size is not None
                continue
            if optimizer.refuses(PLAIN, dimension):
                assert size is None
                assert parents > default.lambda0
                with pytest.raises(ValueError, match=f"parents is {parents}, but in dimension {dimension} the pop"):
                    recorder.run(optimizer)
                continue
            tried += 1
            given = settings(optimizer, recorder)
            assert given.lambda0 == (size or default.lambda0)
            assert given.mu0 == parents or (parents is None and 1 <= given.mu0 <= given.lambda0 / 2)
    assert tried > 70


def test_more_parents_than_points_are_refused_by_dimension(record, functions):
    optimizer = ModularCMAES.anytime(parents=9)
    assert "the population has 8 points; give at most 8 parents" in optimizer.refuses(PLAIN, 5)
    assert not optimizer.refuses(PLAIN, 6)  # 4 + ⌊3 ln 6⌋ = 9
    assert len(record(functions["sphere"], 100, 6).run(optimizer).points) == 100


@pytest.mark.filterwarnings(FOREIGN_NUMBERS)
@pytest.mark.parametrize(("module", "option"), [*CHOICES, *((switch, True) for switch in SWITCHES)])
def test_every_option_runs_and_is_reproducible(module, option, record, functions):
    optimizer = ModularCMAES(**{module: option})
    runs = [record(functions["sphere"], 200).run(optimizer, seed) for seed in (3, 3, 4)]
    assert [len(run.points) for run in runs] == [200] * 3
    if option != "PSR":  # modcma 1.2.0 reads foreign memory there
        np.testing.assert_array_equal(runs[0].points, runs[1].points)
    assert not np.array_equal(runs[0].points, runs[2].points)


def test_a_run_does_not_depend_on_the_runs_before_it(record, functions):
    """`modcma` keeps half a pair of normal numbers, which COTN uses, over its own seeding."""
    optimizer = ModularCMAES.anytime()
    first = record(functions["rastrigin"], 3_000, 3, -1, 1).run(optimizer, 5)
    for interrupted in range(1, 40, 3):
        record(functions["rastrigin"], interrupted, 3, -1, 1).run(optimizer, interrupted)
        again = record(functions["rastrigin"], 200, 3, -1, 1).run(optimizer, 5)
        np.testing.assert_array_equal(again.points, first.points[:200])
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import numpy as np; from conftest import Recorder, rastrigin\n"
        "from polarbear.optimizers import ModularCMAES\n"
        "print(repr(np.sum(Recorder(rastrigin, 3000, 3, -1, 1).run(ModularCMAES.anytime(), 5).points)))"
    )
    here = Path(__file__).parent
    printed = subprocess.check_output([sys.executable, "-c", code, str(here)], text=True)
    assert printed.strip() == repr(np.sum(first.points))


@pytest.mark.parametrize("keywords", [
    {"sequential_selection": True},
    {"matrix_adaptation": "NAT"},
    {"matrix_adaptation": "MAT", "step_size_adaptation": "LPXNES"},
    {"matrix_adaptation": "NAT", "step_size_adaptation": "TPA"},
    {"threshold_convergence": True, "bound_correction": "UNIFORM_RESAMPLE"},
    {"restart_strategy": "BIPOP", "sampler": "SOBOL", "mirrored": "PAIRWISE", "orthogonal": True},
])  # fmt: skip
def test_runs_are_repeatable_where_modcma_leaves_memory_unset(keywords, record, functions):
    """Among them runs in which the adaptation breaks down and yields NaN points, which are not evaluated."""
    optimizer = ModularCMAES.anytime(**keywords)
    litter, first = np.random.default_rng(0), None
    for _ in range(5):
        kept = [litter.normal(size=litter.integers(1, 3000)) * 1e3 for _ in range(20)]
        run = record(functions["rastrigin"], 2_000, 3).run(optimizer, 3)
        assert run.stopped
        assert len(run.points) == 2_000
        first = run.points if first is None else first
        np.testing.assert_array_equal(run.points, first)
        del kept[::2]


@pytest.mark.statistical
@pytest.mark.parametrize("matrix", OPTIONS["matrix_adaptation"])
def test_first_steps_are_as_long_as_said(matrix, record, functions):
    optimizer = ModularCMAES(matrix_adaptation=matrix, relative_sigma0=0.01, population_size=400)
    run = record(functions["sphere"], 400, 3, 0, 50).run(optimizer)
    np.testing.assert_allclose(np.std(run.points, axis=0), 0.01 * 50, rtol=0.15)


def test_points_at_infinity_are_not_evaluated(record):
    """With seed 1 the adaptation breaks down twice, to a mean that is NaN and to one that is infinite."""

    def ellipsoid(x):
        with np.errstate(over="ignore"):
            return float(x**2 @ np.arange(1.0, 5.0))

    optimizer = ModularCMAES(
        step_size_adaptation="MXNES", matrix_adaptation="NAT", restart_strategy="BIPOP", bound_correction="RESAMPLE",
        sample_transformation="CAUCHY", active=True, orthogonal=True, repelling_restart=True,
        threshold_convergence=True, parents=1,
    )  # fmt: skip
    runs = [record(ellipsoid, 600, 4).run(optimizer, seed) for seed in (1, 1, 2)]
    assert all(np.isfinite(run.points).all() and len(run.points) == 600 for run in runs)
    np.testing.assert_array_equal(runs[0].points, runs[1].points)


def test_huge_points_are_evaluated(record):
    """Their coordinates' sum may overflow where no coordinate does."""
    optimizer = ModularCMAES(relative_sigma0=10.0, bound_correction="SATURATE")
    run = record(lambda x: 0.0, 100, 3, -8e307, 8e307).run(optimizer)
    assert not np.isfinite([sum(point.tolist()) for point in run.points]).all()


def test_points_beyond_the_largest_number_are_left_out_without_a_warning(record):
    run = record(lambda x: 0.0, 100, 3, -8e307, 8e307).run(ModularCMAES(relative_sigma0=2.0, bound_correction="NONE"))
    assert len(run.points)
    assert np.isfinite(run.points).all()


def test_a_broken_adaptation_is_restarted_and_the_objective_s_own_errors_pass(record):
    def refusing(x):
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        record(refusing, 10).run(ModularCMAES.anytime())


EFFECTLESS = {
    ("matrix_adaptation", "COVARIANCE_NO_EIGV"),  # the same update, computed otherwise
    ("restart_strategy", "STOP"),  # only restarts differ, and 400 evaluations bring none
    ("restart_strategy", "RESTART"),
    ("restart_strategy", "IPOP"),
    ("restart_strategy", "BIPOP"),
    ("repelling_restart", True),
    ("bound_correction", "NONE"),
    ("center_placement", "CENTER"),  # X0 without x0 is the centre
}


EFFECTIVE = [
    choice
    for choice in (*CHOICES, *((switch, True) for switch in SWITCHES))
    if choice not in EFFECTLESS and choice[1] != getattr(ModularCMAES(), choice[0])
]


@pytest.mark.parametrize(("module", "option"), EFFECTIVE)
def test_every_option_changes_the_run(module, option, record, functions):
    """On a problem with its optimum near a corner of an asymmetric box."""
    runs = [
        record(functions["sphere"], 400, 5, -1, 1.0001).run(optimizer)
        for optimizer in (ModularCMAES(), ModularCMAES(**{module: option}))
    ]
    assert not np.array_equal(runs[0].points, runs[1].points)


@pytest.mark.parametrize(
    ("step_size", "matrix"),
    [
        pytest.param(step_size, matrix, marks=() if step_size == "CSA" or matrix == "COVARIANCE" else pytest.mark.slow)
        for step_size in ("CSA", "TPA", "LPXNES")
        for matrix in OPTIONS["matrix_adaptation"]
    ],
)
def test_it_goes_on_with_restarts_beyond_modcma_s_own_budget(step_size, matrix, record, functions):
    """`modcma` would stop after 10,000 · d evaluations."""
    recorder = record(functions["rastrigin"], 21_000, 2)
    recorder.run(ModularCMAES.anytime(step_size_adaptation=step_size, matrix_adaptation=matrix))
    assert recorder.stopped
    assert len(recorder.points) == 21_000


def test_stop_returns_when_converged(record, functions):
    recorder = record(functions["sphere"], 10_000).run(ModularCMAES(restart_strategy="STOP"))
    assert not recorder.stopped
    assert recorder.best < 1e-10
    uniform = ModularCMAES(restart_strategy="STOP", center_placement="UNIFORM")
    assert not record(functions["sphere"], 10_000).run(uniform).stopped


@pytest.mark.statistical
def test_ipop_doubles_the_population_and_restarts_uniformly_in_the_box(record):
    """Restart centres are seen as points after which the search is wide again: on a flat function all are."""
    from modcma import c_maes

    starts = []
    for seed in range(200):
        recorder = record(lambda x: 1.0, 1, 3, lower=[2, -7, 0], upper=[8, -6, 100]).run(
            ModularCMAES.anytime(relative_sigma0=1e-9), seed
        )
        starts.append(recorder.points[0])
    unit = (np.array(starts) - recorder.lower) / (recorder.upper - recorder.lower)
    assert unit.min() > -1e-6
    assert unit.max() < 1 + 1e-6
    np.testing.assert_allclose(unit.mean(axis=0), 0.5, atol=4 * 0.2887 / np.sqrt(200))
    np.testing.assert_allclose(unit.std(axis=0), 0.2887, atol=0.05)

    centers, populations = [], []
    step = c_maes.ModularCMAES.step

    def spied(es, objective):
        centers.append(np.array(es.p.adaptation.m))
        populations.append(es.p.lamb)
        return step(es, objective)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(c_maes.ModularCMAES, "step", spied)
        record(lambda x: float(np.sign(x.sum())), 5000, 3, lower=0, upper=1).run(ModularCMAES.anytime())
    assert len(set(populations)) > 4
    assert all(b in (a, 2 * a) for a, b in itertools.pairwise(populations))
    restarted = [center for i, center in enumerate(centers) if i and populations[i] > populations[i - 1]]
    assert all(((center >= 0) & (center <= 1)).all() for center in restarted)


@pytest.mark.parametrize("adaptation", ["CSA", "MSR", "XNES", "LPXNES"])
def test_the_anytime_configuration_rarely_leaves_the_box(adaptation, record, functions):
    recorder = record(functions["rastrigin"], 20_000)
    recorder.run(ModularCMAES.anytime(step_size_adaptation=adaptation))
    assert recorder.outside.mean() < 0.02


def test_runs_do_not_depend_on_the_box_s_place_and_widths(record, functions):
    """The same search in any box: the mapped points agree, the more so the fewer generations have passed."""
    lower, width = np.array([3.0, -100.0, 0.0]), np.array([0.01, 1000.0, 7.0])

    def mapped(x):
        return functions["sphere"](10 * (x - lower) / width - 5)

    optimizer = ModularCMAES.anytime()
    here = record(functions["sphere"], 150, 3).run(optimizer)
    there = record(mapped, 150, 3, lower, lower + width).run(optimizer)
    np.testing.assert_allclose(10 * (np.array(there.points) - lower) / width - 5, here.points, atol=1e-6)
    assert here.best < 0.1  # far enough for step sizes and matrices to have adapted


def test_it_solves_what_it_should(record, functions):
    for dimension in (1, 2, 10):
        recorder = record(functions["sphere"], 5_000, dimension).run(ModularCMAES.anytime())
        assert recorder.best < 1e-12, dimension


def test_it_lives_through_infinite_values_and_many_dimensions(record):
    recorder = record(lambda x: np.inf, 3_000, 3).run(ModularCMAES.anytime())
    assert recorder.stopped
    large = record(lambda x: float(np.sign(x[0])), 8_000, 310).run(ModularCMAES.anytime(matrix_adaptation="SEP"))
    assert large.stopped


def test_x0_is_where_it_starts(record, functions):
    optimizer = ModularCMAES(x0=[1, 2, 3], relative_sigma0=1e-9)
    np.testing.assert_allclose(record(functions["sphere"], 1, 3).run(optimizer).points[0], [1, 2, 3], atol=1e-6)
    with pytest.raises(ValueError, match="x0 has length 3; the problem has dimension 5"):
        record(functions["sphere"], 1, 5).run(optimizer)
    with pytest.raises(ValueError, match="center_placement='X0'"):
        ModularCMAES(x0=[1, 2], center_placement="UNIFORM")


def test_first_centers_follow_the_placement(record, functions):
    box = (3, [1, 1, 1], [3, 3, 5])
    for placement, center in (("CENTER", [2, 2, 3]), ("X0", [2, 2, 3]), ("ZERO", [0, 0, 0])):
        optimizer = ModularCMAES(center_placement=placement, relative_sigma0=1e-9)
        first = record(functions["sphere"], 1, *box).run(optimizer).points[0]
        np.testing.assert_allclose(first, center, atol=1e-6)


def test_an_error_of_the_objective_passes(record):
    recorder = record(lambda x: 1 / 0, 10)
    with pytest.raises(ZeroDivisionError):
        recorder.run(ModularCMAES.anytime())


@pytest.mark.parametrize(
    ("keywords", "error", "complaint"),
    [
        ({"step_size_adaption": "CSA"}, TypeError, "did you mean 'step_size_adaptation'.*choose from: acov, active"),
        ({"ssa": "CSA"}, TypeError, "no argument 'ssa'"),
        ({"step_size_adaptation": "CSAA"}, ValueError, "did you mean 'CSA'.*choose from: CSA, LPXNES, MSR"),
        ({"matrix_adaptation": "FULL"}, ValueError, "CHOLESKY.*COV"),
        ({"restart_strategy": None}, TypeError, "one of the words BIPOP, IPOP, NONE"),
        ({"bound_correction": "cotm"}, ValueError, "did you mean 'COTN'"),
        ({"active": "yes"}, TypeError, "active is 'yes'; it must be true or false"),
        ({"elitist": 1}, TypeError, "true or false"),
        ({"relative_sigma0": 0.0}, ValueError, "relative_sigma0 is 0.0"),
        ({"relative_sigma0": "big"}, TypeError, "must be a number"),
        ({"population_size": 1}, ValueError, "population_size is 1; it must be from 2 to"),
        ({"population_size": 7.5}, ValueError, "whole number"),
        ({"population_size": 8, "parents": 9}, ValueError, "parents is 9; it must be from 1 to 8"),
        ({"population_size": 7, "mirrored": "pairwise"}, ValueError, "population_size is 7; .* must be even"),
        ({"population_size": 3, "matrix_adaptation": "cmsa"}, ValueError, "3; CMSA takes a quarter .* or set parents"),
        ({"cs": -1.0}, ValueError, "cs is -1.0; it must be 0 or more"),
        ({"cs": float("nan")}, ValueError, "cs is nan"),
    ],
)
def test_misspelt_arguments_list_the_valid_ones(keywords, error, complaint):
    for make in (ModularCMAES, ModularCMAES.anytime):
        with pytest.raises(error, match=complaint):
            make(**keywords)


@pytest.mark.parametrize(
    ("written", "option"),
    [
        ("COV", "COVARIANCE"),
        ("mat", "MATRIX"),
        ("Sep", "SEPARABLE"),
        ("CHO", "CHOLESKY"),
        ("CMSA", "CMSA"),
        ("NAT", "NATURAL_GRADIENT"),
        ("none", "NONE"),
        ("natural-gradient", "NATURAL_GRADIENT"),
    ],
)
def test_the_paper_s_names_are_understood(written, option):
    assert ModularCMAES(matrix_adaptation=written).matrix_adaptation == option


@pytest.mark.parametrize(
    ("optimizer", "name"),
    [
        (ModularCMAES.anytime(), "CMA-ES-CSA"),
        (ModularCMAES.anytime(step_size_adaptation="mxnes"), "CMA-ES-MXNES"),
        (ModularCMAES.anytime(matrix_adaptation="SEP"), "CMA-ES-CSA-SEP"),
        (ModularCMAES.anytime(matrix_adaptation="NONE"), "CMA-ES-CSA-matrix_adaptation=NONE"),
        (ModularCMAES.anytime(restart_strategy="BIPOP", active=False), "CMA-ES-CSA-BIPOP-not-active"),
        (ModularCMAES.anytime(relative_sigma0=0.1, elitist=True), "CMA-ES-CSA-elitist-relative_sigma0=0.1"),
        (ModularCMAES(), "plain-CMA-ES-CSA"),
        (ModularCMAES(step_size_adaptation="TPA", mirrored="PAIRWISE"), "plain-CMA-ES-TPA-PAIRWISE"),
        (ModularCMAES(name="mine"), "mine"),
    ],
)
def test_names_say_what_is_special(optimizer, name):
    assert optimizer.name == name


def test_different_configurations_have_different_names():
    single = [ModularCMAES.anytime(**{module: option}) for module, option in CHOICES]
    single += [ModularCMAES(**{module: option}) for module, option in CHOICES]
    single += [make(**{switch: value}) for make in (ModularCMAES, ModularCMAES.anytime) for switch in SWITCHES
               for value in (True, False)]  # fmt: skip
    assert len({optimizer.name for optimizer in single}) == len(set(single))


def test_it_is_a_frozen_value():
    optimizer = ModularCMAES.anytime(x0=None, population_size=10)
    assert pickle.loads(pickle.dumps(optimizer)) == optimizer
    assert hash(optimizer) == hash(ModularCMAES(**(BASELINE | {"population_size": 10})))
    with pytest.raises(AttributeError):
        optimizer.active = False


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [ModularCMAES, ModularCMAES.anytime])
def test_step_size_adaptations_that_are_faulty_in_modcma_warn_and_name_another(make):
    with pytest.warns(UserWarning, match=r"is 'PSR'; in modcma 1\.2\.0 .* cannot be repeated; use MSR"):
        make(step_size_adaptation="psr")
    with pytest.warns(UserWarning, match=r"is 'SA'; in modcma 1\.2\.0 .* stays about 1 box width .*; use CSA"):
        sa = make(step_size_adaptation="SA")
    pickle.loads(pickle.dumps(sa))  # workers are not warned again
    for others in set(OPTIONS["step_size_adaptation"]) - set(FAULTY):
        make(step_size_adaptation=others)


@pytest.mark.parametrize("relative_sigma0", [0.01, 0.2])
def test_the_step_size_of_sa_does_not_adapt_and_those_named_in_its_place_do(relative_sigma0, record, functions):
    """SA's is the ratio of two means, whatever it starts at."""
    steps = []

    class Watched(type(record(functions["sphere"], 1))):
        def expose(self, **getters):
            self.step_size = getters.get("step_size", getattr(self, "step_size", None))

        def __call__(self, x):
            if np.ndim(x) == 1:
                steps.append(self.step_size())
            return super().__call__(x)

    Watched(functions["sphere"], 400, 10).run(ModularCMAES(step_size_adaptation="SA", relative_sigma0=relative_sigma0))
    assert 0.3 < np.median(steps[50:]) < 3
    best = {
        name: record(functions["sphere"], 3_000).run(ModularCMAES(step_size_adaptation=name)).best
        for name in ("SA", "MSR", "CSA", "LPXNES")
    }
    assert best.pop("SA") > 1e-6
    assert max(best.values()) < 1e-8
