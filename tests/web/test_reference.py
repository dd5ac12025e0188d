"""The reference has the address and the parameters of every view, and no others."""

import json
import re
from pathlib import Path

from polarbear.web.kind import KINDS
from polarbear.web.settings import NAMES, Settings

REFERENCE = (Path(__file__).parents[2] / "docs" / "reference" / "analyzer.md").read_text(encoding="utf-8")


def test_every_view_stands_in_the_reference_with_its_parameters():
    rows = re.findall(r"^\| `/(\w[\w-]*)/([\w-]+)` \| .+ \| (.*)\|$", REFERENCE, re.MULTILINE)
    there = {(page, kind): re.findall(r"`(\w+)`", parameters) for page, kind, parameters in rows}
    assert there == {(kind.page, kind.name): list(kind.controls) for kind in KINDS.values()}


def test_addresses_that_are_named_anywhere_exist():
    named = set(re.findall(r"`/([\w-]+)/([\w-]+)`", REFERENCE))
    assert named == {(kind.page, kind.name) for kind in KINDS.values()}


def test_every_setting_stands_in_the_reference():
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \|", REFERENCE, re.MULTILINE)
    assert [name for name, _ in rows] == list(NAMES)
    Settings.of({name: json.loads(value) for name, value in rows})
