"""Fetch KaTeX, which typesets the formulas of the site, into docs/assets/katex.

The site loads nothing from other hosts, so KaTeX is part of it. The version is pinned, and the
archive must have the digest that is written here. The files are not committed: they are the work of
others, and `make docs` fetches packages anyway.

    python scripts/fetch_katex.py
"""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "0.19.1"
SHA512 = "jG8uKntjSEcm2EpQOh0XturpPuuC9r3Sq5HLHdsFdWZT27E672SF19QEi+of0/YeOy15lDgRhKvr5614uRrEfA=="
FOLDER = Path(__file__).resolve().parent.parent / "docs" / "assets" / "katex"
# Every browser of the last ten years reads woff2; the other formats of the fonts are left out.
WANTED = {"package/LICENSE", "package/dist/katex.min.js", "package/dist/katex.min.css"}


def digest(archive: bytes) -> str:
    return base64.b64encode(hashlib.sha512(archive).digest()).decode()


def unpack(archive: bytes, folder: Path) -> None:
    """Write the wanted files of the archive into the folder."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files.getmembers():
            if member.name in WANTED or member.name.endswith(".woff2"):
                content = files.extractfile(member)
                if content is not None:
                    place = folder / Path(member.name).relative_to("package").as_posix().removeprefix("dist/")
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(content.read())
    (folder / "VERSION").write_text(VERSION + "\n")


def main(folder: Path = FOLDER) -> int:
    version = folder / "VERSION"
    if version.is_file() and version.read_text().strip() == VERSION:
        return 0
    npm = shutil.which("npm")
    if npm is None:
        print("missing: npm, which fetches KaTeX. To get it: install Node.js", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([npm, "pack", "--silent", f"katex@{VERSION}"], cwd=place, check=True, stdout=subprocess.DEVNULL)
        archive = (Path(place) / f"katex-{VERSION}.tgz").read_bytes()
    if digest(archive) != SHA512:
        print(f"katex {VERSION}: the SHA-512 digest is {digest(archive)}, expected {SHA512}", file=sys.stderr)
        return 1
    unpack(archive, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
