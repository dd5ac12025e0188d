"""What importing `polarbear.assess` promises."""

import subprocess
import sys

import pytest

from polarbear import assess


def test_comparisons_load_when_they_are_used():
    code = (
        "import sys, polarbear.assess as a; print([m for m in sys.modules if 'comparisons' in m], a.glicko2.__name__)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[] glicko2"


def test_every_public_name_is_there():
    for name in assess.__all__:
        assert getattr(assess, name).__module__.startswith("polarbear.assess")
    assert dir(assess) == sorted(assess.__all__)
    assert assess.comparisons.glicko2 is assess.glicko2
    with pytest.raises(AttributeError, match="has no attribute 'glicko3'"):
        assess.glicko3  # noqa: B018
