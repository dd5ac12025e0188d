"""Fixtures of several rooms."""

import logging
import os
import signal

import hypothesis
import pytest

from polarbear import machine

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a script; programs would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """A folder of simulated distributions for this session, not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLARBEAR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def all_cores(tmp_path, monkeypatch):
    """Of this machine, none of which is taken."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no process can choose its cores here")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return sorted(os.sched_getaffinity(0))[: machine.cores()]


@pytest.fixture(scope="session")
def bucket():
    """A bucket of an S3 server in this process, of which processes that are started know by their environment."""
    server = pytest.importorskip("moto.server", reason="the S3 server of tests is not installed")
    s3fs = pytest.importorskip("s3fs", reason="what speaks to S3 is not installed")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir("studies")
        yield "s3://studies"
        s3fs.S3FileSystem.clear_instance_cache()
    moto.stop()
