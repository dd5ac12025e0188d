"""Attacks on processes that start: signals during imports, too little memory, too few files."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import typer

from polarbear.cli.app import app
from polarbear.cli.starting import after_fragile_calls
from polarbear.experiment import WorkerPool

ROOT = Path(__file__).parents[2]
COMMAND = str(Path(sys.executable).parent / "polarbear")


def start(*command, **options):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*map(str, command)], text=True, cwd=ROOT, **streams, **options)


def imports(process, library):
    """Wait until a process, by its id, is in the midst of importing a library."""
    maps, deadline = Path(f"/proc/{process}/maps"), time.monotonic() + 60
    while library not in maps.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("library", ["/_multiarray_umath", "/_flapack", "/_pydantic_core"])
def test_a_signal_during_import_ends_a_command_with_a_sentence(tmp_path, library, number):
    process = start(COMMAND, "assess", tmp_path)
    imports(process.pid, library)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    if process.returncode not in {-signal.SIGTERM, 2}:  # before the command has begun, as ever, or when it has ended
        assert process.returncode == 128 + number
        assert said in {"polarbear: interrupted\n", "polarbear: ended by SIGTERM\n"}


def test_ctrl_c_while_arguments_are_read_is_told(monkeypatch, capsys):
    """Typer itself would say nothing."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(typer.core.TyperGroup, "parse_args", interrupt)
    with pytest.raises(SystemExit) as ended:
        app(["models"])
    assert (ended.value.code, capsys.readouterr().err) == (130, "polarbear: interrupted\n")


def test_ctrl_c_while_polars_calls_python_is_no_panic():
    def interrupt(value):
        signal.raise_signal(signal.SIGINT)
        return value

    before = signal.signal(signal.SIGINT, after_fragile_calls(signal.default_int_handler))
    try:
        assert pl.Series([1]).map_elements(interrupt, pl.Int64).to_list() == [1]
        with pytest.raises(KeyboardInterrupt):
            time.sleep(60)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_worker_that_gets_sigint_while_it_starts_comes_up_all_the_same():
    before = _children("polarbear.experiment.worker")
    with WorkerPool(1) as pool:
        future = pool.submit(os.getpid)
        while not (children := [one for one in _children("polarbear.experiment.worker") if one not in before]):
            time.sleep(0.001)
        (worker,) = children
        imports(worker, "/_multiarray_umath")
        os.kill(worker, signal.SIGINT)
        assert future.result(timeout=60) == worker


def test_400_mb_of_address_space_are_too_few_and_that_is_said():
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (400_000 << 10, 400_000 << 10))

    process = start(COMMAND, "optimizers", preexec_fn=limit)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 6
    assert said.startswith("polarbear: this process may use 390 MiB of address space, and needs 1,")
    assert said.count("\n") == 1


NO_FILES = """
import resource
from polarbear.experiment import WorkerPool, WorkersUnavailable
import cloudpickle, os
with WorkerPool(1) as pool:
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, 4096))
    try:
        pool.submit(abs, 1).result(30)
    except WorkersUnavailable as error:
        print(error)
"""


def test_too_few_open_files_for_workers_are_said():
    done = subprocess.run([sys.executable, "-c", NO_FILES], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Too many open files" in done.stdout


def _children(words):
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(status[1]) == os.getpid() and words in (entry / "cmdline").read_text():
                found.append(int(entry.name))
    return found
