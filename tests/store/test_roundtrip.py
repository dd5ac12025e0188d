"""What goes into a study comes out bit by bit."""

import io
import math
import struct
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polarbear import store
from polarbear.records import Outcome, Parameters, Reason, Run, RunKey, Samples, Trajectory
from polarbear.store import parts

FLOATS = st.floats(allow_nan=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def any_run(draw):
    values = sorted(draw(st.sets(FLOATS, max_size=8)), reverse=True)
    evaluations = sorted(draw(st.sets(st.integers(1, 2**62), min_size=len(values), max_size=len(values))))
    seconds = sorted(draw(st.lists(st.floats(0, 1e9), min_size=len(values), max_size=len(values))))
    spent = draw(st.integers(evaluations[-1] if evaluations else 0, 2**63 - 1))
    outcome = Outcome(
        draw(st.sampled_from(Reason)),
        spent,
        draw(st.floats(0, allow_infinity=True, allow_nan=False)),
        draw(st.text(max_size=20)),
        draw(st.text(max_size=20)),
        draw(st.integers(0, 2**63 - 1)),
    )
    key = RunKey(draw(TEXT), draw(TEXT), draw(st.integers(-(2**63), 2**63 - 1)))
    trajectory = Trajectory(np.array(evaluations, np.int64), np.array(seconds), np.array(values), outcome)
    number = st.one_of(st.none(), FLOATS)
    parameters = draw(st.one_of(st.none(), any_parameters()))
    solution = draw(st.none() | st.lists(st.floats(), min_size=1, max_size=4) | any_points())
    return Run(key, trajectory, draw(number), draw(number), parameters, solution, draw(st.none() | any_samples()))


@st.composite
def any_points(draw, count=None):
    count, dimension = count or draw(st.integers(1, 3)), draw(st.integers(1, 4))
    numbers = draw(st.lists(st.floats(), min_size=count * dimension, max_size=count * dimension))
    return np.array(numbers).reshape(count, dimension)


@st.composite
def any_samples(draw):
    at = np.array(sorted(draw(st.sets(st.integers(1, 2**62), min_size=1, max_size=4))), np.int64)
    values = draw(st.lists(FLOATS, min_size=at.size, max_size=at.size))
    return Samples(at, draw(any_points(at.size)), values)


@st.composite
def any_parameters(draw):
    at = np.array(sorted(draw(st.sets(st.integers(1, 2**62), max_size=5))), np.int64)
    column = st.lists(st.floats(), min_size=at.size, max_size=at.size)
    return Parameters(at, draw(st.dictionaries(TEXT, column, max_size=3)))


def bits(run, samples=True):
    """All of a run, with the points that it evaluated or without them."""
    points = run.samples if samples else None
    trajectory = run.trajectory
    outcome = trajectory.outcome
    logged = run.parameters
    return (
        run.key,
        [None if x is None else struct.pack("<d", x) for x in (run.target, run.optimum)],
        logged and (logged.evaluations.tobytes(), [(name, x.tobytes()) for name, x in logged.values.items()]),
        trajectory.evaluations.tobytes(),
        trajectory.seconds.tobytes(),
        trajectory.values.tobytes(),
        (outcome.reason, outcome.evaluations, struct.pack("<d", outcome.seconds), outcome.invalid_evaluations),
        [text.encode("utf-8", "backslashreplace") for text in (outcome.message, outcome.traceback)],
        None if run.solution is None else (run.solution.shape, run.solution.tobytes()),
        points and [(one.shape, one.tobytes()) for one in (points.evaluations, points.points, points.values)],
    )


@pytest.mark.parametrize(
    "fresh", ["local", *(pytest.param(name, marks=pytest.mark.slow) for name in ("memory", "s3"))], indirect=True
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    runs=st.lists(any_run(), max_size=12, unique_by=lambda run: run.key), merge=st.booleans(), cut=st.integers(0, 12)
)
def test_every_run_comes_back_bit_by_bit(fresh, runs, merge, cut):
    path = fresh()
    with store.create(path, {}) as study:
        study.extend(runs[:cut])
        study.commit()
        study.extend(runs[cut:])
        if merge:
            study.commit()
            study.compact()
        before = [bits(run) for run in study.runs(samples=True)]
    expected = [bits(run) for run in sorted(runs, key=lambda run: run.key)]
    assert before == expected
    assert [bits(run) for run in store.read(path, samples=True)] == expected
    with store.open(path) as study:
        assert study.keys() == [each[0] for each in expected]
        assert all(bits(study.run(run.key)) == bits(run, samples=False) for run in runs)
        assert all(type(study.run(run.key).outcome.reason) is Reason for run in runs)


def test_special_values(path, run):
    values = np.array([math.inf, 1.0, 5e-324, 0.0, -5e-324, -1.7976931348623157e308, -math.inf])
    times = np.arange(1, values.size + 1)
    special = Run(RunKey("i", "a", 0), Trajectory(times, times.astype(float), values, run(1).outcome), math.inf)
    with store.create(path, {}) as study:
        study.append(special)
    assert [bits(each) for each in store.read(path)] == [bits(special)]


def test_parts_of_earlier_versions_lack_what_came_later(run):
    later = ["optimum", "parameter_evaluations", "parameters", "solution", "solutions", "samples"]
    table = pl.read_parquet(io.BytesIO(parts.encode([run(0), run(1)]))).drop(later)
    table.write_parquet(old := io.BytesIO())
    assert run(1).solution is not None
    assert parts.runs_of(parts.decode_table(old.getvalue()), [0, 1]) == [run(0), replace(run(1), solution=None)]


def test_half_a_surrogate_pair_in_a_message_is_escaped(path, run):
    with store.create(path, {}) as study:
        study.append(run(1, message="bad \ud800 byte"))
        study.append(run(1, message="bad \ud800 byte"))  # the same run
    assert store.read(path)[0].outcome.message == "bad \\ud800 byte"


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        (RunKey("i", "a", 2**63), "does not fit into 64 bits"),
        (RunKey("\ud800", "a", 0), "not valid Unicode"),
    ],
)
def test_a_key_that_cannot_be_stored_is_refused_at_once(path, run, key, complaint):
    with store.create(path, {}) as study:
        with pytest.raises(ValueError, match=complaint):
            study.append(Run(key, run(0).trajectory))
        study.append(run(1))
    assert len(store.read(path)) == 1


def test_rounds_and_spec_come_back_as_json_gives_them(path):
    spec = {"times": [1, 2.5, 1e300], "name": "Größe α", "nested": {"a": None, "b": [True, math.inf]}}
    with store.create(path, spec) as study:
        assert study.spec == spec
        for number in range(12):
            study.append_round({"number": number, "pair": (1, 2), "value": 0.1 + number})
        study.rounds()[0]["number"] = "changed outside"
        rounds = study.rounds()
    with store.open(path) as study:
        assert study.spec == spec
        assert study.rounds() == rounds
    assert rounds == [{"number": number, "pair": [1, 2], "value": 0.1 + number} for number in range(12)]


def test_parts_are_plain_parquet(tmp_path, run):
    import polars as pl

    with store.create(tmp_path / "study", {}) as study:
        study.extend(run(seed) for seed in range(5))
    table = pl.read_parquet(tmp_path / "study" / "runs" / "*.parquet").sort("seed")
    assert table["values"].to_list() == [run(seed).trajectory.values.tolist() for seed in range(5)]
    assert table["reason"].to_list() == ["budget"] * 5
    assert table["target"].null_count() == 2
