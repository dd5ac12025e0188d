"""Failed runs are told by number, algorithm and reason, with how they are counted; where none failed nothing is."""

import csv
import json
from dataclasses import asdict, replace

import pytest

from polarbear.analyzer.assessment import write_assessment
from polarbear.analyzer.assessment.page import cautions
from polarbear.analyzer.assessment.verdict import failures_in_words, verdict
from polarbear.assess.report import Assessment, compare, subject_of
from polarbear.assess.report.subject import FailedRuns, failed_runs
from polarbear.records import Reason, lost
from tests.analyzer.recorded import runs

COUNTED = (
    "as runs that stopped where they did: each keeps the best value it had found and is charged the evaluations it had "
    "spent, so that failing early costs little."
)


def ended(run, reason, message=""):
    """The run as if it had ended for another reason."""
    return replace(
        run, trajectory=replace(run.trajectory, outcome=replace(run.outcome, reason=reason, message=message))
    )


def broken(vanished=2):
    """Of 24 runs each: `slow` failed thrice by a ValueError and once by time, and `fast` vanished in some runs."""
    made = runs()
    slow = [at for at, run in enumerate(made) if run.key.algorithm == "slow"]
    for number, at in enumerate(slow[:3]):
        made[at] = ended(made[at], Reason.FAILED, f"ValueError: <b>no {number}</b>\nat all")
    made[slow[3]] = ended(made[slow[3]], Reason.TIMED_OUT)
    fast = [at for at, run in enumerate(made) if run.key.algorithm == "fast"]
    for at in fast[:vanished]:
        made[at] = lost(made[at].key, Reason.KILLED, "its worker was killed by SIGKILL")
    return made


def test_failures_are_counted_by_algorithm_and_the_most_common_reason_is_told():
    assert failed_runs(subject_of(broken())) == (
        FailedRuns("slow", 24, 4, 0, "failed", "ValueError: <b>no 0</b>\nat all", 3),
        FailedRuns("fast", 24, 2, 2, "killed", "its worker was killed by SIGKILL", 2),
    )


def test_they_are_said_in_one_caution_with_how_they_are_counted():
    (first, *_) = cautions(Assessment(subject_of(broken())))
    assert first == (
        "Runs failed, timed out or were killed: of slow 4 of 24 (most often failed: ValueError: <b>no 0</b>) and fast "
        "2 of 24 (killed: its worker was killed by SIGKILL). 2 of these 6 were killed or timed out before anything was "
        "recorded, and were left out, which favours algorithms that do not survive hard instances. "
        f"The others count {COUNTED}"
    )
    (known,) = failures_in_words(failed_runs(subject_of(broken(vanished=0))))
    assert known.endswith(f": of slow 4 of 24 (most often failed: ValueError: <b>no 0</b>). They count {COUNTED}")


def test_the_page_and_its_tables_hold_them(tmp_path):
    found = Assessment(subject_of(broken()))
    text = write_assessment(found, tmp_path).read_text(encoding="utf-8")
    assert "most often failed: ValueError: &lt;b&gt;no 0&lt;/b&gt;" in text
    assert "<b>no 0</b>" not in text
    assert "<dt>failed runs</dt><dd>6 of 48</dd>" in text
    with (tmp_path / "tables/failures.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["algorithm"], row["failed"], row["left_out"]) for row in rows] == [
        ("slow", "4", "0"),
        ("fast", "2", "2"),
    ]
    assert json.loads(json.dumps(found.as_dict()))["failures"] == [asdict(one) for one in found.failures]


def test_a_comparison_says_the_same():
    found = compare(Assessment(subject_of(broken())))
    assert verdict(found)[-1] == cautions(Assessment(subject_of(broken())))[0]
    assert found.as_dict()["failures"][0]["failed"] == 4


def test_nothing_is_said_where_nothing_failed(tmp_path):
    found = Assessment(subject_of(runs()))
    assert failures_in_words(found.failures) == cautions(found) == []
    assert found.as_dict()["failures"] == compare(found).as_dict()["failures"] == []
    assert "failed" not in write_assessment(found, tmp_path).read_text(encoding="utf-8")
    assert not (tmp_path / "tables/failures.csv").exists()
    assert not any("failed" in sentence for sentence in verdict(compare(found)))


def test_an_algorithm_of_which_nothing_is_known_is_named():
    made = broken(vanished=24)
    subject = subject_of(made)
    assert subject.algorithms == ("slow",)
    assert failed_runs(subject)[0] == FailedRuns("fast", 24, 24, 24, "killed", "its worker was killed by SIGKILL", 24)
    with pytest.raises(
        ValueError, match="at least 2 algorithms; there is only slow; all runs of fast were killed or timed"
    ):
        compare(Assessment(subject))
    with pytest.raises(
        ValueError, match="there are no results for algorithm 'fast': all 24 runs were killed or timed out"
    ):
        subject_of(made, algorithms=["fast"])
    with pytest.raises(ValueError, match="no runs to assess: all 24 runs were killed or timed out before anything"):
        subject_of([run for run in made if run.key.algorithm == "fast"])
    assert not subject_of(made, algorithms=["slow"]).lost


def test_a_choice_holds_for_lost_runs_too():
    chosen = subject_of(broken(vanished=24), dimensions=[5], functions=["2"])
    assert {(run.key.instance[:8], run.key.instance[-3:]) for run in chosen.lost} == {("bbob-f2-", "-d5")}
    assert len(chosen.lost) == 6


def test_a_sentence_names_ten_algorithms_at_most_and_shortens_messages():
    many = [
        ended(replace(run, key=replace(run.key, algorithm=f"A{number:02}")), Reason.FAILED, "x" * 500)
        for number in range(12)
        for run in runs()[:1]
    ]
    (said,) = failures_in_words(failed_runs(subject_of(many)))
    assert f"A09 1 of 1 (failed: {'x' * 120}…) and 2 further algorithms." in said
    assert "A10" not in said
