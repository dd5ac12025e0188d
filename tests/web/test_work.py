"""Longer work: it says how far it is, is cancelled, and its faults are said where it was asked for."""

import os
import re
import signal
import threading
import time

import pytest

from polarbear import store
from polarbear.web import Sources
from polarbear.web.work import MOST, Work, say
from tests.analyzer.recorded import runs

pytest.importorskip("dash", reason="dash is not installed")
from polarbear.web import app as module
from polarbear.web.app import make_app
from polarbear.web.uploads import Uploads

SOON = 30


def forever():
    while True:
        time.sleep(0.005)


def test_is_done_and_says_how_far_it_is():
    may, work = threading.Event(), Work()

    def task():
        say("half of it")
        may.wait(SOON)
        return 7

    job = work.begin(task)
    while not job.said:
        time.sleep(0.005)
    assert (job.said, job.wait(0), work.find(job.id)) == ("half of it", False, job)
    may.set()
    assert job.wait(SOON)
    assert job.result == 7
    work.forget(job)
    with pytest.raises(ValueError, match="this computation no longer exists"):
        work.find(job.id)


def test_is_cancelled_and_holds_nothing():
    lock = threading.Lock()

    def task():
        with lock:
            try:
                forever()
            except Exception:
                return "handled as if it were an error"

    job = Work().begin(task)
    job.cancel()
    assert job.wait(SOON)
    assert (job.cancelled, job.result, lock.locked()) == (True, None, False)
    job.cancel()


def test_reading_is_cancelled_and_its_process_ended(tmp_path, monkeypatch):
    from polarbear.store.formats import supervision

    file = store.export(runs(), tmp_path / "runs.csv", "csv")
    monkeypatch.setattr(supervision._Reader, "ask", stuck := Stuck(supervision._Reader.ask))
    job = Work().begin(lambda: store.read_checked(file))
    assert stuck.begun.wait(SOON)
    job.cancel()
    assert job.wait(SOON)
    assert job.cancelled
    assert not stuck.reader.alive
    monkeypatch.undo()
    assert len(store.read_checked(file).runs) == 48


class Stuck:
    """A reader whose process never answers."""

    def __init__(self, ask):
        self.ask, self.begun, self.reader = ask, threading.Event(), None

    def __get__(self, reader, _):
        def ask(task, take):
            self.reader = reader
            os.kill(reader._process.pid, signal.SIGSTOP)
            self.begun.set()
            return self.ask(reader, task, take)

        return ask


def test_faults_are_said_and_logged(caplog):
    def task():
        raise ZeroDivisionError("by nothing")

    job = Work().begin(task)
    assert job.wait(SOON)
    with pytest.raises(RuntimeError, match=r"a bug in polarbear, please report it \(ZeroDivisionError: by nothing\)"):
        _ = job.result
    assert "by nothing" in caplog.text


def test_too_much_of_it_is_refused():
    work = Work()
    jobs = [work.begin(forever) for _ in range(MOST)]
    with pytest.raises(ValueError, match=f"{MOST} longer computations are running"):
        work.begin(forever)
    for job in jobs:
        job.cancel()
        assert job.wait(SOON)
    assert work.begin(lambda: 1).wait(SOON)


class TestPages:
    """Asked for as a browser asks."""

    @pytest.fixture
    def asked(self, folder):
        sources = Sources([folder / "runs.study"])
        uploads = Uploads(sources)
        yield lambda patience: Asking(make_app(sources, uploads, patience=patience))
        uploads.close()

    def test_that_take_long_can_be_cancelled(self, asked, monkeypatch):
        monkeypatch.setattr(module, "main", lambda *_: forever())
        page = asked(0.05)
        status, text = page.show("/overview/loaded")
        assert (status, "page-cancel" in text) == (200, True)
        job = re.search(r'"data":\s*"([^"]+)"[^}]*"id":\s*"page-job"|"id":\s*"page-job"[^}]*"data":\s*"([^"]+)"', text)
        name = job[1] or job[2]
        assert re.search(r"\(\d+ s\)", page.look(name, None))
        while "cancelled" not in (text := page.look(name, 1)):
            assert "Cancelling" in text

    def test_with_a_fault_of_ours_say_so(self, asked, monkeypatch, caplog):
        monkeypatch.setattr(module, "main", lambda *_: 1 / 0)
        status, text = asked(None).show("/overview/loaded")
        assert status == 200
        assert "a bug in polarbear" in text
        assert "division by zero" in caplog.text
        assert "Traceback" not in text

    @pytest.mark.parametrize(
        ("path", "search"),
        [
            ("/nowhere", ""),
            ("/overview/nothing", ""),
            ("/eaf/attainment", "?study=none"),
            ("/settings", "?digits=x"),
            ("/settings", "?study=none"),
            ("/overview/loaded", "?colors={"),
            ("/overview/loaded", "?x=%00&theme=neon"),
            ("//evil.example/..", "?study=%2e%2e"),
            (None, None),
        ],
    )
    def test_with_anything_in_their_address_say_what_is_wrong(self, asked, path, search):
        status, text = asked(None).show(path, search)
        assert status == 200
        assert "Traceback" not in text
        assert path is None or '"role":"alert"' in text.replace(" ", "")


class Asking:
    """A browser's questions, without one."""

    def __init__(self, app):
        self._app, self._client = app, app.server.test_client()

    def show(self, path, search=""):
        inputs = [("address", "pathname", path), ("address", "search", search)]
        return self._ask("..page.children...seen.data..", inputs)

    def look(self, job, clicks):
        output = next(name for name in self._app.callback_map if "page-said.children" in name)
        inputs = [("page-look", "n_intervals", 1), ("page-cancel", "n_clicks", clicks)]
        return self._ask(output, inputs, [("page-job", "data", job)])[1]

    def _ask(self, output, inputs, state=()):
        outputs = [name.rsplit(".", 1) for name in output.strip(".").split("...")]
        asked = {
            "output": output,
            "outputs": [{"id": of, "property": name} for of, name in outputs],
            "inputs": [{"id": of, "property": name, "value": value} for of, name, value in inputs],
            "state": [{"id": of, "property": name, "value": value} for of, name, value in state],
            "changedPropIds": [".".join(inputs[-1][:2])],
        }
        answer = self._client.post("/_dash-update-component", json=asked)
        return answer.status_code, answer.get_data(as_text=True)
