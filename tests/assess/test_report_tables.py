"""Tables of statistics and samples, and targets of every function by itself."""

import json
from dataclasses import replace

import numpy as np
import pytest

from polarbear.assess import budget_targets, ert, log_targets, par
from polarbear.assess.report import (
    EXPENSIVE_BUDGETS,
    Assessment,
    budget_based_targets,
    parameter_samples,
    parameter_statistics,
    read_targets,
    runtime_samples,
    runtime_statistics,
    subject_of,
    suggest_targets,
    target_data,
    targets_of,
    value_samples,
    value_statistics,
    with_targets,
)
from polarbear.records import Parameters
from tests.analyzer.recorded import runs

SUBJECT = subject_of(runs())
CELL = SUBJECT.cells[0]


def rows_of(data, name="slow", cell=CELL):
    rows = [dict(zip(data.columns, row, strict=True)) for row in data.rows]
    where = {"suite": cell.suite, "function": cell.function, "dimension": cell.dimension, "algorithm": name}
    return [row for row in rows if row.items() >= where.items()]


def test_statistics_of_runtimes_are_those_of_the_runs():
    targets, trials = [10.0, 1e-3, 1e-4], CELL.trials["slow"]
    rows = rows_of(runtime_statistics(SUBJECT, targets, levels=[0.5], penalty=2))
    times = trials.runtimes(targets)
    assert [row["target"] for row in rows] == targets
    np.testing.assert_allclose([float(row["ert"]) for row in rows], ert(times, trials.evaluations))
    np.testing.assert_allclose([row["par2"] for row in rows], par(times, trials.evaluations, 2))
    assert [row["success_rate"] for row in rows] == np.isfinite(times).mean(axis=0).tolist()
    assert rows[0]["q50"] == rows[0]["median"] == np.median(times[:, 0])
    assert rows[0]["standard_deviation"] == pytest.approx(np.std(times[:, 0], ddof=1))


def test_statistics_of_values_are_those_of_the_runs():
    (row,) = rows_of(value_statistics(SUBJECT, [30]))
    values = CELL.trials["slow"].best_at([30])[:, 0]
    assert row["mean"] == pytest.approx(values.mean())
    assert row["geometric_mean"] == pytest.approx(np.exp(np.log(values).mean()))
    assert row["q2"] == values.min()


@pytest.mark.parametrize(("samples", "at"), [(runtime_samples, [10.0, 1e-4]), (value_samples, [5.0, 50.0])])
def test_wide_samples_are_the_long_ones(samples, at):
    long, wide = rows_of(samples(SUBJECT, at)), rows_of(samples(SUBJECT, at, wide=True))
    count = len(CELL.trials["slow"].runs)
    assert len(long) == count * len(at)
    for row, place in zip(wide, at, strict=True):
        what = "target" if "target" in row else "budget"
        assert row[what] == place
        assert [row[f"run{k + 1}"] for k in range(count)] == [each["value"] for each in long if each[what] == place]


def test_unequal_numbers_of_runs_leave_cells_of_a_wide_table_empty():
    first = CELL.trials["slow"].runs[0].key
    fewer = subject_of([run for run in runs() if run.key != first])
    sizes = {name: len(fewer.cells[0].trials[name].runs) for name in ("fast", "slow")}
    row = rows_of(value_samples(fewer, [5], wide=True), cell=fewer.cells[0])[0]
    empty = [name for name, cell in row.items() if name.startswith("run") and cell is None]
    assert len(empty) == sizes["fast"] - sizes["slow"]


def test_parameters_at_budgets_and_targets():
    logged = Parameters([1, 5, 20], {"sigma": [1.0, 0.5, 0.1]})
    subject = subject_of([replace(run, parameters=logged) for run in runs()])
    cell = subject.cells[0]
    rows = rows_of(parameter_samples(subject, "sigma", budgets=[1, 10]), cell=cell)
    assert {(row["budget"], row["value"]) for row in rows} == {(1, 1), (10, 0.5)}
    (row,) = rows_of(parameter_statistics(subject, "sigma", targets=[1e-3]), cell=cell)
    assert row["median"] == 0.1
    with pytest.raises(ValueError, match="both budgets and targets"):
        parameter_samples(subject, "sigma", budgets=[1], targets=[1])


def test_default_targets_lie_between_what_was_reached():
    targets = [row["target"] for row in rows_of(runtime_statistics(SUBJECT))]
    values = np.concatenate([run.trajectory.values for name in CELL.trials for run in CELL.trials[name].runs])
    assert targets[0] == pytest.approx(values.max())
    assert targets[-1] == pytest.approx(values[values > 0].min())
    assert len(targets) == 10


class TestTargets:
    def test_a_table_survives_its_file(self, tmp_path):
        table = suggest_targets(SUBJECT, count=4)
        (tmp_path / "targets.csv").write_text(target_data(table).csv())
        read = read_targets(tmp_path / "targets.csv")
        assert read.keys() == table.keys()
        for where, targets in table.items():
            np.testing.assert_array_equal(read[where], targets)
        own = with_targets(SUBJECT, read)
        np.testing.assert_array_equal(targets_of(own)[CELL.suite, CELL.function, CELL.dimension], own.cells[0].targets)

    def test_kinds(self):
        where = CELL.suite, CELL.function, CELL.dimension
        np.testing.assert_array_equal(suggest_targets(SUBJECT, "bbob")[where], log_targets())
        np.testing.assert_allclose(np.diff(suggest_targets(SUBJECT, "linear", 5)[where], 2), 0, atol=1e-9)
        np.testing.assert_allclose(np.diff(np.log(suggest_targets(SUBJECT, "log", 5)[where]), 2), 0, atol=1e-9)

    def test_budgets_are_those_of_coco(self):
        assert tuple(10 ** (k / 15) / 2 for k in range(31)) == EXPENSIVE_BUDGETS
        assert (EXPENSIVE_BUDGETS[0], EXPENSIVE_BUDGETS[-1]) == (0.5, 50)

    def test_budget_based_targets_are_those_of_each_function(self):
        found = Assessment(SUBJECT)
        table = budget_based_targets(found)
        for cell in SUBJECT.cells:
            times = {name: cell.runtimes(name) for name in cell.trials}
            erts = [ert(times[name], cell.trials[name].evaluations) for name in cell.trials]
            expected = budget_targets(log_targets(), erts, np.array(EXPENSIVE_BUDGETS) * cell.dimension)
            np.testing.assert_array_equal(table[cell.suite, cell.function, cell.dimension], expected)
        assert json.dumps(Assessment(with_targets(SUBJECT, table)).as_dict())

    def test_what_is_wrong_is_said(self, tmp_path):
        with pytest.raises(ValueError, match="no targets for bbob f1 in 2-D, bbob f1 in 5-D"):
            with_targets(SUBJECT, {key: [1.0] for key in targets_of(SUBJECT) if key[1] != "1"})
        with pytest.raises(ValueError, match="each must be a finite number"):
            with_targets(SUBJECT, dict.fromkeys(targets_of(SUBJECT), (np.inf,)))
        with pytest.raises(ValueError, match="relative to each instance"):
            targets_of(subject_of(runs(None)))
        path = tmp_path / "targets.csv"
        path.write_text("suite,function,target\nbbob,1,3\n")
        with pytest.raises(ValueError, match="no column dimension"):
            read_targets(path)
        path.write_text("suite,function,dimension,target\nbbob,1,5,3\nbbob,1,5,x\n")
        with pytest.raises(ValueError, match="line 3: dimension '5' and target 'x'"):
            read_targets(path)
