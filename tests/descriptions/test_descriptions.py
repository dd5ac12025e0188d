import json

import numpy as np
import pytest

import polarbear as pb
from polarbear.descriptions import (
    checked_name,
    did_you_mean,
    imported,
    made,
    own_description,
    own_object,
    plain_value,
    reference,
)
from tests.descriptions.own import Shifted, Steps


def test_references_lead_back_to_what_they_name():
    assert reference(np.linalg.norm) == "numpy.linalg:norm"
    for function in (np.linalg.norm, imported, Steps):
        assert imported(reference(function), "it") is function


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("numpy", "it is 'numpy'; write it as 'module:name'"),
        (7, "it is 7"),
        ("no_such_module:f", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        ("numpy:no_such", "cannot be imported: .*no_such"),
        ("numpy:pi", "cannot be called"),
    ],
)
def test_wrong_references_are_named(place, message):
    with pytest.raises(ValueError, match=message):
        imported(place, "it")


def test_the_closest_name_is_offered_whatever_its_case():
    assert did_you_mean("csa", ["CSA", "MSR"]) == " did you mean 'CSA'? choose from: CSA, MSR"
    assert did_you_mean("zzz", ["CSA", "MSR"]) == " choose from: CSA, MSR"


def test_own_dataclasses_go_through_json_and_back():
    for own, kind in ((Steps(0.25), "optimizer"), (Shifted(3, seed=4), "suite")):
        described = json.loads(json.dumps(own_description(own, kind)))
        assert own_object(described, kind) == own
    assert pb.optimizers.from_description(pb.optimizers.describe(Steps(0.5))) == Steps(0.5)
    assert pb.problems.from_description(pb.problems.describe(Shifted(2))) == Shifted(2)
    with pytest.raises(ValueError, match=r"own:Steps' has no argument 'length'; choose from: name, size"):
        pb.optimizers.from_description({"optimizer": reference(Steps), "length": 1})


def test_plain_values_are_json():
    value = {"a": np.arange(2), "b": (1, None), 3: np.linalg.norm, "c": range(2), "d": 1j}
    plain = {"a": [0, 1], "b": [1, None], "3": "numpy.linalg:norm", "c": [0, 1], "d": "1j"}
    assert json.loads(json.dumps(plain_value(value))) == plain


def test_own_classes_race_and_resume_by_their_description(tmp_path):
    path = tmp_path / "own.study"
    race = pb.Race([Steps(0.01), Steps(1.0, name="long")], times=[10, 100], alpha=0.9, epsilon=0.2)
    result = pb.study.race(race, Shifted(2), path, stop=pb.study.StopRules(instances=8))
    view = pb.study.load(path)
    assert view.result.pareto_set == result.pareto_set
    assert view.spec["instances"] == {"suite": "tests.descriptions.own:Shifted", "dimension": 2, "seed": 0}


def test_names_may_hold_any_signs_but_control_characters():
    for name in ("CMA-ES (µ/µ_w, λ)", "CMA\xa0ES", "进化"):
        assert checked_name(name) == name
    for name in ("", " ", "a\nb", "a\x07", "a\u2028b"):
        with pytest.raises(ValueError, match="it must be text on one line, and not blank"):
            checked_name(name)


def test_classes_that_do_not_tell_their_arguments_are_made_and_their_errors_are_told():
    assert made(dict, {"a": 1, "name": [1]}, "suite 'builtins:dict'") == {"a": 1, "name": [1]}
    with pytest.raises(ValueError, match=r"suite 'builtins:int': .*'step' is an invalid keyword"):
        made(int, {"step": 1}, "suite 'builtins:int'")
