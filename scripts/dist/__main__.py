"""What `make dist` runs: builds the artifacts of a release into a folder, and tries each.

    python scripts/dist OUT

TARGETS may name some of the targets; see targets.py. Targets that cannot be built here are named
with the reason. The workflow `wheels` builds them, and those of macOS and Windows.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import build
import digits
import sbom
import trial
from targets import Target, asked_for, own_target, why_not

sys.path.insert(0, str(build.ROOT / "scripts"))
from check_release import version


@contextmanager
def step(title: str) -> Iterator[None]:
    """Print what is done, and how long it took."""
    print(f"{title} ...", flush=True)
    start = time.monotonic()
    yield
    print(f"  {time.monotonic() - start:.0f} s", flush=True)


def wheels_of(out: Path, target: Target) -> list[Path]:
    """The package and the command, as wheels of the target."""
    system = f"{target.compatibility}_{target.processor}"
    return sorted(path for path in out.glob("calipers*.whl") if system in path.name)


def try_target(out: Path, target: Target) -> dict[str, list[str]]:
    """Try the wheels and the binary of a target; what the command of each answered, where it can run."""
    answers = {}
    for wheel in wheels_of(out, target):
        static = target.is_static and wheel.name.startswith("calipers_cli-")
        print(f"  {wheel.name}: {trial.check_headers(wheel, target, static=static)}")
        if not static:
            print(f"  {trial.resolved(wheel, target) if target.is_static else trial.audited(wheel, target)}")
    for archive in out.glob(f"calipers-*-{target.triple}.tar.gz"):
        print(f"  {archive.name}: {trial.check_headers(archive, target, static=True)}")
        found = trial.try_binary(archive, target)
        print(f"  not run: qemu-{target.processor} is not installed" if found is None else "  runs on its own")
        answers |= {} if found is None else {archive.name: found}
    if target.triple == own_target():
        package, command = wheels_of(out, target)
        answers[command.name] = trial.try_wheels(package, command)
    return answers


def write_checksums(out: Path) -> None:
    """SHA256SUMS, as sha256sum --check reads it."""
    files = sorted(path for path in out.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def static_target(targets: list[Target]) -> Target | None:
    """In place of a binary with musl, if none can be built: that of this machine, with glibc in it."""
    if any(target.is_static for target in targets):
        return None
    return next((target for target in targets if target.triple == own_target()), None)


def main() -> None:
    """Build, try and list."""
    out = Path(sys.argv[1]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    asked = asked_for(os.environ.get("TARGETS", ""))
    reasons = {target: why_not(target) for target in asked}
    targets = [target for target in asked if reasons[target] is None]
    number = version((build.ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    with_glibc = static_target(targets)
    with step("bill of materials"):
        bill = sbom.write(own_target(), out)
        trial.check_sbom(bill)
    with step("source distribution"):
        build.source_distribution(out)
    for target in targets:
        with step(f"wheels for {target.triple}"):
            build.wheels(target, bill, out)
        if target.is_static or target == with_glibc:
            with step(f"static binary for {target.triple}"):
                build.static_binary(target, number, out)
    answers: dict[str, list[str]] = {}
    for target in targets:
        with step(f"trial of {target.triple}"):
            answers |= try_target(out, target)
    if answers:
        first, *others = answers
        for other in others:
            print(f"{other} against {first}: {digits.compared(answers[first], answers[other])}")
    with step("twine check"):
        packages = [str(path) for path in sorted(out.glob("calipers*")) if path.name.endswith(".whl")]
        packages += [str(path) for path in out.glob(f"calipers-{number}.tar.gz")]
        subprocess.run([str(Path(sys.executable).with_name("twine")), "check", "--strict", *packages], check=True)
    write_checksums(out)
    for target, reason in reasons.items():
        if reason is not None:
            print(f"left out {target.triple}: {reason}")
    print("left to the workflow `wheels`: macOS and Windows")
    subprocess.run(["ls", "-l", str(out)], check=True)


if __name__ == "__main__":
    main()
