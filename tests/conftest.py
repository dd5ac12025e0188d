"""Fixtures of several rooms."""

import os

import pytest

from polarbear.experiment import machine


@pytest.fixture
def all_cores(tmp_path, monkeypatch):
    """Of this machine, none of which is taken."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no process can choose its cores here")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return sorted(os.sched_getaffinity(0))[: machine.cores()]
