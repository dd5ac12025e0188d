"""Who may ask the server, what it tells browsers, and what it never reads."""

import base64
import json
import re
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

import pytest

from polarbear import store
from polarbear.web import Sources, View
from polarbear.web.uploads import Uploads
from tests.analyzer.recorded import runs

pytest.importorskip("dash", reason="dash is not installed")
from polarbear.web.address import Address
from polarbear.web.components import _chosen
from polarbear.web.server import make_server
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
            ("/file/overview/loaded.png?study=runs", "has no figure; its data are csv, json, tex, md"),
            ("/file/eaf/nothing.csv?study=runs", "there is no view 'nothing'"),
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
        assert b"not the analyzer" in content

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


class TestUploads:
    def sent(self, path):
        return f"data:;base64,{base64.b64encode(path.read_bytes()).decode()}"

    def test_are_imported_into_a_study_that_is_not_listed(self, folder, tmp_path):
        sources = Sources([folder / "runs.study"])
        uploads = Uploads(sources)
        file = store.export(runs(), tmp_path / "mine.csv", "csv")
        name, imported = uploads.take("../../mine.csv", self.sent(file))
        assert imported.added == 48
        assert sources.names == ("runs",)
        assert View("loaded", name).data(sources).rows == View("loaded", "runs").data(sources).rows
        kept = sources.path(name)
        uploads.close()
        assert not kept.exists()

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("data:;base64,!!!", "did not arrive whole"),
            ("data:;base64," + base64.b64encode(b"hello\n").decode(), "holds no data that polarbear reads"),
            ("data:;base64," + base64.b64encode(b"\x1f\x8b\x08\x00damaged").decode(), "notes"),
        ],
    )
    def test_that_cannot_be_read_are_said(self, content, complaint):
        uploads = Uploads(Sources([]))
        with pytest.raises(ValueError, match=complaint) as raised:
            uploads.take("notes.tgz", content)
        assert "/tmp" not in str(raised.value), "where things lie is nobody's business"
        uploads.close()


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
            ("/eaf", "?x=cubic", "x is 'cubic'; it is one of log, linear"),
        ],
    )
    def test_that_is_wrong_is_answered(self, path, search, complaint):
        with pytest.raises(ValueError, match=complaint):
            Address.of(path, search, self.STUDIES)

    def test_says_which_rows_are_shown_in_which_order(self, sources):
        data = View("loaded", "runs").data(sources)
        address = Address.of("/overview/loaded", "?study=runs&sort=-dimension&find=bbob", self.STUDIES)
        assert [row[2] for row in _chosen(data, address)] == [5, 5, 2, 2]
        nothing = Address.of("/overview/loaded", "?study=runs&find=nothing+of+that", self.STUDIES)
        assert _chosen(data, nothing) == []
