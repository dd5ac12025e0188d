"""Settings whose fields declare what they take."""

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
import pytest

from polarbear.descriptions import FieldError, FieldTypeError, errors_at, made, parameters
from polarbear.validation import (
    Checked,
    Finite,
    Flag,
    Name,
    Natural,
    Positive,
    Reals,
    Share,
    choice,
    real,
    real_number,
    set_fields,
    settings,
    whole,
    whole_number,
)


def even(value, name):
    """Raises ordinary errors, unlike the checks of the module."""
    if value % 2:
        raise ValueError(f"{name} is odd")
    return float(value)


@settings
class Sampler:
    size: Annotated[int, whole(1, 24)]
    rate: Annotated[float, real(gt=0.5, le=1)] | None = None
    kind: Literal["plain", "mirrored"] = "plain"
    strategy: Annotated[str, choice("BEST", "L-SHADE", target="BEST")] = "best"
    weights: Reals = (1,)
    share: Share = np.float32(0.25)
    sorted: Flag = False
    pair: tuple[Finite, Finite] = (0.0, 1.0)
    count: Positive = 2
    length: Annotated[float, Checked(even)] = 4
    label: str = ""

    def __post_init__(self):
        if self.size < self.count and self.kind == "plain":
            raise ValueError(f"count is {self.count}, more than size {self.size}")
        if not self.label:
            set_fields(self, label=f"sampler-{self.size}")


@settings(kw_only=True)
class Nested(Sampler):
    inner: Sampler
    size: Annotated[int, whole(10)] = 10


def test_values_are_converted_also_the_defaults():
    made = Sampler(np.int64(3), np.float64(0.75), strategy="l_shade", weights=np.arange(2), sorted=np.True_)
    assert made == Sampler(3.0, Fraction(3, 4), strategy="L-SHADE", weights=[0, 1.0], sorted=True)
    kinds = (type(made.size), type(made.rate), type(made.weights), type(made.length), type(made.sorted))
    assert kinds == (int, float, tuple, float, bool)
    assert (made.share, made.length, made.label) == (0.25, 4.0, "sampler-3")
    assert Sampler(3, strategy="target").strategy == Sampler(3).strategy == "BEST"


@pytest.mark.parametrize(
    ("arguments", "error", "message", "where"),
    [
        ({"size": 0}, FieldError, "size is 0; it must be from 1 to 24", ("size",)),
        ({"size": 2.5}, FieldTypeError, "size is 2.5; it must be a whole number", ("size",)),
        ({"size": True}, FieldTypeError, "size is True; it must be a whole number", ("size",)),
        ({"size": float("inf")}, FieldTypeError, "size is inf; it must be a whole number", ("size",)),
        ({"rate": 0.5}, FieldError, "rate is 0.5; it must be above 0.5 and at most 1", ("rate",)),
        ({"rate": float("nan")}, FieldError, "rate is nan; it must be finite", ("rate",)),
        ({"rate": 10**400}, FieldError, "it must be below 1.8e308 in magnitude", ("rate",)),
        ({"rate": "high"}, FieldTypeError, "rate is 'high'; it must be a number", ("rate",)),
        (
            {"kind": "plane"},
            FieldError,
            "kind is 'plane'; did you mean 'plain'? choose from: mirrored, plain",
            ("kind",),
        ),
        ({"strategy": "lshad"}, FieldError, "strategy is 'lshad'; did you mean 'L-SHADE'?", ("strategy",)),
        ({"strategy": None}, FieldTypeError, "it must be one of the words BEST, L-SHADE", ("strategy",)),
        ({"weights": 3}, FieldTypeError, "weights is 3; it must be a list of numbers", ("weights",)),
        ({"weights": [1, "a"]}, FieldTypeError, "weights[1] is 'a'; it must be a number", ("weights", "weights[1]")),
        ({"share": 1.5}, FieldError, "share is 1.5; it must be from 0 to 1", ("share",)),
        ({"sorted": 1}, FieldTypeError, "sorted is 1; it must be true or false", ("sorted",)),
        ({"pair": (0, "a")}, FieldTypeError, "pair is 'a'; it must be a number", ("pair", 1)),
        ({"pair": 5}, FieldTypeError, "pair is 5; it must be a list", ("pair",)),
        ({"count": 0}, FieldError, "count is 0; it must be 1 or more", ("count",)),
        ({"length": 3}, FieldError, "length is odd", ("length",)),
        ({"length": "x"}, FieldTypeError, "not all arguments converted", ("length",)),
        ({"label": 3}, FieldTypeError, "label is 3; it must be text in quotes", ("label",)),
        ({"count": 4}, FieldError, "count is 4, more than size 3", ()),
        ({"sise": 3}, FieldTypeError, "Sampler has no argument 'sise'; did you mean 'size'?", ("sise",)),
    ],
)
def test_what_is_wrong_is_named_with_its_field(arguments, error, message, where):
    with pytest.raises(error) as caught:
        Sampler(**({"size": 3} | arguments))
    assert message in str(caught.value)
    assert caught.value.where == where
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError) == (error is FieldTypeError)
    assert pickle.loads(pickle.dumps(caught.value)).where == where


