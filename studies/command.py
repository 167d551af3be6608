"""What the commands of this folder share: their options, and how they end."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from studies.predict import Refusal, say


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="where the images are")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the .npz files go")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1, mps (default: cpu)")
    parser.add_argument("--batch-size", type=int, default=128, metavar="N", help="images at a time (default: 128)")
    parser.add_argument("--part-batches", type=int, default=10, metavar="N", help="batches in a part (default: 10)")
    parser.add_argument(
        "--workers", type=int, default=0, metavar="N", help="processes that read images (default: none)"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="the first N rows only, which the file will say")
    parser.add_argument("--restart", action="store_true", help="throw away what an earlier run has made")
    return parser


def need(*packages: str) -> list[Any]:
    """The packages, or one line that says which are missing."""
    modules, missing = [], []
    for name in packages:
        try:
            modules.append(import_module(name))
        except ImportError as error:
            missing.append(
                name if isinstance(error, ModuleNotFoundError) and error.name == name else f"{name} ({error})"
            )
    if missing:
        raise Refusal(f"missing: {', '.join(missing)}. To get it: pip install -r studies/requirements.txt")
    return modules


def versions(*packages: str) -> dict[str, str]:
    return {name: version(name) for name in packages}


def run_command(work: Callable[[], None]) -> int:
    """Exit code: 0 all files are there, 2 refused, 130 interrupted."""
    try:
        work()
    except Refusal as refusal:
        say(f"error: {refusal}")
        return 2
    except OSError as error:
        say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        say("interrupted: the parts so far are kept, the same command without --restart goes on from there")
        return 130
    return 0
