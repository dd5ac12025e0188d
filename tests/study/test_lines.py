"""Lines of fields in TOML: every field that the standard library reads is found, and where it stands."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polarbear.study.lines import line_of, lines_of

TEXT = '''# a comment with [brackets] = "and quotes
title = "one # no comment"   # a comment

[race]
times = { first = 50, last = 10_000, "co unt" = 50 }  # inline
list = [
  1,  # one
  [2, 3], { deep = "]" },
]
text = """
[race]
alpha = 1 \\""" still """"
'also bare' . "x\\u00e9" = \'\'\'it's
[no] table\'\'\'
a.b.c = 1979-05-27T07:32:00Z

[[algorithms]]
optimizer = "x"
[algorithms.options]
depth = 1

[[algorithms]]
name = 'C:\\'
[[algorithms.parts]]
[[algorithms.parts]]
size = -inf
'''


def places(value, place=()):
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield (*place, key)
        yield from places(entry, (*place, key))


def test_every_place_that_tomllib_finds_has_its_line():
    lines = lines_of(TEXT)
    assert set(lines) == set(places(tomllib.loads(TEXT)))
    written = TEXT.splitlines()
    for place, start in {
        ("title",): "title",
        ("race",): "[race]",
        ("race", "times", "last"): "times",
        ("race", "list", 0): "  1,",
        ("race", "list", 1, 1): "  [2, 3]",
        ("race", "list", 2, "deep"): "  [2, 3]",
        ("race", "text"): "text",
        ("race", "also bare", "xé"): "'also",
        ("race", "a", "b", "c"): "a.b.c",
        ("algorithms", 0, "options", "depth"): "depth",
        ("algorithms", 1, "name"): "name",
        ("algorithms", 1, "parts", 1, "size"): "size",
    }.items():
        assert written[lines[place] - 1].startswith(start), place
    assert lines["race",] == 4
    assert lines["algorithms", 1] == 22


def test_windows_line_ends_count_once():
    assert lines_of("a = 1\r\n\r\nb = 2\r\n") == {("a",): 1, ("b",): 3}


def test_what_is_not_there_has_the_line_of_what_it_would_stand_in():
    lines = lines_of(TEXT)
    assert line_of(lines, ("race", "times", "spacing")) == 5
    assert line_of(lines, ("algorithms", 1, "optimizer")) == 22
    assert line_of(lines, ("model", "name")) is None


@settings(max_examples=300)
@given(st.text(st.sampled_from("ab1=.,#[]{}\"' \n\\"), max_size=40))
def test_any_text_is_gone_through_and_valid_ones_are_understood(text):
    lines = lines_of_or_none(text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(lines) == set(places(data))


def lines_of_or_none(text):
    try:
        return lines_of(text)
    except tomllib.TOMLDecodeError:  # a broken quoted key; the file was refused before
        return None


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing"])
def test_nothing_has_no_lines(text):
    assert lines_of(text) == {}
