"""Faults in what a study file describes, each named with its line."""

import pytest

import polarbear as pb
from polarbear.study import StudyFileError, read_plan, read_spec

HEAD = """[plan]
budget = 20

[instances]
"""
TAIL = """
[[algorithms]]
optimizer = "random-search"
"""
FUNCTION = """suite = "function"
function = "tests.study.entrants:sphere"
lower = -5
upper = 5
dimension = 2
"""
LIST = """suite = "list"
problems = [
    { problem = "bbob", function = 1, instance = 1, dimension = 2 },
    # the next is at fault
    { problem = "bbob", function = 1, instance = 1, dimension = 1 },
]
"""


def fault(folder, text):
    (folder / "plan.toml").write_text(text)
    with pytest.raises(StudyFileError) as caught:
        read_plan(folder / "plan.toml")
    return str(caught.value).removeprefix(f"{folder / 'plan.toml'}: ")


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        (FUNCTION + "integers = [5]\n", "line 10: suite 'function': integers is [5]"),
        (FUNCTION + 'minimize = "yes"\n', "line 10: suite 'function': minimize is 'yes'"),
        (FUNCTION + 'constraints = [{ function = "math:sin", weight = -1 }]\n', "line 10: suite 'function': "),
        (FUNCTION.replace("lower = -5\n", ""), "line 5: suite 'function' lacks lower"),
        (FUNCTION.replace("lower = -5\nupper = 5\n", ""), "line 5: suite 'function' lacks lower and upper"),
        ('suite = "list"\n', "line 5: suite 'list' lacks problems"),
        ('suite = "list"\nproblems = 3\n', "line 6: suite 'list': problems is 3"),
        (LIST, "line 9: problem 'bbob': "),
        (
            LIST.replace("dimension = 1 ", 'dimension = 2, angle = "x" '),
            "line 9: problem 'bbob' has no argument 'angle'",
        ),
        (LIST.replace(", dimension = 1 ", " "), "line 9: problem 'bbob' lacks dimension"),
        (LIST.replace('problem = "bbob", function = 1, instance = 1, dimension = 1 ', 'suite = "bbob"'), "line 9: "),
        (
            'suite = "list"\n[[instances.problems]]\nproblem = "bbob"\nfunction = 99\ninstance = 1\ndimension = 2\n',
            "line 8: problem 'bbob': ",
        ),
        (
            'suite = "variations"\n[instances.problem]\nproblem = "bbob"\nfunction = 99\ninstance = 1\ndimension = 2\n',
            "line 8: problem 'bbob': ",
        ),
        ('suite = "bbob"\ndimensions = ' + 3000 * "[" + 3000 * "]", "arrays or tables are nested too deep"),
    ],
)
def test_faults_of_problems_are_named_with_their_line(tmp_path, instances, message):
    assert message in fault(tmp_path, HEAD + instances + TAIL)


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        ("name = 3", "line 8: optimizer 'random-search': name is 3; it must be text in quotes"),
        ('name = ["a"]', "line 8: optimizer 'random-search': name is ['a']; it must be text"),
        ('name = " "', "line 8: optimizer 'random-search': name is ' '; it must be text on one line, and not blank"),
        ('name = "a\\nb"', "line 8: optimizer 'random-search': name is 'a\\nb'; it must be text on one line"),
    ],
)
def test_names_have_to_be_text_on_one_line(tmp_path, algorithm, message):
    text = HEAD + 'suite = "bbob"\n' + TAIL
    assert message in fault(tmp_path, text.replace("optimizer", f"{algorithm}\noptimizer"))


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        ('optimizer = "function"', "line 8: optimizer 'function' lacks function"),
        ('optimizer = "growing-budgets"', "line 8: optimizer 'growing-budgets' lacks family"),
        ('name = "a"', "line 7: number 1 of [[algorithms]], 'a', does not say which optimizer; choose from: "),
    ],
)
def test_what_an_optimizer_lacks_is_named(tmp_path, optimizer, message):
    text = HEAD + 'suite = "bbob"\n' + TAIL
    assert message in fault(tmp_path, text.replace('optimizer = "random-search"', optimizer))


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"ab\xbd\x00")
    with pytest.raises(
        StudyFileError, match=r"binary\.toml is not a study file: byte 3 is 0xbd, but TOML is UTF-8 text"
    ):
        read_spec(tmp_path / "binary.toml")


