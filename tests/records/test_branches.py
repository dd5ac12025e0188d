"""Keys of branches tell which run they leave, when and how."""

import pytest

from polarbear.records import STAY, Branch, RunKey


@pytest.mark.parametrize("into", [STAY, "PSO", "A→B"])
@pytest.mark.parametrize("algorithm", ["DE", "A→B-at=7", "x@y"])
def test_a_key_tells_its_branch(algorithm, into):
    branch = Branch(RunKey("bbob-f1-i1-d5", algorithm, 3), 500, into, 2)
    assert branch.key == RunKey("bbob-f1-i1-d5", f"{algorithm}@500→{into}", 30002)
    assert Branch.of(branch.key) == branch


def test_what_comes_after_has_one_seed_whatever_goes_on():
    run = RunKey("bbob-f1-i1-d5", "DE", 0)
    seeds = {Branch(run, at, into, repeat).entropy for at in (5, 6) for repeat in (0, 1) for into in (STAY, "PSO")}
    assert len(seeds) == 4


@pytest.mark.parametrize("name", ["DE", "DE@0→PSO", "DE@5", "DE→PSO"])
def test_other_keys_are_no_branches(name):
    with pytest.raises(ValueError, match="not a branch of a run"):
        Branch.of(RunKey("bbob-f1-i1-d5", name, 0))
