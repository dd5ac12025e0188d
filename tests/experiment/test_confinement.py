"""Confined worker processes: what is taken from them."""

import os
import socket
import subprocess
from pathlib import Path

import numpy as np
import pytest

from polarbear.experiment import Confinement, ProposedCode, WorkerPool, confined
from polarbear.experiment.confinement import LARGEST_FILE

NO_NETWORK = ("unshare", "--map-root-user", "--net")


def state():
    return confined(), sorted(os.environ), os.getcwd(), os.listdir()  # noqa: PTH109, PTH208


def eat(megabytes):
    return np.ones(megabytes << 17).sum()


def write(size):
    Path("large").write_bytes(bytes(size))
    return Path("large").stat().st_size


def connect(port):
    socket.create_connection(("127.0.0.1", port), timeout=5).close()


def call(function, *arguments, pool):
    return pool.submit(function, *arguments).result()


def test_a_confined_worker_has_less_memory_no_secrets_small_files_and_a_folder_of_its_own(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "hidden")
    with WorkerPool(1, confinement=Confinement(memory=1 << 29)) as pool:
        known, variables, folder, content = call(state, pool=pool)
        assert known
        assert not confined()
        assert "SECRET_KEY" not in variables
        assert "PATH" in variables
        assert content == []
        assert folder != os.getcwd()  # noqa: PTH109
        assert call(eat, 64, pool=pool) == 64 << 17
        with pytest.raises(MemoryError):
            call(eat, 1024, pool=pool)
        assert call(write, 1000, pool=pool) == 1000
        with pytest.raises(OSError, match="File too large"):
            call(write, LARGEST_FILE + 1, pool=pool)
    assert not Path(folder).exists()


def test_a_command_around_workers_takes_the_network():
    try:
        subprocess.run([*NO_NETWORK, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system lets no user unshare the network")
    with socket.create_server(("127.0.0.1", 0)) as server, WorkerPool(1) as free:
        port = server.getsockname()[1]
        call(connect, port, pool=free)
        with (
            WorkerPool(1, confinement=Confinement(inside=NO_NETWORK)) as pool,
            pytest.raises(OSError, match="etwork"),
        ):
            call(connect, port, pool=pool)


def test_proposed_code_does_not_run_here():
    with pytest.raises(RuntimeError, match="runs only in confined worker processes"):
        ProposedCode("raise SystemExit", "mine")(None, np.random.default_rng(1))


def test_a_command_is_given_in_words():
    with pytest.raises(ValueError, match="inside is 'unshare --net'; give the words"):
        Confinement(inside="unshare --net")
