"""What `import polarbear` promises."""

import subprocess
import sys

import polarbear


def test_importing_loads_no_heavy_library():
    heavy = [
        "ioh",
        "modcma",
        "cocoex",
        "distributed",
        "fsspec",
        "scipy",
        "polars",
        "matplotlib",
        "rich",
        "pydantic",
        "typer",
        "jinja2",
        "cloudpickle",
    ]
    code = f"import sys, polarbear; print([m for m in {heavy!r} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_what_every_command_loads_waits_for_no_library_that_few_need():
    heavy = ["scipy.stats", "scipy.optimize", "polars", "matplotlib.figure", "distributed", "polarbear.landscape"]
    code = f"import sys, polarbear.study, polarbear.analyzer; print([m for m in {heavy!r} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_every_public_name_is_there():
    for name in polarbear.__all__:
        assert getattr(polarbear, name) is not None
    assert set(polarbear.__all__) <= set(dir(polarbear))
