"""Zip archives of studies: what is complete at one moment, while a writer goes on."""

import io
import threading
import zipfile

import pytest

from polarbear import store
from polarbear.store import contents, snapshot
from polarbear.store.manifest import read_manifest, sha256


@pytest.fixture
def path(tmp_path):
    """A place for a study on the disk."""
    return tmp_path / "own.study"


def opened(archive, folder):
    """What an archive holds, unpacked."""
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        packed.extractall(folder)
    (path,) = folder.iterdir()
    return path


def zipped(path):
    file = io.BytesIO(b"something before")
    store.write_zip(path, file)
    return file.getvalue()


def test_while_a_writer_adds_and_merges(path, run, tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "MANY", 3)
    made, stop = [], threading.Event()

    def write():
        with store.create(path, {}) as study:
            for seed in range(400):
                study.append(run(seed=seed))
                study.commit()
                made.append(seed)
                if stop.is_set():
                    return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        counts = []
        for number in range(12):
            while len(made) <= 4 * number:
                stop.wait(0.001)
            before = len(made)
            copy = opened(zipped(path), tmp_path / str(number))
            after = len(made) + 1  # what is on disk may not have been counted yet
            with store.open(copy) as study:
                assert study.damaged == ()
                assert before <= len(study.runs()) <= after
                counts.append(len(study))
            named = read_manifest(copy).files
            lying = {each.relative_to(copy).as_posix(): sha256(each.read_bytes()) for each in copy.rglob("*.*")}
            assert {name: digest for name, digest in lying.items() if name != "manifest.txt"} == named
    finally:
        stop.set()
        writer.join()
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]


def test_begins_again_when_files_were_merged_away_under_its_hands(path, run, tmp_path, monkeypatch):
    names, listings = snapshot._names, []
    with store.create(path, {}) as study:
        for seed in range(3):
            study.append(run(seed=seed))
            study.commit()

        def interrupted(*args):
            found = list(names(*args))
            if not listings:
                study._contents.merge_small()
            listings.append(found)
            return iter(found)

        monkeypatch.setattr(snapshot, "_names", interrupted)
        copy = opened(zipped(path), tmp_path / "copy")
    assert [sum(name.startswith("runs/") for name in found) for found in listings] == [3, 1]
    with store.open(copy) as kept:
        assert (kept.damaged, len(kept)) == ((), 3)


def test_gives_up_when_files_go_faster_than_they_are_read(path, run, monkeypatch):
    with store.create(path, {}) as study:
        study.append(run())
        study.commit()
        monkeypatch.setattr(snapshot, "_names", lambda *_: iter(()))
        manifests = iter(range(1000))
        monkeypatch.setattr(
            snapshot, "_manifest", lambda _: (path / "manifest.txt").read_bytes() if next(manifests) % 2 == 0 else b""
        )
        with pytest.raises(store.StudyError, match=r"were replaced 20 times while they were read; try again later"):
            zipped(path)


def test_leaves_out_the_lock_links_and_what_is_unfinished_and_keeps_damage_and_what_lies_beside(path, run, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("from elsewhere")
    with store.create(path, {}) as study:
        study.append(run())
        study.commit()
        (path / "runs" / ".tmp-part").write_bytes(b"half")
        (path / "runs" / "unknown.parquet").write_bytes(b"not committed")
        (path / "notes.md").write_text("beside")
        (path / "link.txt").symlink_to(secret)
        (part,) = [each for each in (path / "runs").glob("*.parquet") if each.name != "unknown.parquet"]
        part.write_bytes(b"damaged")
        copy = opened(zipped(path), tmp_path / "copy")
    found = {each.relative_to(copy).as_posix() for each in copy.rglob("*") if each.is_file()}
    assert found == {"manifest.txt", "study.json", "notes.md", f"runs/{part.name}"}
    assert [damage.path.name for damage in store.open(copy).damaged] == [part.name]


def test_follows_no_manifest_out_of_the_study(path, tmp_path):
    store.create(path, {}).close()
    (tmp_path / "secret.txt").write_text("from elsewhere")
    manifest = read_manifest(path)
    manifest.files["../secret.txt"] = sha256(b"from elsewhere")
    manifest.write(path)
    assert b"from elsewhere" not in zipped(path)
