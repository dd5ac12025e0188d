import json
import re

import numpy as np
import pytest

from polarbear.assess.restarts import simulated_restarts
from polarbear.assess.runtimes import runtimes
from polarbear.assess.table import runtime_table
from polarbear.assess.table_formats import as_html, as_latex, as_text, number
from polarbear.assess.trials import group_trials
from tests.assess.coco_data import make_run, published_reference, published_runs, shared


@pytest.fixture(scope="module")
def printed():
    return json.loads(shared("coco_runs/bipop_bfgs_table1.json").read_text())


@pytest.fixture(scope="module")
def table_1():
    """Table I, with another BFGS than the paper's, whose runs are not published."""
    functions = (1, 2, 3)
    runs = [
        run for name in ("BIPOP-CMA-ES", "BFGS-scipy-2019") for f in functions for run in published_runs(name, f, 5)
    ]
    references = {str(function): published_reference(function, 5) for function in functions}
    return runtime_table(group_trials(runs), references=references, tests=24)


def row_of(block, algorithm):
    return next(row for row in block.rows if row.algorithm == algorithm)


class TestTable1:
    """Table I of Hansen et al. 2022."""

    def test_all_21_cells_and_successes_of_bipop_as_printed(self, table_1, printed):
        for block in table_1.blocks:
            row = row_of(block, "BIPOP-CMA-ES")
            cells = [*map(number, row.shown), f"{row.successes}/{row.runs}"]
            assert cells == printed["paper"]["BIPOP"][block.function]

    def test_ratios_of_bipop_are_those_recomputed_from_its_raw_hits(self, table_1, printed):
        for block in table_1.blocks:
            cells = printed["BIPOP_recomputed"][block.function]
            expected = [cells[str(target)]["ratio"] for target in table_1.targets]
            np.testing.assert_allclose(row_of(block, "BIPOP-CMA-ES").shown, expected, rtol=1e-12)

    def test_best_2009_rows_as_printed(self, table_1, printed):
        for block in table_1.blocks:
            erts = printed["best2009_ERT"][block.function]
            assert block.reference.tolist() == [erts[str(target)] for target in table_1.targets]
            assert block.reference_successes == (15, 15)

    def test_references_may_come_from_an_archive(self, table_1):
        from polarbear import store

        found = store.read_reference(shared("coco_refalgs/best2009-bbob.tar.gz"))
        trials = group_trials(published_runs("BIPOP-CMA-ES", 3, 5))
        (block,) = runtime_table(trials, references={"3": found["3", 5]}).blocks
        assert block.reference.tolist() == table_1.blocks[2].reference.tolist()
        assert block.reference_successes == (15, 15)

    def test_dispersions_of_bipop_are_of_the_printed_size(self, table_1):
        """The printed ones are random, from few simulated runtimes: they lie among those of samples of 15.

        Error rate: 21 values within the 1 ‰- and 999 ‰-quantile, seed fixed.
        """
        paper = {
            "1": [2, 4, 4, 5, 5, 4, 5],
            "2": [3, 3, 3, 2, 2, 2, 2],
            "3": [2, 20, 322, 298, 351, 43, 557],
        }
        rng = np.random.default_rng(1)
        for block in table_1.blocks:
            runs = published_runs("BIPOP-CMA-ES", int(block.function), 5)
            times, spent = runtimes(runs, table_1.targets), [run.outcome.evaluations for run in runs]
            samples = simulated_restarts(times, spent, 15 * 2000, rng=rng, first_with_replacement=True)
            low, high = np.quantile(samples.reshape(2000, 15, -1), [0.1, 0.9], axis=1, method="hazen")
            least, most = np.quantile((high - low) / 2 / block.reference, [0.001, 0.999], axis=0)
            assert (np.round(least) <= paper[block.function]).all()
            assert (paper[block.function] <= np.round(most)).all()
            found = row_of(block, "BIPOP-CMA-ES").dispersion
            assert ((least < found) & (found < most)).all()

    def test_stars_as_in_the_paper_where_bfgs_and_bipop_are_fully_separated(self, table_1):
        separated = row_of(table_1.blocks[1], "BFGS-scipy-2019")
        assert separated.stars.tolist() == [4] * 7
        assert separated.best.all()
        assert row_of(table_1.blocks[1], "BIPOP-CMA-ES").stars.tolist() == [0] * 7

    def test_bfgs_never_solves_f3(self, table_1):
        row = row_of(table_1.blocks[2], "BFGS-scipy-2019")
        assert np.isinf(row.shown[1:]).all()
        assert np.isnan(row.dispersion[1:]).all()
        assert not row.best[1:].any()
        assert f"{row.successes}/{row.runs}" == "0/15"

    def test_formats_hold_every_cell(self, table_1):
        for write, best, infinite in [
            (as_text, "[1.4]", "∞"),
            (as_latex, r"\textbf{1.4}", r"$\infty$"),
            (as_html, "<b>1.4</b>", "∞"),
        ]:
            written = write(table_1)
            for piece in (best, infinite, "1654", "15/15", "14/15", "1e-7", "139"):
                assert piece in written, (write.__name__, piece)


def two_algorithms(*, slow_hits):
    fast = [make_run(f"bbob-f7-i{i}-d2", {10 + i: 1e-9}, 100, algorithm="fast_1 & <co>") for i in range(5)]
    slow = [make_run(f"bbob-f7-i{i}-d2", hits, 17_544, algorithm="slow") for i, hits in enumerate(slow_hits)]
    return group_trials(fast + slow)


