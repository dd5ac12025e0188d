"""Immutable values shared by all subpackages: runs, their keys, trajectories and outcomes.

A run is recorded as its best-so-far trajectory: only the improvements, each with the number of evaluations and the
seconds it took (*g** of Wurth et al. 2026, section 2). Values are always minimized; a maximization problem enters with
its sign flipped.
"""

from polarbear.records.arrays import FloatArray, IntArray
from polarbear.records.branches import STAY, Branch
from polarbear.records.keys import Instance, RunKey
from polarbear.records.reference import Reference
from polarbear.records.runs import RECOMMENDATION, Parameters, Run, Samples, lost, tried_again, without_samples
from polarbear.records.times import AXES, Axis, check_axis, linear_times, log_times
from polarbear.records.trajectory import CUT_SHORT, Outcome, Reason, Trajectory

__all__ = [
    "AXES",
    "CUT_SHORT",
    "RECOMMENDATION",
    "STAY",
    "Axis",
    "Branch",
    "FloatArray",
    "Instance",
    "IntArray",
    "Outcome",
    "Parameters",
    "Reason",
    "Reference",
    "Run",
    "RunKey",
    "Samples",
    "Trajectory",
    "check_axis",
    "linear_times",
    "log_times",
    "lost",
    "tried_again",
    "without_samples",
]
