"""What importing `polarbear.assess` promises."""

import subprocess
import sys

from polarbear import assess


def test_importing_it_loads_no_scipy():
    code = "import sys, polarbear.assess as a; print([m for m in sys.modules if 'scipy' in m], a.glicko2.__name__)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[] glicko2"


def test_every_public_name_is_there():
    for name in assess.__all__:
        assert getattr(assess, name).__module__.startswith("polarbear.assess")
    assert set(assess.__all__) <= set(dir(assess))
    assert set(assess.comparisons.__all__) <= set(assess.__all__)
    assert assess.comparisons.glicko2 is assess.glicko2
