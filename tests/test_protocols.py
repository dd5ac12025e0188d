"""What a problem tells of itself is of the right kind, or is refused; nothing is guessed in its place."""

from types import SimpleNamespace

import pytest

from polarbear.protocols import PLAIN, Traits, identity_of, traits_of
from polarbear.records import Instance


def test_what_is_told_is_taken_and_what_is_not_told_has_a_default():
    told = SimpleNamespace(name="bbob-f3-i1-d5", traits=Traits(noisy=True), identity=Instance("bbob", "f3", 5, "1"))
    assert traits_of(told) is told.traits
    assert identity_of(told) is told.identity
    untold = SimpleNamespace(name="bbob-f3-i1-d5")
    assert traits_of(untold) is PLAIN
    assert identity_of(untold) == Instance("bbob", "3", 5, "1")


def test_what_is_of_another_kind_is_refused():
    odd = SimpleNamespace(name="mine", traits={"noisy": True}, identity="bbob")
    with pytest.raises(TypeError, match=r"traits of .* are \{'noisy': True\}; give polarbear\.problems\.Traits"):
        traits_of(odd)
    with pytest.raises(TypeError, match=r"identity of mine is 'bbob'; give a polarbear\.records\.Instance"):
        identity_of(odd)
