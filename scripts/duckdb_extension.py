"""Make a library a file that DuckDB loads: `calipers.duckdb_extension`.

DuckDB reads the last 512 bytes of an extension: eight fields of 32 bytes with text, the last one
first, and 256 bytes for a signature. This file has none, so that DuckDB loads it only with
`allow_unsigned_extensions`.

    python3 scripts/duckdb_extension.py target/release calipers.duckdb_extension
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The version of the C extension API that src/engine/api.rs asks for.
API_VERSION = "v1.2.0"
SYSTEMS = {"Linux": "linux", "Darwin": "osx", "Windows": "windows"}
MACHINES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def this_platform() -> str:
    """The name that DuckDB has for this machine."""
    return f"{SYSTEMS[platform.system()]}_{MACHINES[platform.machine()]}"


def version() -> str:
    """The version of calipers."""
    found = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return f"v{found[1]}"


def footer(of_platform: str) -> bytes:
    """The last bytes of an extension for that platform."""
    # "4" is the version of this footer, and C_STRUCT the way in which functions are found.
    fields = ["4", of_platform, API_VERSION, version(), "C_STRUCT", "", "", ""]
    return b"".join(field.encode().ljust(32, b"\0") for field in reversed(fields)) + bytes(256)


def library(folder: Path) -> Path:
    """The library that cargo has built into that folder."""
    names = ("libcalipers_duckdb.so", "libcalipers_duckdb.dylib", "calipers_duckdb.dll")
    found = [folder / name for name in names if (folder / name).exists()]
    if not found:
        sys.exit(f"{folder} has none of {', '.join(names)}: run cargo build -p calipers-duckdb")
    return found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where cargo has built the library")
    parser.add_argument("extension", type=Path, help="the file to write")
    parser.add_argument("--platform", default=None, help="as DuckDB's `PRAGMA platform` prints it; this machine's")
    given = parser.parse_args()
    given.extension.parent.mkdir(parents=True, exist_ok=True)
    # A database that has loaded the former file keeps it, since this is another one with its name.
    part = given.extension.with_suffix(".part")
    part.write_bytes(library(given.folder).read_bytes() + footer(given.platform or this_platform()))
    os.replace(part, given.extension)


if __name__ == "__main__":
    main()
