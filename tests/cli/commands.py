"""Commands in processes of their own.

`start` runs one as a user does. `ran` and `polarbear` fork it off a process that has imported what commands need, as
that takes most of the time of a short one.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("polarbear.cli.app", "polarbear.study", "polarbear.analyzer.assessment", "polarbear.landscape"),
        *("polarbear.cli.commands", "polarbear.cli.console", "polarbear.configure", "polarbear.conformance"),
        *("scipy.stats", "scipy.optimize", "matplotlib.figure", "matplotlib.backends.backend_svg"),
        *("ConfigSpace", "cma", "filelock", "ioh", "jinja2"),  # not polars, whose threads do not outlive a fork
    ]
)
LONGEST = 120


def environment():
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}


def start(*arguments, **options):
    command = [sys.executable, "-m", "polarbear", *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


def polarbear(*arguments, code=0, cwd="."):
    """What a command prints and what it warns of, if it ends with this exit code."""
    done = ran(*arguments, cwd=cwd)
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout, done.stderr


def ran(*arguments, cwd="."):
    with tempfile.TemporaryDirectory() as folder:
        printed = [Path(folder, "out"), Path(folder, "err")]
        process = FORKS.Process(
            target=_command, args=(list(map(str, arguments)), Path(cwd).absolute(), environment(), printed)
        )
        process.start()
        process.join(LONGEST)
        process.kill()
        process.join()
        return subprocess.CompletedProcess(arguments, process.exitcode, *(path.read_text() for path in printed))


def _command(arguments, folder, variables, printed):
    for number, path in enumerate(printed, start=1):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv[1:] = arguments
    from polarbear.cli import main

    main()