@pytest.mark.parametrize("names", [{3: len}, {"": len}, {"a\tb": len}])
def test_names_given_in_python_have_to_be_text_too(names):
    with pytest.raises((TypeError, ValueError), match=r"the name of an algorithm is .*; it must be text"):
        pb.Race(names, times=[10, 100])


def test_the_model_is_the_instance_bootstrap_unless_it_is_named(tmp_path):
    (tmp_path / "race.toml").write_text(
        '[race]\ntimes = [10, 100]\n[model]\nalpha = 2.0\n[instances]\nsuite = "bbob"\n'
        + TAIL
        + '[[algorithms]]\nname = "other"\noptimizer = "random-search"\n'
    )
    race = read_spec(tmp_path / "race.toml").build_race()
    assert race.model == pb.inference.from_description({"model": "instance-bootstrap", "alpha": 2.0})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "20",
            "20\nseed = 9223372036854775807\nrepetitions = 3",
            "line 3: seed is 9223372036854775807; it must be from 0 to ",
        ),
        ("20", f"20\nrepetitions = {10**23}", f"line 3: repetitions is {10**23}; it must be from 1 to "),
        ("\n[[", "\n[limits]\ntimeout = inf\n[[", "line 8: limits.timeout is inf; it must be finite"),
        (
            '"random-search"',
            '"modular-cmaes"\nx0 = [1.0]',
            "line 8: plain-CMA-ES-CSA-x0=(1.0,) cannot run on bbob-f1-i1-d5: x0 has length 1",
        ),
    ],
)
def test_what_does_not_go_together_is_named_with_the_line_at_fault(tmp_path, old, new, message):
    text = HEAD + 'suite = "bbob"\n' + TAIL
    assert message in fault(tmp_path, text.replace(old, new))


GRID = "[race]\ntimes = { first = '10*d', last = 2_000, count = 5 }\n[instances]\n"
TWO = TAIL + '[[algorithms]]\nname = "other"\noptimizer = "random-search"\n'


def test_timepoints_may_be_multiples_of_the_dimension(tmp_path):
    (tmp_path / "race.toml").write_text(GRID + 'suite = "bbob"\ndimensions = [20]\n' + TWO)
    times = read_spec(tmp_path / "race.toml").build_race().times
    assert (times[0], times[-1]) == (200, 2000)


def test_so_may_those_of_a_list(tmp_path):
    text = GRID.replace("{ first = '10*d', last = 2_000, count = 5 }", "[30, '10*d', '100*d']")
    (tmp_path / "race.toml").write_text(text + 'suite = "bbob"\ndimensions = [20]\n' + TWO)
    assert read_spec(tmp_path / "race.toml").build_race().times.tolist() == [30, 200, 2000]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[20]", "[2, 20]", "line 2: '10*d' needs one dimension"),
        ("10*d", "ten", "line 2: race.times.first is 'ten': 'ten' is not a budget; write a positive number"),
        ("'10*d'", "true", "line 2: race.times.first is True; it must be a number"),
    ],
)
def test_timepoints_that_are_none_are_refused(tmp_path, old, new, message):
    text = GRID + 'suite = "bbob"\ndimensions = [20]\n' + TWO
    (tmp_path / "race.toml").write_text(text.replace(old, new))
    with pytest.raises(StudyFileError) as caught:
        read_spec(tmp_path / "race.toml")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("suite", "instances"),
    [
        ('suite = "bbob"\nfunctions = [3]', range(1, 16)),
        ('suite = "bbob"\nfunctions = [3]\ninstances = "1-30"', range(1, 31)),
        ('suite = "pbo"\nfunctions = [3]\ndimensions = [16]', range(1, 16)),
    ],
)
def test_a_plan_takes_fifteen_instances_unless_it_names_others(tmp_path, suite, instances):
    (tmp_path / "plan.toml").write_text(HEAD + suite + "\n" + TAIL)
    problems = read_plan(tmp_path / "plan.toml").problems
    assert [problem.instance for problem in problems] == list(instances)


def test_draws_of_a_plan_are_from_the_whole_suite(tmp_path):
    (tmp_path / "plan.toml").write_text(HEAD + 'suite = "bbob"\ndraws = 30\n' + TAIL)
    assert max(problem.instance for problem in read_plan(tmp_path / "plan.toml").problems) > 15
