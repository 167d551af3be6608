"""The systems that `make dist` builds for, and whether the standard library of each is on this machine.

rustup installs the standard library of a target (`rustup target add`). Where it cannot, the library
is compiled from its sources, which RUST_SRC names: `rustup component add rust-src` has them, and so
has a Linux distribution that packages the same version of Rust.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """A system, by the name that Rust has for it, and the tag of wheels that run on it."""

    triple: str
    compatibility: str

    @property
    def is_static(self) -> bool:
        """Is a binary for it linked statically? With musl it is, and then it needs nothing else."""
        return self.triple.endswith("musl")

    @property
    def processor(self) -> str:
        """The first part of the name."""
        return self.triple.split("-", 1)[0]


# glibc 2.17 is that of manylinux2014, which Rust needs, too.
TARGETS = (
    Target("x86_64-unknown-linux-gnu", "manylinux_2_17"),
    Target("x86_64-unknown-linux-musl", "musllinux_1_2"),
    Target("aarch64-unknown-linux-gnu", "manylinux_2_17"),
    Target("aarch64-unknown-linux-musl", "musllinux_1_2"),
)


def asked_for(names: str) -> tuple[Target, ...]:
    """The targets of these names, separated by spaces; all if there is none."""
    wanted = names.split()
    unknown = set(wanted) - {target.triple for target in TARGETS}
    if unknown:
        known = ", ".join(target.triple for target in TARGETS)
        raise SystemExit(f"TARGETS has {', '.join(sorted(unknown))}; it may have {known}")
    return tuple(target for target in TARGETS if not wanted or target.triple in wanted)


def rustc(*args: str) -> str:
    """What rustc answers."""
    return subprocess.run(["rustc", *args], check=True, capture_output=True, text=True).stdout.strip()


@cache
def rust_sources() -> Path | None:
    """The folder `library` of the sources of this Rust, if it is known."""
    beside = Path(rustc("--print", "sysroot"), "lib", "rustlib", "src", "rust", "library")
    found = Path(os.environ["RUST_SRC"]) if os.environ.get("RUST_SRC") else beside
    if not (found / "std" / "Cargo.toml").is_file():
        if os.environ.get("RUST_SRC"):
            wanted = "it is the folder library of the sources"
            raise SystemExit(f"RUST_SRC is {found}, which has no std/Cargo.toml; {wanted}")
        return None
    return found.resolve()


def has_library(target: Target) -> bool:
    """Is the standard library of the target installed?"""
    folder = Path(rustc("--print", "target-libdir", "--target", target.triple))
    return any(folder.glob("libstd-*.rlib"))


def why_not(target: Target) -> str | None:
    """Why there is no way to build for the target here; None if there is one."""
    if has_library(target) or rust_sources() is not None:
        return None
    return f"its standard library is missing: rustup target add {target.triple}, or set RUST_SRC"


def own_target() -> str:
    """The target of this machine."""
    found = re.search(r"^host: (.+)$", rustc("-vV"), re.MULTILINE)
    if found is None:
        raise SystemExit("rustc -vV has no line `host`")
    return found[1]