def test_median_evaluations_stand_behind_a_target_never_reached():
    table = runtime_table(two_algorithms(slow_hits=[{1: 5.0}] * 5), [1e1, 1.0], tests=1)
    row = row_of(table.blocks[0], "slow")
    assert row.shown.tolist() == [1.0, np.inf]
    assert row.median_evaluations == 17_544
    assert "∞ 2e4" in as_text(table)
    assert r"$\infty$ \textit{2e4}" in as_latex(table)
    assert "∞ <i>2e4</i>" in as_html(table)


def test_stars_need_the_best_entry_to_beat_every_other_one():
    runs = [run for one in two_algorithms(slow_hits=[{500: 1e-9}] * 5) for run in one.runs]
    alone = runtime_table(group_trials(runs), [1.0])
    assert row_of(alone.blocks[0], "fast_1 & <co>").stars.tolist() == [2], "5 before 5 others: p = 0.009"
    twin = [make_run(f"bbob-f7-i{i}-d2", {10 + i: 1e-9}, 100, algorithm="twin") for i in range(5)]
    crowded = runtime_table(group_trials(runs + twin), [1.0])
    assert all(row.stars.tolist() == [0] for row in crowded.blocks[0].rows)
    assert [row.best.tolist() for row in crowded.blocks[0].rows] == [[True], [False], [True]]


def test_without_a_reference_erts_are_shown_themselves():
    table = runtime_table(two_algorithms(slow_hits=[{500: 1e-9}] * 5), [1.0])
    assert row_of(table.blocks[0], "slow").shown.tolist() == [500.0]
    assert table.blocks[0].reference is None


def test_names_are_escaped():
    table = runtime_table(two_algorithms(slow_hits=[{500: 1e-9}] * 5), [1.0])
    assert r"fast\_1 \& \textless{}co\textgreater{}" in as_latex(table)
    assert "fast_1 &amp; &lt;co&gt;" in as_html(table)
    assert "<co>" not in as_html(table)


def test_a_name_in_brackets_is_no_argument_of_the_latex_line_before_it():
    runs = [make_run(f"bbob-f7-i{i}-d2", {10: 1e-9}, 100, algorithm="[1+1]-ES") for i in range(5)]
    assert "\n{[}1+1]-ES &" in as_latex(runtime_table(group_trials(runs), [1.0]))


def test_an_unknown_dimension_is_left_out_of_the_caption():
    runs = [make_run("sphere", {10: 1e-9}, 100)]
    assert "precision ε, in evaluations" in as_text(runtime_table(group_trials(runs), [1.0]))


def test_a_latex_table_has_its_caption_above_the_numbers_with_nothing_unescaped():
    table = runtime_table(two_algorithms(slow_hits=[{1: 5.0}] * 5), [1e1, 1.0], tests=1)
    needed, begin, caption, *lines, rule, end = as_latex(table).splitlines()
    assert (needed, begin) == (r"% \usepackage{booktabs,longtable}", r"\begin{longtable}{lllr}")
    assert (rule, end) == (r"\bottomrule", r"\end{longtable}")
    assert lines.index(r"\endfirsthead") < lines.index(r"\endhead")
    assert lines.count(r"$\varepsilon$ & 1e1 & 1e0 & \#succ \\") == 2  # a head for the first page, and for the others
    assert r"\hline" not in lines
    assert caption.startswith(r"\caption{Expected runtimes (ERT)")
    assert r"to reach the target precision $\varepsilon$ in dimension 2, in evaluations." in caption
    assert r"half the difference between the 10 \% and 90 \% quantiles" in caption
    assert r"\#succ: runs that reached 1e-8. After $\infty$ in the last column:" in caption
    assert caption.endswith(r"Bonferroni correction for 1 test. Bold: best.} \\")
    assert not re.search(r"(?<!\\)[%#&_~<>]", caption)
    assert caption.isascii()
    assert caption.count("{") == caption.count("}")


def test_html_is_well_formed_and_latex_rows_have_equal_columns(table_1):
    from xml.etree import ElementTree as ET

    rows = ET.fromstring(as_html(table_1)).findall(".//tr")
    assert {len(row) for row in rows} == {9}
    lines = [line for line in as_latex(table_1).splitlines() if "&" in line]
    assert {line.count("&") for line in lines} == {8}


def test_text_columns_are_aligned(table_1):
    lines = as_text(table_1).splitlines()
    place = lines[0].index("#succ")
    assert all(line[place].isdigit() and line[place - 1] == " " for line in lines[1:10])


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3.1879, "3.2"), (9.96, "10"), (15.38, "15"), (138.7, "139"), (1.0, "1"), (0.346, "0.35"), (0.0, "0"),
     (99_999.4, "99999"), (123_456.0, "1.2e5"), (np.inf, "∞"), (1.96, "2.0")],
)  # fmt: skip
def test_numbers_as_the_field_prints_them(value, expected):
    assert number(value) == expected


def test_refuses_what_is_not_one_table():
    with pytest.raises(ValueError, match="one suite in one dimension"):
        runtime_table(group_trials([make_run(f"bbob-f1-i1-d{d}", {1: 1.0}, 2) for d in (2, 3)]))
    with pytest.raises(ValueError, match="one suite in one dimension"):
        runtime_table([])
    one = group_trials([make_run("bbob-f1-i1-d2", {1: 1.0}, 2)])
    with pytest.raises(ValueError, match="an algorithm occurs twice on function 1"):
        runtime_table([*one, *one])
