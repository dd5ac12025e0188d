"""Who may ask the server, what it tells browsers, and what it never reads."""

import json
import math
import re
import struct
import threading
import zipfile
from base64 import b64decode
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, Request, build_opener, urlopen

import pytest

from polarbear import store
from polarbear.figures.render.plotly import draw
from polarbear.web import Sources, View

pytest.importorskip("dash", reason="dash is not installed")
from polarbear.web.address import Address
from polarbear.web.components import _chosen
from polarbear.web.server import make_server
from tests.analyzer.recorded import runs
from tests.web.asking import ask, served


class TestFiles:
    def test_have_the_numbers_of_the_view(self, server, sources):
        view = View("expected-runtime", "runs", {"problem": "bbob f1 in 5-D"})
        path = f"/file{view.url}".replace("?", ".csv?", 1)
        assert ask(server, path)[2].decode() == view.data(sources).csv()
        assert json.loads(ask(server, path.replace(".csv?", ".json?"))[2]) == json.loads(view.data(sources).json())
        assert ask(server, path.replace(".csv?", ".tex?"))[2].decode() == view.data(sources).latex()
        assert ask(server, path.replace(".csv?", ".md?"))[2].decode() == view.data(sources).markdown()

    @pytest.mark.parametrize(
        ("ending", "begin"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("eps", b"%!PS")]
    )
    def test_are_figures_in_every_format(self, server, ending, begin):
        status, headers, content = ask(server, f"/file/eaf/attainment.{ending}?study=runs")
        assert (status, content[: len(begin)]) == (200, begin)
        assert headers["Content-Disposition"] == f'attachment; filename="attainment.{ending}"'

    @pytest.mark.parametrize(
        ("path", "complaint"),
        [
            ("/file/eaf/attainment.exe?study=runs", "there is no format 'exe'"),
            ("/file/eaf/attainment.csv?study=../../etc/passwd", "is open"),
            ("/file/eaf/attainment.csv?study=%2Fetc%2Fpasswd", "is open"),
            ("/file/overview/loaded.png?study=runs", "has no figure; available formats: csv, json, tex, md"),
            ("/file/eaf/nothing.csv?study=runs", "there is no view 'nothing'"),
            ("/file/eaf/attainment.svg?study=runs&x=cubic", "x is 'cubic'; it must be one of log, linear"),
        ],
    )
    def test_that_there_are_not_are_said(self, server, path, complaint):
        status, _, content = ask(server, path)
        assert status == 404
        assert complaint in content.decode()
        assert "Traceback" not in content.decode()

    @pytest.mark.parametrize("path", ["/assets/../app.py", "/assets/%2e%2e/app.py", "/assets/..%2f..%2fversion.py"])
    def test_beyond_the_assets_are_not_read(self, server, path):
        assert b"from __future__" not in ask(server, path)[2]


class TestVisitors:
    def test_get_a_strict_policy(self, server):
        policy = ask(server, "/")[1]["Content-Security-Policy"]
        script = re.search(r"script-src ([^;]+)", policy)[1]
        assert "unsafe" not in script
        assert "http" not in policy
        for rule in ("default-src 'self'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"):
            assert rule in policy

    def test_from_another_name_are_refused(self, server):
        status, _, content = ask(server, "/", Host="evil.example")
        assert status == 403
        assert b"not the address of the analyzer" in content

    def test_of_another_host_need_the_token(self, folder):
        server = served(make_server([folder / "runs.study"], host="0.0.0.0"))
        try:
            here, _, token = server.url.replace("0.0.0.0", "127.0.0.1").partition("?token=")
            assert token == server.token != ""
            for wrong in ("", "?token=", "?token=wrong"):
                with pytest.raises(HTTPError, match="403"):
                    urlopen(here + wrong)
            visitor = build_opener(HTTPCookieProcessor())
            assert visitor.open(f"{here}?token={token}").status == 200
            assert visitor.open(f"{here}file/overview/loaded.csv?study=runs").status == 200, "by the cookie"
        finally:
            server.close()


class TestOtherSites:
    def test_cannot_ask_through_a_visitor(self, server):
        status, _, content = ask(server, "/_dash-update-component", b"{}", Origin="http://evil.example")
        assert (status, b"a page of another site" in content) == (403, True)

    def test_are_not_where_a_token_leads(self, folder):
        server = served(make_server([folder / "runs.study"], host="0.0.0.0"))
        try:
            here = server.url.replace("0.0.0.0", "127.0.0.1").partition("?")[0]
            asked = Request(f"{here}/evil.example/%2e%2e?token={server.token}&study=runs")
            with pytest.raises(HTTPError) as raised:
                build_opener(Staying).open(asked)
            with raised.value as answer:
                assert urlsplit(answer.headers["Location"]).netloc == ""
                assert answer.headers["Location"].endswith("?study=runs")
        finally:
            server.close()

    def test_answers_are_not_kept_by_browsers(self, server):
        assert ask(server, "/file/overview/loaded.csv?study=runs")[1]["Cache-Control"] == "no-store"

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
    def test_this_machine_goes_by_each_of_its_names(self, server, host):
        for name in (host, f"{host}:80"):
            assert ask(server, "/overview/loaded", Host=name)[0] == 200


