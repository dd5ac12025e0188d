"""The process in which runs are repeated does not outlive the tests of this room."""

import pytest

from polarbear.conformance.second_process import forget


@pytest.fixture(scope="module", autouse=True)
def _no_process_afterwards():
    yield
    forget()
