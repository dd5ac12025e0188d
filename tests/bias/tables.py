"""The published critical values, and by what each is to be compared."""

import json
import os
from pathlib import Path

import pytest

FILE = Path(os.environ.get("POLARBEAR_SHARED", "../shared")) / "data" / "structural_bias" / "critical_values.json"

LOWER = {"kurtosis_low", "mmpd_min", "range", "max", "Cressie1", "Vasicek"}
"""Quantities whose critical values are lower ones."""
TWO_SIDED = {"kurtosis_low", "kurtosis_high", "mmpd_min", "mmpd_max"}
NAMES = {
    "kolmogorov": "KS",
    "AD_pwr": "AD",
    "mdd_min": "LD-min",
    "mdd_max": "LD-max",
    "wasserstein": "Wasserstein",
    "mmpd_min": "MPD-max",  # the table has both ends of the largest gap
    "mmpd_max": "MPD-max",
    "kurtosis_low": "Kurt",
    "kurtosis_high": "Kurt",
}


def published(table, n, alpha):
    if not FILE.exists():
        pytest.skip(f"published critical values are not at {FILE}; set POLARBEAR_SHARED")
    return json.loads(FILE.read_text())[table][f"n={n}"][f"alpha={alpha}"]
