"""Are the artifacts in two folders the same, byte by byte? If not, which of their members differ?

    python scripts/dist/compare.py dist/release elsewhere/dist/release

The exit code is 1 if anything differs.
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path


def members(name: str, content: bytes) -> dict[str, bytes]:
    """What is in an archive; the file itself if it is none."""
    if name.endswith(".whl"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {entry.filename: archive.read(entry) for entry in archive.infolist()}
    if name.endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            files = [(entry.name, archive.extractfile(entry)) for entry in archive if entry.isfile()]
            return {name: file.read() for name, file in files if file is not None}
    return {name: content}


def differences(name: str, one: bytes, other: bytes) -> list[str]:
    """One line for each member that differs, or that only one of two files has."""
    if one == other:
        return []
    first, second = members(name, one), members(name, other)
    found = [f"{name}: only one of both has {member}" for member in sorted(first.keys() ^ second.keys())]
    found += [
        f"{name}: {member} differs: {len(first[member])} and {len(second[member])} bytes"
        for member in sorted(first.keys() & second.keys())
        if first[member] != second[member]
    ]
    return found or [f"{name}: its members are the same, and times or the compression differ"]


def compared(one: Path, other: Path) -> tuple[list[str], list[str]]:
    """Names of the artifacts that are the same in both folders, and what differs."""
    first, second = ({path.name: path for path in folder.iterdir() if path.is_file()} for folder in (one, other))
    same, found = [], [f"only one of both folders has {name}" for name in sorted(first.keys() ^ second.keys())]
    for name in sorted(first.keys() & second.keys()):
        differing = differences(name, first[name].read_bytes(), second[name].read_bytes())
        same += [] if differing else [name]
        found += differing
    return same, found


def main() -> None:
    """Print what is the same and what is not; fail if anything differs."""
    if len(sys.argv) != 3:
        sys.exit("usage: python scripts/dist/compare.py FOLDER OTHER_FOLDER")
    same, found = compared(Path(sys.argv[1]), Path(sys.argv[2]))
    for name in same:
        print(f"the same bytes: {name}")
    if found or not same:
        sys.exit("\n".join(found) or "there is nothing to compare")


if __name__ == "__main__":
    main()
