"""Changes to files of a study that its checksums do not betray."""

from polarbear.store.manifest import MANIFEST, Manifest, read_manifest, sha256


def seal(path):
    """Write the manifest of a study anew, from the files that are there."""
    manifest = read_manifest(path) or Manifest()
    files = [path / "study.json", *(path / "runs").iterdir(), *(path / "rounds").iterdir()]
    manifest.files = {file.relative_to(path).as_posix(): sha256(file.read_bytes()) for file in files}
    manifest.write(path)


def replace(path, file, data):
    """Give a file of a study other bytes, as if they had been written so."""
    file.write_bytes(data)
    seal(path)


def as_version_1(path):
    """Make a study such as the first format version had."""
    for number, file in enumerate(sorted((path / "rounds").iterdir()), 1):
        file.rename(path / "rounds" / f"{number:06d}.json")
    for file in (path / "runs").iterdir():
        number, digest, _ = file.stem.split("-")
        file.rename(path / "runs" / f"{number}-{digest}.parquet")
    file = path / "study.json"
    file.write_bytes(file.read_bytes().replace(b'"version": 5', b'"version": 1'))
    (path / MANIFEST).unlink()