class Staying(HTTPRedirectHandler):
    """Follows no redirection."""

    def redirect_request(self, *_):
        return None


def test_a_study_is_saved_and_opened_again(server, folder, tmp_path):
    status, headers, content = ask(server, "/study.zip?study=runs")
    assert (status, headers["Content-Type"]) == (200, "application/zip")
    (tmp_path / "saved.zip").write_bytes(content)
    saved = Sources([tmp_path / "saved.zip"])
    whole = View("standings", "runs").data(Sources([folder / "runs.study"]))
    assert View("standings", "saved.zip").data(saved) == whole
    assert b"no study 'nothing' is open" in ask(server, "/study.zip?study=nothing")[2]


def test_a_study_that_is_being_written_is_saved_as_far_as_it_is_complete(tmp_path):
    done, stop = threading.Event(), threading.Event()
    with store.create(tmp_path / "live.study", {}) as study:
        study.append(runs()[0])
        study.commit()
        server = served(make_server([tmp_path / "live.study"]))

        def write():
            for run in runs()[1:]:
                study.append(run)
                study.commit()
                study.compact()  # takes the file before away
                done.set()
                if stop.is_set():
                    return

        writer = threading.Thread(target=write)
        writer.start()
        try:
            done.wait()
            status, _, content = ask(server, "/study.zip?study=live")
        finally:
            stop.set()
            writer.join()
            server.close()
    assert status == 200
    (tmp_path / "saved.zip").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "saved.zip") as packed:
        packed.extractall(tmp_path / "unpacked")
    with store.open(tmp_path / "unpacked" / "live.study") as saved:
        assert saved.damaged == ()
        assert {run.key for run in saved.runs()} <= {run.key for run in runs()}
        assert len(saved) >= 2


class TestAddress:
    STUDIES = ("runs", "race")

    def test_begins_with_the_first_view_of_the_first_study(self):
        assert Address.of("/", "", self.STUDIES).view == View("loaded", "runs")

    @pytest.mark.parametrize("search", ["?study=race&theme=dark&x=log", "?study=runs&problem=f1&sort=-runs&find=a%26b"])
    def test_is_found_again(self, search):
        address = Address.of("/eaf/attainment-ecdf", search.replace("problem", "problem"), self.STUDIES)
        path, _, query = address.url.partition("?")
        assert Address.of(path, query, self.STUDIES) == address

    def test_of_another_view_keeps_what_both_have(self):
        address = Address.of("/eaf/attainment", "?study=runs&problem=f1&algorithm=A&theme=dark&x=log", self.STUDIES)
        other = address.on("fixed-budget", "convergence")
        assert other == f"/fixed-budget/convergence?study=runs&problem={quote('f1')}&theme=dark"

    @pytest.mark.parametrize(
        ("path", "search", "complaint"),
        [
            ("/nowhere", "", "there is no page 'nowhere'"),
            ("/eaf", "?x=cubic", "x is 'cubic'; it must be one of log, linear"),
        ],
    )
    def test_that_is_wrong_is_answered(self, path, search, complaint):
        with pytest.raises(ValueError, match=complaint):
            Address.of(path, search, self.STUDIES)

    def test_draws_coordinates_as_bytes(self, sources):
        address = Address.of("/fixed-target/runtime-distribution", "?study=runs", self.STUDIES)
        figure = address.view.figure(sources)
        assert any(None in trace["x"] for trace in draw(figure)["data"])
        for packed, plain in zip(address.drawn(figure)["data"], draw(figure)["data"], strict=True):
            for name in ("x", "y"):
                assert packed[name]["dtype"] == "f8"
                numbers = struct.iter_unpack("<d", b64decode(packed[name]["bdata"]))
                assert [None if math.isnan(number) else number for (number,) in numbers] == plain[name]

    def test_says_which_rows_are_shown_in_which_order(self, sources):
        data = View("loaded", "runs").data(sources)
        address = Address.of("/overview/loaded", "?study=runs&sort=-dimension&find=bbob", self.STUDIES)
        assert [row[2] for row in _chosen(data, address)] == [5, 5, 2, 2]
        nothing = Address.of("/overview/loaded", "?study=runs&find=nothing+of+that", self.STUDIES)
        assert _chosen(data, nothing) == []
