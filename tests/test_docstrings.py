"""What the reference says of each public function: all of its parameters, or none where its sentence does."""

import importlib
import inspect
import itertools
import pkgutil
import re
from pathlib import Path

import pytest

import polarbear

SECTION = re.compile(r"^(?:Args|Attributes):\n((?:(?: {4}.*)?\n)*)", re.MULTILINE)
ENTRY = re.compile(r"^ {4}((?:\*{0,2}\w+(?:, )?)+)(?: \(.*\))?:", re.MULTILINE)
AS_THERE = re.compile(r"\b(?:[Aa]s(?: in| of| for)?|see|of)\s+`(\w+)`(?:\s+and\s+`(\w+)`)?")
"""Where a docstring leaves its parameters to that of another function or class."""


def public():
    """Every public function and class of the rooms by its address, with the classes' own methods."""
    rooms = [
        polarbear,
        *(importlib.import_module(m.name) for m in pkgutil.walk_packages(polarbear.__path__, "polarbear.") if m.ispkg),
    ]
    found = {}
    for room in rooms:
        for name in getattr(room, "__all__", ()):
            thing = getattr(room, name)
            if inspect.isfunction(thing) or (inspect.isclass(thing) and not getattr(thing, "_is_protocol", False)):
                found.setdefault(thing, f"{room.__name__}.{name}")
    return {where: thing for thing, where in found.items() if thing.__module__.startswith("polarbear.")}


PUBLIC = public()
REFERENCE = Path(__file__).parents[1] / "docs" / "reference" / "api"
NAMED = {where.rpartition(".")[2]: thing for where, thing in PUBLIC.items()}


def documented(thing):
    """The names below Args and Attributes, of what a class derives from and of what the docstring refers to as well."""
    texts = [inspect.getdoc(kind) or "" for kind in (thing.__mro__ if inspect.isclass(thing) else [thing])]
    own = {
        name.strip("* ")
        for text in texts
        for section in SECTION.findall(text + "\n")
        for names in ENTRY.findall(section)
        for name in names.split(",")
    }
    named = itertools.chain.from_iterable(AS_THERE.findall(texts[0]))
    there = (NAMED[name] for name in named if name in NAMED and NAMED[name] is not thing)
    return own.union(*map(documented, there))


@pytest.mark.parametrize("where", PUBLIC)
def test_all_parameters_are_told_of_or_none(where):
    thing = PUBLIC[where]
    try:
        parameters = set(inspect.signature(thing).parameters)
    except ValueError:
        return
    if told := documented(thing) & parameters:
        assert told >= {name for name in parameters if not name.startswith("_")}
    elif inspect.isfunction(thing) and len(parameters) > 1:
        words = set(re.findall(r"\w+", inspect.getdoc(thing)))
        assert words >= parameters


def test_every_public_room_has_a_page_in_the_reference():
    """What the command line is made of is not public: its reference has a page of its own."""
    rooms = {"simulate"} | {where.split(".")[1] for where in PUBLIC if where.count(".") > 1} - {"cli", "progress"}
    assert {page.stem for page in REFERENCE.glob("*.md")} == rooms
    overview = (REFERENCE.parent / "python.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(api/(\w+)\.md\)", overview)) == rooms
