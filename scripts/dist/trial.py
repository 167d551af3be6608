"""Tries each artifact where nothing else is: wheels in new environments, static binaries in an empty root folder.

What another processor or another C library would have to run is checked by its headers. Binaries
of other processors run under qemu where it is installed. All of them must print the same values;
see digits.py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from build import ROOT
from elf import Needs, needs
from targets import Target, own_target

# Every measure, resampling, and classes, as JSON with all digits.
QUESTIONS = (
    "measure examples/breast_cancer.csv --label label --prob naive_bayes --all --floor never --json",
    "assess examples/breast_cancer.csv --label label --prob mlp --n-resamples 100 --json",
    "measure examples/digits_mlp.npz --json",
)
# Where chroot and unshare are.
SYSTEM = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
GLIBC = re.compile(r"^manylinux_(\d+)_(\d+)$")
# What musl's loader prints for a name that no library has. Those of Python come from Python itself.
UNRESOLVED = re.compile(r"^Error relocating [^ ]+: (?!_?Py)(\S+): symbol not found$", re.MULTILINE)


def answered(command: list[str], cwd: Path, env: dict[str, str] | None = None) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return done.stdout


def binaries(artifact: Path) -> dict[str, bytes]:
    """The compiled files in a wheel or an archive."""
    if artifact.suffix == ".whl":
        with zipfile.ZipFile(artifact) as wheel:
            contents = {name: wheel.read(name) for name in wheel.namelist()}
    else:
        with tarfile.open(artifact) as archive:
            files = [(member.name, archive.extractfile(member)) for member in archive if member.isfile()]
            contents = {name: file.read() for name, file in files if file is not None}
    return {name: content for name, content in contents.items() if content.startswith(b"\x7fELF")}


def faults(name: str, found: Needs, target: Target, *, static: bool) -> list[str]:
    """What a binary needs that the target does not promise."""
    if static:
        return [] if found.is_static else [f"{name} is not static: it needs {found.linker} and {found.libraries}"]
    oldest = GLIBC.match(target.compatibility)
    if oldest is None:
        others = sorted(set(found.libraries) - {"libc.so"})
        return [f"{name} needs {', '.join(others)}, and the target has libc.so of musl alone"] if others else []
    promised = (int(oldest[1]), int(oldest[2]))
    too_new = found.glibc is not None and found.glibc > promised
    return [f"{name} needs glibc {found.glibc}, and {target.compatibility} promises {promised}"] if too_new else []


def check_headers(artifact: Path, target: Target, *, static: bool) -> str:
    """Check what each binary in an artifact needs; one line about it."""
    lines = []
    for name, content in binaries(artifact).items():
        found = needs(content)
        if wrong := faults(name, found, target, static=static):
            raise SystemExit("\n".join(wrong))
        newest = "no glibc" if found.glibc is None else f"glibc {found.glibc[0]}.{found.glibc[1]}"
        lines.append("static" if found.is_static else f"{newest}, {' '.join(found.libraries) or 'no library'}")
    if not lines:
        raise SystemExit(f"{artifact.name} has no binary")
    return "; ".join(lines)


def audited(wheel: Path, target: Target) -> str:
    """auditwheel must find that the wheel is what its name says.

    Not for musl, whose library it knows by Alpine's name alone; see `faults` and `resolved`.
    """
    found = answered([str(Path(sys.executable).with_name("auditwheel")), "show", str(wheel)], wheel.parent)
    if f"{target.compatibility}_{target.processor}" not in found:
        raise SystemExit(f"{wheel.name} is not {target.compatibility}:\n{found}")
    return f"auditwheel: {target.compatibility}_{target.processor}"


def resolved(wheel: Path, target: Target) -> str:
    """musl's own loader must find every name that a wheel for musl asks for, but those of Python.

    The loader is in the folder MUSL, by default /lib: that of Alpine, and of the package musl of Debian.
    """
    loader = Path(os.environ.get("MUSL", "/lib"), f"ld-musl-{target.processor}.so.1")
    runner = emulator(target)
    if not loader.exists() or runner is None:
        return f"not loaded: {loader.name} is not in {loader.parent}, or cannot run here"
    with tempfile.TemporaryDirectory() as folder:
        for name, content in binaries(wheel).items():
            library = Path(folder, Path(name).name)
            library.write_bytes(content)
            command = [*runner, str(loader), "--list", str(library)]
            done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
            printed = done.stdout + done.stderr
            missing = UNRESOLVED.findall(printed)
            if missing or "libc.so =>" not in printed or "Error loading" in printed:
                raise SystemExit(f"{loader.name} cannot load {name} of {wheel.name}: {missing or printed}")
    return f"{loader.name} finds every name but those of Python"


def emulator(target: Target) -> list[str] | None:
    """What runs binaries of the target: nothing for this processor, qemu for others, None if it is missing."""
    if target.processor == own_target().split("-", 1)[0]:
        return []
    found = shutil.which(f"qemu-{target.processor}-static") or shutil.which(f"qemu-{target.processor}")
    return None if found is None else [found]


def try_wheels(package: Path, command: Path) -> list[str]:
    """Install both with pip into a new environment, and run the quickstart there; answers of the command."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        answered([sys.executable, "-m", "venv", str(root / ".venv")], root)
        bin_ = root / ".venv" / "bin"
        answered([str(bin_ / "pip"), "install", "--quiet", str(package), str(command)], root)
        # No other calipers can be imported or run: the folder has documents and their checker.
        for name in ("scripts/check_docs.py", "scripts/wheel_works.py", "docs/quickstart.md"):
            (root / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        shutil.copytree(ROOT / "examples", root / "examples", ignore=shutil.ignore_patterns("own_measure"))
        env = {"PATH": f"{bin_}:/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8"}
        print("  " + answered([str(bin_ / "python"), "scripts/wheel_works.py"], root, env).strip())
        quickstart = answered([str(bin_ / "python"), "scripts/check_docs.py", "docs/quickstart.md"], root, env)
        print(f"  quickstart: {quickstart.strip().splitlines()[-1]}")
        return [answered([str(bin_ / "calipers"), *question.split()], root, env) for question in QUESTIONS]


def try_binary(archive: Path, target: Target) -> list[str] | None:
    """Run it in a root folder that has nothing but itself and the examples; None if it cannot run here."""
    runner = emulator(target)
    if runner is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (content,) = binaries(archive).values()
        (root / "calipers").write_bytes(content)
        (root / "calipers").chmod(0o755)
        shutil.copytree(ROOT / "examples", root / "examples", ignore=shutil.ignore_patterns("own_measure"))
        if runner:
            return [answered([*runner, "./calipers", *question.split()], root, {}) for question in QUESTIONS]
        enter = ["chroot", folder] if os.geteuid() == 0 else ["unshare", "--map-root-user", "chroot", folder]
        return [answered([*enter, "/calipers", *question.split()], root, SYSTEM) for question in QUESTIONS]


def check_sbom(path: Path) -> None:
    """Is it valid CycloneDX, by the schema of its version?"""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(path.read_text(encoding="utf-8"))
    if error is not None:
        raise SystemExit(f"{path.name} is not valid: {error}")
