"""Archives of every kind, sound, damaged and hostile."""

import gzip
import io
import lzma
import os
import re
import tarfile
import zipfile

import pytest

from polarbear import store

MODES = {"tar": "w", "tgz": "w:gz", "tar.gz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz"}


def pack(folder, path):
    """Make an archive of the kind that the path's ending says."""
    if path.name.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, file.relative_to(folder.parent))
    else:
        mode = next(mode for ending, mode in MODES.items() if path.name.endswith(ending))
        with tarfile.open(path, mode) as archive:
            archive.add(folder, folder.name)
    return path


def tar_of(path, *members):
    with tarfile.open(path, "w:gz") as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def member(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize("ending", ["zip", *MODES])
def test_an_archive_holds_what_its_folder_holds(coco, two_runs, tmp_path, ending):
    folder = coco(two_runs)
    archive = pack(folder, tmp_path / f"x.{ending}")
    before = sorted(tmp_path.rglob("*"))
    assert store.read(archive) == store.read(folder)
    assert sorted(tmp_path.rglob("*")) == before  # nothing was unpacked
    renamed = archive.rename(tmp_path / "data.bin")
    assert store.read(renamed) == store.read(folder)  # its bytes tell what it is, not its name


def test_single_compressed_files(tmp_path):
    data = b"evaluations,value\n1,2.5\n"
    for name, compress in (("a.csv.gz", gzip.compress), ("a.csv.xz", lzma.compress)):
        (tmp_path / name).write_bytes(compress(data))
        (run,) = store.read(tmp_path / name)
        assert (run.key.algorithm, run.trajectory.best) == ("a", 2.5)


def test_archives_in_a_folder_are_read_one_by_one(coco, two_runs, tmp_path):
    (tmp_path / "all").mkdir()
    pack(coco(two_runs, algorithm="A", folder=tmp_path / "a"), tmp_path / "all" / "a.tgz")
    pack(coco(two_runs, algorithm="B", folder=tmp_path / "b"), tmp_path / "all" / "b.zip")
    assert {run.key.algorithm for run in store.read(tmp_path / "all")} == {"A", "B"}
    other = {(1, 2): [(1, [(1, 1.0)], [(1, 1.0)], 1)]}
    pack(coco(other, algorithm="A", folder=tmp_path / "c"), tmp_path / "all" / "c.tgz")
    with pytest.raises(ValueError, match=r"a\.tgz and .*c\.tgz hold different runs of A on bbob-f1-i1-d2 \(seed 0\)"):
        store.read(tmp_path / "all")
    nested = pack(tmp_path / "all", tmp_path / "nested.tar")
    reading = store.read_checked(nested)
    assert [skipped.why[:32] for skipped in reading.skipped] == ["an archive within an archive is "] * 3


@pytest.mark.parametrize("name", ["../x.info", "/etc/x.info", "a/../../x.info", "..\\x.info", "C:\\x.info"])
def test_paths_that_lead_out_are_refused(tmp_path, name):
    path = tar_of(tmp_path / "x.tgz", (member(name), b"data"))
    with pytest.raises(store.ArchiveRefused, match="a path that leads out of it"):
        store.read(path)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(name, "data")
    if not name.startswith("/etc"):  # zipfile takes away a leading slash by itself
        with pytest.raises(store.ArchiveRefused, match="a path that leads out of it"):
            store.read(tmp_path / "x.zip")


@pytest.mark.parametrize(
    ("kind", "link"),
    [(tarfile.SYMTYPE, "/etc/passwd"), (tarfile.LNKTYPE, "a.info"), (tarfile.FIFOTYPE, ""), (tarfile.CHRTYPE, "")],
)
def test_links_and_devices_are_refused(tmp_path, kind, link):
    path = tar_of(tmp_path / "x.tgz", (member("a.info"), b"x"), (member("b.info", kind, link), b""))
    with pytest.raises(store.ArchiveRefused, match=r"holds 'b\.info', which is"):
        store.read(path)


def test_links_in_zips_are_refused(tmp_path):
    link = zipfile.ZipInfo("b.info")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(store.ArchiveRefused, match="a link or a device"):
        store.read(tmp_path / "x.zip")


def test_bombs_are_refused_before_they_go_off(tmp_path):
    bomb = tmp_path / "bomb.gz"
    with gzip.open(bomb, "wb") as file:
        for _ in range(80):
            file.write(bytes(1 << 20))
    with pytest.raises(store.ArchiveRefused, match="more than 200 times its"):
        store.read(bomb)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.info", bytes(80 << 20))
    with pytest.raises(store.ArchiveRefused, match="more than 200 times its"):
        store.read(tmp_path / "bomb.zip")
    with pytest.raises(store.ArchiveRefused, match="decompresses to more than 1,000 bytes"):
        store.read_checked(bomb, limits=store.Limits(total=1000))
    many = tar_of(tmp_path / "many.tgz", *((member(f"{n}.info"), b"") for n in range(12)))
    with pytest.raises(store.ArchiveRefused, match="more than 10 files"):
        store.read_checked(many, limits=store.Limits(files=10))


def test_a_sparse_file_of_a_terabyte_is_refused(tmp_path):
    path = tmp_path / "x.tar"
    huge = member("a.info")
    huge.size = 1 << 40
    path.write_bytes(huge.tobuf() + bytes(1024))
    with pytest.raises(store.ArchiveRefused):
        store.read(path)


def test_a_truncated_archive_keeps_what_is_there(coco, two_runs, tmp_path):
    """Cut anywhere, it gives some of its runs and says so, or says that there is none."""
    archive = pack(coco(two_runs), tmp_path / "x.tar")
    whole = {run.key: run for run in store.read(archive)}
    data = archive.read_bytes()
    content = len(data.rstrip(b"\0"))
    for ending, compress in (("tar", bytes), ("tgz", gzip.compress)):
        packed = compress(data)
        cut = tmp_path / f"cut.{ending}"
        for length in range(600, min(content, len(packed)) - 1, 97):
            cut.write_bytes(packed[:length])
            try:
                reading = store.read_checked(cut)
            except ValueError:
                continue
            assert reading.skipped, (ending, length)
            for run in reading.runs:
                assert set(run.trajectory.values) <= set(whole[run.key].trajectory.values)


def test_flipped_bytes_in_archives_are_noticed(coco, two_runs, tmp_path):
    folder = coco(two_runs)
    whole = store.read(folder)
    for ending in ("tgz", "zip", "tar.xz", "tar.bz2"):
        data = pack(folder, tmp_path / f"x.{ending}").read_bytes()
        broken = tmp_path / f"broken.{ending}"
        for position in range(0, len(data), max(1, len(data) // 40)):
            broken.write_bytes(data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :])
            try:
                reading = store.read_checked(broken)
            except ValueError:
                continue
            assert reading.skipped or list(reading.runs) == whole, (ending, position)


def test_encrypted_and_broken_zips_are_named(tmp_path):
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(ValueError, match=r"x\.zip is a damaged zip archive"):
        store.read(tmp_path / "x.zip")


def test_files_compressed_in_an_unknown_way_are_named_and_the_others_read(tmp_path):
    """Such as Deflate64 (method 9), in which Windows packs what is large."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name in ("a.csv", "b.csv"):
            archive.writestr(name, "evaluations,value\n1,2.5\n")
        first, start = archive.getinfo("a.csv"), archive.start_dir
    data = bytearray((tmp_path / "x.zip").read_bytes())
    data[first.header_offset + 8] = data[start + 10] = 9  # the method: in the file's own header, and in the list
    (tmp_path / "x.zip").write_bytes(data)
    reading = store.read_checked(tmp_path / "x.zip")
    (skipped,) = reading.skipped
    assert skipped.path.endswith("x.zip:a.csv")
    assert re.fullmatch(
        r"it is compressed in a way that cannot be read \(.+ not supported\); unpack the archive", skipped.why
    )
    assert [run.key.algorithm for run in reading.runs] == ["b"]


def test_an_archive_of_a_version_to_come_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.csv", "evaluations,value\n1,2.5\n")
        start = archive.start_dir
    data = bytearray((tmp_path / "x.zip").read_bytes())
    data[start + 6] = 250  # the version needed to read it
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(
        ValueError, match=r"x\.zip cannot be read \(zip file version 25\.0\); unpack it and give the folder"
    ):
        store.read_checked(tmp_path / "x.zip")


def test_what_operating_systems_leave_behind_is_passed_over(coco, two_runs):
    folder = coco(two_runs)
    (folder / "._bbobexp_f1.info").write_bytes(b"\x00\x05\x16\x07")
    (folder / "__MACOSX").mkdir()
    (folder / "__MACOSX" / "x.info").write_bytes(b"junk\n")
    assert store.read_checked(folder).skipped == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_files_are_named(coco, two_runs):
    folder = coco(two_runs)
    (folder / "data_f1" / "bbobexp_f1_DIM2.dat").chmod(0)
    assert "Permission denied" in store.read_checked(folder).skipped[0].why


def test_nothing_and_nothing_known(tmp_path):
    with pytest.raises(store.StudyNotFound, match="no such directory, file or archive"):
        store.read(tmp_path / "none")
    with pytest.raises(ValueError, match=r"holds no data that polarbear can read: it is empty. It can read COCO"):
        store.read(tmp_path)
    (tmp_path / "a.jpg").touch()
    with pytest.raises(ValueError, match=r"it holds 1 \.jpg file"):
        store.read(tmp_path)
