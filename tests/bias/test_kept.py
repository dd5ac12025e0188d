"""Simulated distributions on disk."""

import numpy as np
import pytest

from polarbear.bias import kept
from polarbear.bias.null import null_distribution


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "cache"))
    null_distribution.cache_clear()
    return tmp_path / "cache" / "bias"


def never():
    raise AssertionError("simulated again")


def test_what_is_kept_is_simulated_once_and_equal(folder):
    first = null_distribution(12, 300)
    null_distribution.cache_clear()
    (path,) = folder.iterdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polarbear.bias.null._simulated", lambda *_: never())
        again = null_distribution(12, 300)
    np.testing.assert_array_equal(again.ordered, first.ordered)
    np.testing.assert_array_equal(again.p_values, first.p_values)
    np.testing.assert_array_equal(np.sort(np.load(path), axis=1), first.ordered)


def test_other_formulas_have_files_of_their_own(folder, monkeypatch):
    kept.remembered("values", lambda: np.zeros(2))
    monkeypatch.setattr(kept, "_formulas", lambda: "others")
    assert kept.remembered("values", lambda: np.ones(2)).tolist() == [1, 1]
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00"])
def test_a_torn_file_is_named_and_made_anew(folder, content):
    kept.remembered("values", lambda: np.zeros(2))
    (path,) = folder.iterdir()
    path.write_bytes(content)
    with pytest.warns(UserWarning, match=r"values-.*\.npy cannot be read and is simulated again"):
        assert kept.remembered("values", lambda: np.ones(2)).tolist() == [1, 1]
    assert kept.remembered("values", never).tolist() == [1, 1]


def test_a_folder_that_cannot_be_written_costs_a_warning(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="cannot be written.*set POLARBEAR_CACHE"):
        assert kept.remembered("values", lambda: np.ones(2)).tolist() == [1, 1]


def test_an_empty_name_keeps_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv(kept.VARIABLE, "")
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path / "cache"))
    assert kept.remembered("values", lambda: np.ones(2)).tolist() == [1, 1]
    assert not (tmp_path / "cache").exists()
