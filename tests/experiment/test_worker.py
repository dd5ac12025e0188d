"""What a worker's forked children keep of its pipes, and of their own files."""

import os
import sys

import cloudpickle
import pytest

from polarbear.experiment import WorkerPool

cloudpickle.register_pickle_by_value(sys.modules[__name__])

FILES = 8
"""More than a worker has pipes: among a child's first files are some that got the numbers of these."""


def exit_code(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def write_from_a_grandchild(path):
    """Open files in a child, write to all of them in a grandchild; its exit code."""
    child = os.fork()
    if child:
        return exit_code(child)
    try:
        files = [os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for _ in range(FILES)]
        grandchild = os.fork()
        if grandchild:
            os._exit(exit_code(grandchild))
        for file in files:
            os.write(file, b".")
        os._exit(0)
    finally:
        os._exit(1)


def fork_twice():
    child = os.fork()
    if child:
        return exit_code(child)
    grandchild = os.fork()
    os._exit(exit_code(grandchild) if grandchild else 0)


@pytest.fixture
def pool():
    with WorkerPool(1) as pool:
        yield pool


def test_files_that_a_child_opened_are_open_in_its_children(pool, tmp_path):
    file = tmp_path / "written"
    for _ in range(2):
        assert pool.submit(write_from_a_grandchild, str(file)).result() == 0
    assert file.read_bytes() == b"." * 2 * FILES


def test_nothing_is_said_of_forks_of_forks(pool, capfd):
    assert pool.submit(fork_twice).result() == 0
    assert pool.submit(abs, -1).result() == 1
    assert capfd.readouterr().err == ""
