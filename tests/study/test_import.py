"""What starting a command costs: each of them, and each worker, imports these rooms."""

import subprocess
import sys

import pytest

SLOW = (
    "scipy.stats",
    "scipy.optimize",
    "scipy.interpolate",
    "matplotlib",
    "plotly",
    "polars",
    "pandas",
    "sklearn",
    "polarbear.landscape",
)
"""Take a tenth of a second or more."""


@pytest.mark.parametrize("room", ["study", "cli.app", "experiment.worker", "optimizers", "problems", "racing"])
def test_nothing_slow_is_imported_before_it_is_used(room):
    code = f"import sys, polarbear.{room}; print([name for name in {SLOW} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_help_needs_no_study():
    code = (
        "import atexit, sys; atexit.register(lambda: print('polarbear.study' in sys.modules));"
        "sys.argv[1:] = ['--help']; from polarbear.cli import main; main()"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()[-1] == "False"
