"""The process in which runs are repeated does not outlive the tests of this room."""

import pytest

from polarbear.conformance.repetition import end_second_process


@pytest.fixture(scope="module", autouse=True)
def _no_process_afterwards():
    yield
    end_second_process()
