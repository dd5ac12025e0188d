"""The views as a folder of pages: links lead to files, nothing leads elsewhere, numbers are those of the views."""

import re

import pytest
from typer.testing import CliRunner

from polarbear.web import PAGES, View, views_of
from polarbear.web.site import write_site


def checked(folder):
    """The pages of a folder, none of which asks for anything that is not in it."""
    pages = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.html")}
    for name, text in pages.items():
        assert "<script" not in text
        for link in re.findall(r'(?:href|src)="([^"#]+)"', text):
            assert not re.match(r"\w+:|//|/", link), f"{name} leads to {link}"
            assert (folder / name).parent.joinpath(link).resolve().is_file(), f"{name}: there is no {link}"
    return pages


def of_studies(page):
    """The kinds of views of a page that show a study, rather than a library or a knowledge base."""
    return [kind for kind in views_of(page) if kind.needs not in ("KnowledgeBase", "Catalogue")]


def test_pages_are_whole(folder, sources, tmp_path):
    seen = []
    index = write_site(folder / "race.study", tmp_path / "site", pages=("overview", "select"), progress=seen.append)
    pages = checked(index.parent)
    assert set(pages) == {
        "index.html",
        *(f"{page}/{kind.name}.html" for page in ("overview", "select") for kind in of_studies(page)),
    }
    assert seen[0] == "What is loaded"
    table = View("by-algorithm", "race", {"dimension": "2"}).data(sources)
    with (index.parent / "tables" / "by-algorithm-2.csv").open(encoding="utf-8", newline="") as file:
        assert file.read() == table.csv()
    text = pages["select/deploy.html"]
    assert 'src="../figures/deploy.svg"' in text
    assert "Deploy fast" in text
    assert "pb.load(" in text


def test_no_more_choices_are_shown_than_wanted(folder, tmp_path):
    index = write_site(folder / "runs.study", tmp_path / "site", pages=("overview",), most=1)
    assert "The first 1 of 3; see the others in polarbear serve" in checked(index.parent)["overview/by-algorithm.html"]


def test_what_cannot_be_read_is_said(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(ValueError, match=r"notes\.txt"):
        write_site(tmp_path / "notes.txt", tmp_path / "site")


@pytest.mark.slow
def test_every_view_is_written_by_the_command(folder, tmp_path):
    from polarbear.cli.app import app

    site = tmp_path / "site"
    done = CliRunner().invoke(app, ["report", str(folder / "race.study"), "--full", "--most", "1", "--into", str(site)])
    assert done.exit_code == 0, done.output
    pages = checked(site)
    kinds = (kind for page in PAGES for kind in of_studies(page))
    assert set(pages) == {"index.html", *(f"{kind.page}/{kind.name}.html" for kind in kinds)}
