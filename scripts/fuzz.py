"""Fuzzes every target for a while, one after another, and prints how many inputs each has run.

`make fuzz` calls it: SECONDS for all targets together, split evenly; TARGETS=a,b for some of them. Half of
a target's time goes to libFuzzer, whose feedback finds new paths, and half to random changes of what
libFuzzer has kept, which are several times as many. Without a C++ compiler all of it goes to random
changes. Inputs that fail are in fuzz/found, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# What `cargo fuzz build --sanitizer none` passes, which a stable compiler takes as well.
COVERAGE = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
]
# In memory where there is such a folder: targets of files write one for each input.
MEMORY = Path("/dev/shm")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--targets", default="", help="names, separated by commas; all unless given")
    parser.add_argument("--seed", type=int, default=1, help="of the random changes")
    arguments = parser.parse_args()
    mutate = build("mutate", [], "fast", BUILT / "fast")
    engine = engine_if_possible()
    targets = known_targets(mutate)
    chosen = [name for name in arguments.targets.split(",") if name] or list(targets)
    if unknown := sorted(set(chosen) - set(targets)):
        print(f"no target {', '.join(unknown)}; there are {', '.join(targets)}", file=sys.stderr)
        return 2
    each = max(2, arguments.seconds // len(chosen))
    counts, failed = {}, []
    for name in chosen:
        corpus = FUZZ / "found" / "corpus" / name
        corpus.mkdir(parents=True, exist_ok=True)
        guided = run_engine(engine, name, targets[name], corpus, each // 2) if engine else 0
        changed = run_mutate(mutate, name, corpus, each - each // 2 if engine else each, arguments.seed)
        if guided is None or changed is None:
            failed.append(name)
        counts[name] = (guided or 0, changed or 0)
        print(f"{name:20} {counts[name][0]:>12,} guided {counts[name][1]:>12,} random", flush=True)
    total = sum(map(sum, counts.values()))
    print(f"{'all':20} {total:>12,} inputs")
    if failed:
        print(
            f"failed: {', '.join(failed)}; the inputs are in fuzz/found, fuzz/README.md has what to do", file=sys.stderr
        )
    return 1 if failed else 0


def engine_if_possible() -> Path | None:
    if not any(shutil.which(compiler) for compiler in ("c++", "g++", "clang++")):
        print("no C++ compiler, which libFuzzer needs: random changes only")
        return None
    target = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    host = re.search("host: (.*)", target)
    assert host is not None
    folder = BUILT / "fuzz"
    options = ["--features", "engine", "--target", host[1]]
    environment = {"CARGO_TARGET_DIR": str(folder), "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(COVERAGE)}
    return build("fuzz", options, "fuzz", folder / host[1] / "fuzz", environment)


def build(name: str, options: list[str], profile: str, folder: Path, environment: dict[str, str] | None = None) -> Path:
    command = ["cargo", "build", "--profile", profile, "-p", "calipers-fuzz", "--bin", name, *options]
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | (environment or {}))
    return folder / name


def known_targets(mutate: Path) -> dict[str, int]:
    """Names, and the most bytes of an input."""
    lines = subprocess.run([mutate, "list"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[0]: int(line.split()[1]) for line in lines}


def environment() -> dict[str, str]:
    # Errors would walk the stack, which takes longer than most inputs.
    quick = {"RUST_LIB_BACKTRACE": "0"}
    return os.environ | quick | ({"TMPDIR": str(MEMORY)} if MEMORY.is_dir() else {})


def run_engine(engine: Path, name: str, max_len: int, corpus: Path, seconds: int) -> int | None:
    """The number of inputs; None if one of them failed."""
    found = FUZZ / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    folders = [corpus, *(folder for kind in ("seeds", "regressions") if (folder := FUZZ / kind / name).is_dir())]
    limits = [f"-max_total_time={seconds}", "-timeout=60", "-rss_limit_mb=4096", "-print_final_stats=1"]
    command = [engine, *folders, f"-artifact_prefix={found}/", f"-max_len={max_len}", *limits]
    chosen = environment() | {"CALIPERS_TARGET": name}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=chosen, check=False)
    stat = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    if done.returncode != 0:
        print(done.stderr[-4000:], file=sys.stderr)
        return None
    return int(stat[1]) if stat else 0


def run_mutate(mutate: Path, name: str, corpus: Path, seconds: int, seed: int) -> int | None:
    command = [mutate, name, str(seconds), str(seed), corpus]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment(), check=False)
    if done.returncode != 0:
        print(done.stderr[-4000:], file=sys.stderr)
        return None
    return int(done.stdout.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