def test_missing_and_surplus_arguments_are_named_and_unknown_ones_come_first():
    with pytest.raises(FieldTypeError, match="Sampler lacks size"):
        Sampler(rate=1.0)
    with pytest.raises(FieldTypeError, match="no argument 'sise'; did you mean 'size'"):
        Sampler(sise=1, rate="a")
    with pytest.raises(FieldTypeError, match="takes 11 arguments; leave out 'more'"):
        Sampler(*dataclasses.astuple(Sampler(3))[:9], 4, "", "more")
    with pytest.raises(FieldError, match="size is 25") as caught:
        Sampler(25)
    assert caught.value.where == ("size",)


def test_settings_are_frozen_dataclasses():
    sampler = Sampler(3)
    assert [field.name for field in dataclasses.fields(Sampler)][:2] == ["size", "rate"]
    assert dataclasses.replace(sampler, size=5, label="").label == "sampler-5"
    with pytest.raises(FieldError, match="size is 99"):
        dataclasses.replace(sampler, size=99)
    with pytest.raises(dataclasses.FrozenInstanceError):
        sampler.size = 4
    assert pickle.loads(pickle.dumps(sampler)) == copy.copy(sampler) == sampler
    assert hash(sampler) == hash(Sampler(3))
    assert parameters(Sampler)["size"] == "required"
    assert parameters(Sampler)["count"] == 2


def test_a_subclass_declares_its_own_limits():
    assert Nested(inner=Sampler(3), size=10**6).size == 10**6
    with pytest.raises(FieldError, match="size is 9; it must be 10 or more"):
        Nested(inner=Sampler(3), size=9)
    with pytest.raises(FieldTypeError, match="inner is 5; it must be of type Sampler"):
        Nested(inner=5)


def test_errors_carry_the_whole_path():
    with pytest.raises(FieldTypeError) as caught, errors_at("algorithms", 1):
        made(Sampler, {"size": "big"}, "optimizer 'sampler'")
    assert caught.value.where == ("algorithms", 1, "size")
    assert str(caught.value) == "optimizer 'sampler': size is 'big'; it must be a whole number"


@pytest.mark.parametrize(
    ("limits", "valid"),
    [
        ({"ge": 0}, "0 or more"), ({"ge": 0, "le": 2.5}, "from 0 to 2.5"), ({"gt": 1.000001}, "above 1.000001"),
        ({"ge": 0, "lt": 0.5}, "at least 0 and below 0.5"), ({"le": 1e-12}, "at most 1e-12"), ({"lt": 3}, "below 3"),
    ],
)  # fmt: skip
def test_ranges_are_told_in_words(limits, valid):
    outside = -1.0 if "ge" in limits or "gt" in limits else 10
    with pytest.raises(FieldError, match=rf"^x is {float(outside)}; it must be {valid}$"):
        real_number(outside, "x", **limits)


def test_numbers_too_large_for_a_float_are_named_and_whole_ones_have_any_size():
    with pytest.raises(FieldError, match=r"^x is 9{60}\.\.\.; it must be below 1\.8e308 in magnitude"):
        real_number(int("9" * 400), "x")
    assert whole_number(10**400, "n") == 10**400


def test_names_are_text():
    @settings
    class Named:
        name: Name

    for name in ("", "a\nb", 3):
        with pytest.raises(FieldError, match=r"name is .*; it must be text"):
            Named(name)


def test_declaring_settings_loads_no_library_that_checks_them():
    code = "import sys, polarbear.problems, polarbear.validation; print('pydantic' in sys.modules)"
    assert json.loads(subprocess.check_output([sys.executable, "-c", code], text=True).lower()) is False


def test_class_variables_are_no_arguments():
    @settings
    class Sized:
        kind: ClassVar[str] = "sized"
        size: Positive
        seed: Natural = 0

    with pytest.raises(FieldTypeError, match="choose from: seed, size"):
        Sized(3, kind="other")
    with pytest.raises(FieldError, match="size is 0"):
        Sized(0)
    with pytest.raises(FieldTypeError, match="Sized takes 2 arguments; leave out 7"):
        Sized(3, 1, 7)
