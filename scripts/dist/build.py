"""Builds the artifacts of a target, so that the same commit gives the same bytes in any folder.

Rust and C record the paths of sources in what they compile. Both replace the folders of this machine
by fixed names here. Archives have the time of the commit (SOURCE_DATE_EPOCH) in place of now.
"""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

from targets import Target, has_library, rust_sources

ROOT = Path(__file__).resolve().parent.parent.parent
COMMAND = "crates/calipers-cli/Cargo.toml"


def commit_time() -> int:
    """Seconds of the last commit; of SOURCE_DATE_EPOCH outside a repository."""
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return int(os.environ["SOURCE_DATE_EPOCH"])
    found = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True)
    return int(found.stdout)


def replaced_folders() -> dict[Path, str]:
    """Folders of this machine, and what stands for them in binaries. Of two that fit, the last holds."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    folders = {cargo: "/cargo", ROOT: "/calipers"}
    sources = rust_sources()
    return {**folders, sources: "/rust/library"} if sources else folders


def environment(target: Target, *, static_binary: bool = False) -> dict[str, str]:
    """The variables of a build for the target."""
    folders = replaced_folders()
    if any(" " in str(folder) for folder in folders):
        raise SystemExit(f"a folder has a space in its name: {', '.join(map(str, folders))}; move the repository")
    flags = [f"--remap-path-prefix={folder}={name}" for folder, name in folders.items()]
    c_flags = [f"-ffile-prefix-map={folder}={name}" for folder, name in folders.items()]
    env = {
        **os.environ,
        "SOURCE_DATE_EPOCH": str(commit_time()),
        "CARGO_PROFILE_RELEASE_STRIP": "symbols",
        f"CFLAGS_{target.triple.replace('-', '_')}": " ".join(c_flags),
    }
    if not has_library(target):
        # The library is compiled with the rest. The linker has its own start files, in place of
        # those that rustup installs.
        flags.append("-Clink-self-contained=no")
        env |= {
            "RUSTC_BOOTSTRAP": "1",
            "CARGO_UNSTABLE_BUILD_STD": "std,panic_abort",
            "__CARGO_TESTS_ONLY_SRC_ROOT": str(rust_sources()),
        }
    if static_binary and not target.is_static:
        flags.append("-Ctarget-feature=+crt-static")
    env["RUSTFLAGS"] = " ".join(flags)
    env["CARGO_TARGET_DIR"] = str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), "dist"))
    return env


def run(command: list[str], env: dict[str, str]) -> None:
    """Run it in the root of the repository; its output is shown only if it fails."""
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def wheels(target: Target, bill: Path, out: Path) -> None:
    """The wheel of the Python package, and that of the command, with the bill of materials in both.

    With musl a library has other flags than a program, and cargo would compile all dependencies of
    one over those of the other. So the command has a folder of its own.
    """
    options = ["--release", "--locked", "--zig", "--target", target.triple]
    options += ["--compatibility", target.compatibility, "--sbom-include", str(bill), "--out", str(out)]
    env = environment(target)
    run(["maturin", "build", *options], env)
    if target.is_static:
        env["CARGO_TARGET_DIR"] += "/command"
    run(["maturin", "build", *options, "--manifest-path", COMMAND], env)


def static_binary(target: Target, version: str, out: Path) -> Path:
    """An archive with the command, which needs no other file, its licence and the list of changes.

    With musl it is the command of the wheel. With glibc it is linked statically on request; glibc's
    own tools build it, which zig lacks.
    """
    name = f"calipers-{version}-{target.triple}"
    archive = out / f"{name}.tar.gz"
    with tempfile.TemporaryDirectory() as folder:
        if target.is_static:
            (wheel,) = out.glob(f"calipers_cli-*{target.compatibility}_{target.processor}.whl")
            built = command_of(wheel, Path(folder))
        else:
            env = environment(target, static_binary=True)
            env["CARGO_TARGET_DIR"] += "/static"
            run(["cargo", "build", "--release", "--locked", "--target", target.triple, "--manifest-path", COMMAND], env)
            built = Path(env["CARGO_TARGET_DIR"], target.triple, "release", "calipers")
        contents = {"calipers": built, "LICENSE": ROOT / "LICENSE", "CHANGELOG.md": ROOT / "CHANGELOG.md"}
        archive.write_bytes(packed({f"{name}/{member}": path for member, path in contents.items()}))
    return archive


def command_of(wheel: Path, folder: Path) -> Path:
    """The command in its wheel, unpacked into the folder."""
    with zipfile.ZipFile(wheel) as archive:
        (member,) = (name for name in archive.namelist() if name.endswith(".data/scripts/calipers"))
        unpacked = Path(archive.extract(member, folder))
    unpacked.chmod(0o755)
    return unpacked


def packed(files: dict[str, Path]) -> bytes:
    """A compressed archive that depends on the contents of the files alone."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, path in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = path.stat().st_size, commit_time()
            member.mode = 0o755 if os.access(path, os.X_OK) else 0o644
            with path.open("rb") as file:
                archive.addfile(member, file)
    return gzip.compress(plain.getvalue(), mtime=0)


def source_distribution(out: Path) -> None:
    """The sources of the Python package, from which pip builds where no wheel fits."""
    run(["maturin", "sdist", "--out", str(out)], {**os.environ, "SOURCE_DATE_EPOCH": str(commit_time())})
