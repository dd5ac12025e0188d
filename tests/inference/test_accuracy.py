"""The accuracy gate: every model against long runs of NUTS and of exact samplers, over sizes and hard cases.

The references in tests/inference/references are made by benchmarks/references.py; for NUTS the models are written down
a second time. Means are held to 0.1 sd, sds to 7 %, pair probabilities to 0.03, dominance at all times to 0.02, each
widened by 4 standard errors of the reference and of our draws. All seeds are fixed.
"""

import pytest

from benchmarks.accuracy import answered, compared
from benchmarks.references import FOLDER, cases
from polarbear.inference import models

CASES = cases()
KEPT = sorted(path.stem for path in FOLDER.glob("*.npz"))


@pytest.mark.parametrize("name", KEPT)
def test_the_accuracy_gate(name):
    assert compared(answered(CASES[name]), FOLDER / f"{name}.npz").excesses() == []


def test_every_model_is_held_against_references():
    assert {CASES[name].model.name for name in KEPT} == set(models())
