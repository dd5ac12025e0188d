"""The analyzer in a browser: every page, its numbers, its controls, files that are sent, and a race that grows."""

import re
import shutil
import threading
from pathlib import Path

import pytest

import polarbear as pb
from polarbear import store
from polarbear.assess import Bounds, aocc, group_trials, step_functions
from polarbear.assess import ert as expected_runtime
from polarbear.results import load
from polarbear.web import PAGES, View, views_of
from tests.analyzer.recorded import runs
from tests.assess.coco_data import shared
from tests.study.entrants import crawl, descend, guess, sphere
from tests.web.test_views import CANNOT_BE_SHOWN, study_for

pytest.importorskip("dash", reason="dash is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from polarbear.web.components import MOST_ROWS  # noqa: E402
from polarbear.web.server import make_server  # noqa: E402

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
ARCHIVES = ("bbob__2009__DIRECT_posik_noiseless", "bbob__2017__Ord-N-DTS-CMA-ES_Pitra")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


class Paced(pb.study.Observer):
    """Lets a race begin a round when it is told to."""

    def __init__(self):
        self.may, self.waits = threading.Semaphore(1), threading.Semaphore(0)

    def round_started(self, race, requests):
        self.waits.release()
        assert self.may.acquire(timeout=600)  # other tests of this file may come between


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A race in a thread of its own, which has completed a round and waits to begin the second."""
    path, pace = tmp_path_factory.mktemp("running") / "running.study", Paced()
    times = pb.log_times(5, 200, 8)
    race = pb.Race((guess, descend, crawl), times=times, alpha=0.95, epsilon=0.1, seed=2)
    problem = pb.problems.FunctionProblem(sphere, lower=-2, upper=2, dimension=3)
    thread = threading.Thread(target=pb.study.race, args=(race, problem, path), kwargs={"observer": pace})
    thread.start()
    for _ in range(2):
        assert pace.waits.acquire(timeout=60)
    yield path, pace, thread
    pace.may.release(1_000)
    thread.join(60)


@pytest.fixture(scope="module")
def site(folder, running, tmp_path_factory):
    """The server of both studies, of one that grows, and of a race that is running."""
    growing = tmp_path_factory.mktemp("growing") / "growing.study"
    with store.create(growing, {"kind": "test"}) as kept:
        for run in runs()[:2]:
            kept.append(run)
        kept.commit()
        server = make_server([folder / "runs.study", folder / "race.study", folder / "known", growing, running[0]])
        server.growing = kept
        threading.Thread(target=server.run, daemon=True).start()
        yield server
        server.close()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser, site):
    """A page that loads nothing from elsewhere, and on which nothing goes wrong."""
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    elsewhere, faults = [], []
    page.on("request", lambda request: elsewhere.append(request.url))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.set_default_timeout(60_000)
    yield page
    page.close()
    assert [url for url in elsewhere if not url.startswith((site.url, "data:", "blob:"))] == []
    assert faults == [], "what the policy refuses stands there as well"


def go(page, site, address):
    page.goto(site.url.rstrip("/") + address)
    page.wait_for_selector("#main, #message")


def table(page):
    """The cells of the table, which may be folded away."""
    return page.eval_on_selector_all(
        "#table tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def test_every_page_links_its_views_which_are_reached_by_clicks(page, site):
    go(page, site, "/")
    for name, each in PAGES.items():
        page.get_by_label("Pages").get_by_role("link", name=each.title, exact=True).click()
        page.wait_for_url(re.compile(f"/{name}/"))
        titles = [kind.title for kind in views_of(name)]
        page.get_by_role("heading", name=titles[0], exact=True).wait_for()
        assert page.get_by_label("Views").get_by_role("link").all_inner_texts() == titles
        if titles[1:]:
            page.get_by_label("Views").get_by_role("link", name=titles[-1], exact=True).click()
            page.get_by_role("heading", name=titles[-1], exact=True).wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind.name for page in PAGES for kind in views_of(page)])
def test_every_view_shows_its_data_or_says_why_not(page, site, sources, kind):
    view = View(kind, study_for(kind))
    go(page, site, view.url)
    if kind in CANNOT_BE_SHOWN:
        assert CANNOT_BE_SHOWN[kind] in page.locator("#message").inner_text()
        return
    assert page.locator("#message").count() == 0
    assert len(table(page)) == min(MOST_ROWS, len(view.data(sources).rows))
    if view.figure(sources) is not None:
        page.wait_for_selector("#figure .main-svg")
        assert page.locator("#exhibit figcaption").inner_text().startswith(view.figure(sources).title)


def test_numbers_on_the_page_are_those_of_the_assessment(page, site, sources):
    go(page, site, "/overview/standings?study=runs")
    shown = {(row[0], row[1]): float(row[6]) for row in table(page)}
    standings = sources.get("runs", "Assessment").standings
    assert shown == {(str(s.dimension), s.algorithm): pytest.approx(s.aocc, rel=1e-5) for s in standings}


def test_numbers_of_published_archives_are_those_of_the_assessment(browser):
    """Expected runtimes, areas below runtime distributions and attainment of BBOB's archives, read off the page."""
    server = make_server([shared(f"coco_archive/{archive}.tgz") for archive in ARCHIVES])
    threading.Thread(target=server.run, daemon=True).start()
    page = browser.new_page()
    page.set_default_timeout(60_000)
    try:
        for archive in ARCHIVES:
            runs = store.read(shared(f"coco_archive/{archive}.tgz"))
            trials = [each for each in group_trials(runs) if each.dimension == 5]
            ert = [expected_runtime(each.runtimes([0.01]), each.evaluations)[0] / 5 for each in trials]
            go(page, server, f"/coco/expected-runtimes?study={archive}.tgz&dimension=5&target=0.01")
            ((_, *shown),) = table(page)
            assert [float(cell.replace("∞", "inf")) for cell in shown] == pytest.approx(ert, rel=1e-5)
            curves = step_functions(trials[0].runs, carry=True)
            bounds = Bounds(1, max(each.evaluations.max() for each in trials[:1]), log=True)
            areas = aocc(curves, times=bounds, values=Bounds(1e-8, 100, log=True))
            go(page, server, f"/fixed-budget/areas?study={archive}.tgz&problem=bbob%20f1%20in%205-D")
            assert [float(row[-1]) for row in table(page)] == pytest.approx(areas, rel=1e-5)
    finally:
        page.close()
        server.close()


def test_a_control_changes_the_address_and_what_is_shown(page, site):
    go(page, site, "/race/what-if?study=race")
    page.get_by_label("α").fill("1")
    page.get_by_label("α").press("Enter")
    page.wait_for_url(re.compile("alpha=1"))
    page.get_by_text("With α = 1 and").wait_for()
    page.reload()
    page.get_by_text("With α = 1 and").wait_for()
    assert page.get_by_label("α").input_value() == "1"


def test_what_is_wrong_in_an_address_or_a_control_is_said_in_place(page, site):
    go(page, site, "/race/what-if?study=race&alpha=7")
    assert "α is '7'; it must be a number from 0.5 to 1" in page.locator("#message").inner_text()
    page.get_by_label("α").fill("0.95")
    page.get_by_label("α").press("Enter")
    page.get_by_text("With α = 0.95").wait_for()
    go(page, site, "/race/what-if?study=nothing")
    assert "no study 'nothing' is open" in page.locator("#message").inner_text()


def test_axes_are_switched_and_names_hide_what_they_name(page, site):
    go(page, site, "/fixed-budget/convergence?study=runs&x=linear")
    page.wait_for_selector("#figure .main-svg")
    kind = "() => document.querySelector('#figure .js-plotly-plot').layout.xaxis.type"
    assert page.evaluate(kind) == "linear"
    visible = "() => document.querySelectorAll('#figure .scatterlayer .js-line').length"
    before = page.evaluate(visible)
    page.locator("#figure .legendtoggle").first.click()
    page.wait_for_function(f"{visible} < {before}".replace("() => ", "() => ", 1))


def test_legends_and_the_copy_button_are_used_by_the_keyboard(page, site):
    go(page, site, "/fixed-budget/convergence?study=runs")
    page.wait_for_selector("#figure .legendtoggle[tabindex]")
    visible = "() => document.querySelectorAll('#figure .scatterlayer .js-line').length"
    before = page.evaluate(visible)
    entry = page.locator("#figure .legendtoggle").first
    assert entry.get_attribute("aria-label").startswith("show or hide ")
    for fewer in (True, False):  # it hides, and shows again
        entry.focus()
        page.keyboard.press("Enter")
        page.wait_for_function(f"{visible} {'<' if fewer else '=='} {before}")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("summary", has_text="Python code for this").click()
    page.locator(".copy").focus()
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#code").inner_text()


def test_tables_are_sorted_and_searched(page, site):
    go(page, site, "/overview/loaded?study=runs")
    page.get_by_role("link", name="dimension").click()
    page.wait_for_url(re.compile("sort=dimension"))
    page.get_by_role("link", name="dimension ↑").click()
    page.wait_for_url(re.compile("sort=-dimension"))
    page.get_by_text("dimension ↓").wait_for()
    assert [row[2] for row in table(page)] == ["5", "5", "2", "2"]


def test_sent_files_are_imported_or_refused(page, site, tmp_path):
    good = store.export(runs(), tmp_path / "good.csv", "csv")
    damaged, hostile = tmp_path / "damaged.tgz", tmp_path / "hostile.tar"
    damaged.write_bytes(b"\x1f\x8b\x08\x00damaged")
    with_link(hostile)
    go(page, site, "/overview/loaded?study=runs")
    send = page.locator("#upload input[type=file]")
    for refused in (damaged, hostile):
        send.set_input_files(refused)
        page.locator("#uploaded [role=alert]", has_text=refused.name).wait_for()
    send.set_input_files(good)
    page.locator("#look").click()
    page.get_by_text("48 runs of 2 algorithms").first.wait_for()
    assert re.search("study=good-[0-9a-f]{12}", page.url)


def test_columns_of_a_file_are_named_on_the_page(page, site, tmp_path):
    own = tmp_path / "own.csv"
    own.write_text("fevals,loss,solver,problem\n1,3,A,sphere-d2-1\n5,2,A,sphere-d2-1\nx,1,A,sphere-d2-1\n")
    go(page, site, "/overview/loaded?study=runs")
    page.locator("#upload input[type=file]").set_input_files(own)
    page.get_by_role("group", name="columns of own.csv").wait_for()
    page.get_by_role("button", name="Import").click()
    page.get_by_text("own.csv, line 4: evaluations is 'x'").wait_for()
    page.locator("#look").click()
    page.get_by_text("1 run of 1 algorithm on 1 problem: A.").first.wait_for()


def test_example_data_are_a_click_away(page, site):
    go(page, site, "/overview/loaded?study=runs")
    page.get_by_role("button", name="Open example data").click()
    page.wait_for_url(re.compile("study=example"), timeout=60_000)
    page.get_by_text("cmaes").first.wait_for()


def test_settings_are_changed_saved_and_loaded(page, site, tmp_path):
    go(page, site, "/settings?study=runs")
    page.get_by_label("colour of fast").fill("#aa0000")
    page.get_by_label("colour of fast").press("Enter")
    page.wait_for_url(re.compile("colors="))
    page.wait_for_selector("a[href*='/settings.json'][href*='colors=']")  # the page is drawn anew
    page.get_by_label("digits in tables").fill("99")
    page.get_by_label("digits in tables").press("Enter")
    page.get_by_text("digits is 99; it must be a whole number from 1 to 17").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("link", name="settings.json").click()
    file = tmp_path / "settings.json"
    saved.value.save_as(file)
    go(page, site, "/settings?study=runs")
    page.locator("#settings-file input[type=file]").set_input_files(file)
    page.wait_for_url(re.compile("colors=.*aa0000"))
    page.get_by_role("link", name="Fixed budget").click()
    page.wait_for_selector("#figure .main-svg")
    colors = "() => [...document.querySelectorAll('#figure .js-line')].map(each => each.style.stroke)"
    assert "rgb(170, 0, 0)" in page.evaluate(colors)


def test_figures_look_as_the_settings_say(page, site):
    go(page, site, "/settings?study=runs")
    page.get_by_label("background").fill("#222222")
    page.get_by_label("background").press("Enter")
    page.get_by_text("paper is #222222, on which grey text").wait_for()
    for label, text, address in (
        ("background", "#FFF8E7", "paper="),
        ("width of lines", "3", "line_width=3"),
        ("name of bbob f1", "my sphere", "function_names="),
    ):
        page.get_by_label(label).fill(text)
        page.get_by_label(label).press("Enter")
        page.wait_for_url(re.compile(address))
        page.wait_for_selector(f"a[href*='/settings.json'][href*='{address}']")  # the page is drawn anew
    query = page.url.partition("?")[2]
    go(page, site, f"/fixed-budget/value-grid?{query}&legend=below")
    page.wait_for_selector("#figure .main-svg")
    look = "() => getComputedStyle(document.querySelector('#figure .main-svg')).backgroundColor"
    assert page.evaluate(look) == "rgb(255, 248, 231)"
    widths = (
        "() => [...document.querySelectorAll('#figure .scatterlayer .js-line')].map(each => each.style.strokeWidth)"
    )
    assert set(page.evaluate(widths)) == {"4px"}, "3 points"
    legend, lines = (page.locator(f"#figure .{name}").first.bounding_box() for name in ("legend", "scatterlayer"))
    assert legend["y"] > lines["y"] + lines["height"]
    assert page.locator("#figure").get_by_text("my sphere").count() == 1


def test_everything_that_can_be_used_has_a_name_and_is_reached_by_the_keyboard(page, site):
    for address in ("/fixed-budget/average-value?study=runs", "/settings?study=runs"):
        go(page, site, address)
        page.wait_for_selector("#figure .main-svg, #looks")
        everything = page.evaluate(USABLE)
        assert [each for each, name in everything if not name] == [], address
        reached = set()
        for _ in range(len(everything) + 10):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.outerHTML.slice(0, 150)"))
        missed = {each for each, _ in everything if each.startswith(("<a", "<input", "<summary"))} - reached
        assert missed == set(), address


USABLE = """() => [...document.querySelectorAll('a[href], button, input, summary')]
    .filter(each => each.checkVisibility() && !each.ariaHidden && each.type !== 'file' && !each.closest('.modebar'))
    .map(each => [each.outerHTML.slice(0, 150), (each.closest('[role=group]') || each).getAttribute('aria-label')
        || each.textContent.trim() || [...(each.labels || [])].map(label => label.textContent).join('')])"""
"""What can be used on a page: how it begins, and its name."""


def with_link(path: Path):
    """An archive that holds a link out of itself."""
    import tarfile

    with tarfile.open(path, "w") as archive:
        link = tarfile.TarInfo("data.csv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)


def test_a_study_that_grows_is_followed(page, site):
    go(page, site, "/overview/loaded?study=growing")
    assert page.locator("#answer").inner_text().startswith("2 runs")
    for run in runs()[2:6]:
        site.growing.append(run)
    site.growing.commit()
    page.get_by_text("6 runs of 2 algorithms").wait_for()


def test_a_race_is_followed_while_it_runs(page, site, running):
    path, pace, thread = running
    go(page, site, "/race/rounds?study=running")
    assert [row[0] for row in table(page)] == ["1"]
    page.evaluate("window.loaded = 'once'")
    pace.may.release()
    rows = playwright.expect(page.locator("#table tbody tr"))
    rows.to_have_count(2, timeout=60_000)
    assert thread.is_alive(), "the race holds its study open"
    pace.may.release(1_000)
    thread.join(60)
    result = load(path)
    rows.to_have_count(len(result.rounds), timeout=60_000)
    playwright.expect(page.locator("#answer")).to_have_text(result.answer.text, timeout=60_000)
    assert page.evaluate("window.loaded") == "once", "nobody has reloaded the page"


def test_a_study_that_stays_as_it_is_is_not_drawn_again(page, site):
    go(page, site, "/overview/loaded?study=runs")
    with page.expect_response(lambda answer: "tick.n_intervals" in (answer.request.post_data or "")) as looked:
        pass
    assert looked.value.status == 204, "which is no content"


def test_two_visitors_share_nothing(browser, page, site):
    other = browser.new_context().new_page()
    go(page, site, "/race/what-if?study=race&alpha=0.8")
    other.goto(f"{site.url}race/what-if?study=race")
    other.get_by_text("With α = 0.99").wait_for()
    page.get_by_text("With α = 0.8 and").wait_for()
    other.close()


def test_the_answer_of_a_race_is_that_of_its_result(page, site, folder):
    go(page, site, "/race/ratings?study=race&theme=dark")
    assert page.locator("#answer").inner_text() == load(folder / "race.study").answer.headline
    background = "getComputedStyle(document.querySelector('.shell')).backgroundColor"
    assert page.evaluate(background) == "rgb(20, 23, 26)"


def test_pages_are_reached_by_the_keyboard(page, site):
    go(page, site, "/")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/fixed-target/"))
