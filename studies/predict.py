"""Predictions in parts that an interruption cannot spoil, and in the end one .npz. No torch here.

    rows of a data set, in a fixed order -> batches of raw scores -> OUT.parts/part-00000.npz, ... -> OUT

A part has the scores of some whole batches. It appears whole or not at all, and carries the digest of all settings
that its numbers depend on. A second run with the same settings goes on after the parts that are there; with other
settings it is refused. Batches begin at the same rows in every run, so that the result has the same bits however
often the work was interrupted.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Labels = NDArray[np.int64]
# The scores of consecutive batches, for rows that begin and end where parts do.
Batches = Callable[[range], Iterable[Scores]]

FORMAT = 1


class Refusal(Exception):
    """What cannot be done, in one line: rule, value, place."""


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def check_labels(dataset: str, n_classes: int, labels: Labels) -> None:
    """Are these the labels of that data set? All rows, before any limit.

    A whole test set has every class: without that rule, the labels of CIFAR-10 would pass for CIFAR-100's.
    """
    if not len(labels):
        raise Refusal(f"{dataset} has no rows")
    outside = np.flatnonzero((labels < 0) | (labels >= n_classes))
    if len(outside):
        row = outside[0]
        raise Refusal(f"labels of {dataset} must be in 0..{n_classes - 1}, got {labels[row]} in row {row}")
    n_found = len(np.unique(labels))
    if n_found != n_classes:
        raise Refusal(
            f"{dataset} must have all its {n_classes} classes, got {n_found} "
            f"(labels {labels.min()}..{labels.max()}): is it another data set, or a part of it?"
        )


def check_width(model: str, dataset: str, n_classes: int, width: int) -> None:
    """Does the model know as many classes as the data set has?"""
    if width != n_classes:
        raise Refusal(
            f"{model} has scores for {width} classes, {dataset} has {n_classes}: model and data do not belong together"
        )


@dataclass(frozen=True)
class Run:
    """One model on one data set: what its numbers depend on, and how they are cut into parts."""

    model: str
    dataset: str
    n_classes: int
    # Labels of the whole data set, in the order of the predictions.
    labels: Labels
    # What else the numbers depend on, as JSON has it: weights, transform, device, versions, order
    # of the rows.
    settings: dict[str, Any]
    batch_size: int
    # Batches in a part.
    part_batches: int
    # The first rows only.
    limit: int | None = None

    def __post_init__(self) -> None:
        for name in ("batch_size", "part_batches", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise Refusal(f"{name.replace('_', ' ')} must be at least 1, got {value}")
        check_labels(self.dataset, self.n_classes, self.labels)

    @property
    def n_rows(self) -> int:
        return len(self.labels) if self.limit is None else min(self.limit, len(self.labels))

    @property
    def part_rows(self) -> int:
        return self.batch_size * self.part_batches

    def parts(self) -> list[range]:
        """The rows of each part."""
        return [range(i, min(i + self.part_rows, self.n_rows)) for i in range(0, self.n_rows, self.part_rows)]

    def identity(self) -> dict[str, Any]:
        """All that must be the same for parts of two runs to belong together."""
        identity = {
            "format": FORMAT,
            "model": self.model,
            "dataset": self.dataset,
            "n_classes": self.n_classes,
            "n_rows": self.n_rows,
            "n_rows_of_dataset": len(self.labels),
            "limited": self.n_rows < len(self.labels),
            "dtype": "float32",
            "batch_size": self.batch_size,
            "labels_sha256": hashlib.sha256(self.labels.tobytes()).hexdigest(),
            **self.settings,
        }
        # As it reads back from a file: tuples are lists there.
        return dict(json.loads(json.dumps(identity)))


def predict(run: Run, batches: Batches, out: Path, *, restart: bool = False) -> Path:
    """Write `out`: `logits` (n, k) float32, `labels` (n) int64 and `metadata`, a text in JSON.

    What an earlier run has done is kept if it has the same identity, and refused if not, unless `restart`.
    """
    identity = run.identity()
    folder = out.with_name(out.name + ".parts")
    if restart:
        out.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    if out.exists():
        _must_agree(_metadata(out), identity, out)
        say(f"{out}: complete already")
        return out
    try:
        done = _begin(run, identity, folder)
        _room_for(run, done, folder)
        _make_parts(run, batches, identity, folder, done)
        _join(run, identity, folder, out)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Refusal(f"the disk of {folder} is full: the parts so far are kept, {out.name} was not written") from error
    shutil.rmtree(folder)
    return out


def metadata(path: Path) -> dict[str, Any]:
    """What a file of predictions says about itself."""
    with np.load(path) as file:
        found: dict[str, Any] = json.loads(str(file["metadata"]))
    return found


def _metadata(path: Path) -> dict[str, Any]:
    try:
        return metadata(path)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise Refusal(f"{path} is there and was not made by this script: take it away, or give --restart") from error


def _begin(run: Run, identity: dict[str, Any], folder: Path) -> list[bool]:
    """Which parts are done. The first thing in the folder is the identity of the run."""
    folder.mkdir(parents=True, exist_ok=True)
    about = folder / "run.json"
    # How many batches a part has changes no number, but which rows a part has.
    cut = {**identity, "part_batches": run.part_batches}
    if about.exists():
        try:
            found = json.loads(about.read_text())
        except ValueError as error:
            raise Refusal(f"{about} cannot be read: take {folder} away, or give --restart") from error
        _must_agree(found, cut, folder)
    elif any(folder.glob("part-*.npz")):
        raise Refusal(f"{folder} has parts and no run.json that says what they are: take it away, or give --restart")
    else:
        _write_whole(about, lambda file: file.write((json.dumps(cut, indent=1) + "\n").encode()))
    for left in folder.glob("*.tmp"):  # of a run that was killed while it wrote
        left.unlink(missing_ok=True)
    done = [_is_done(run, identity, _part(folder, i), rows) for i, rows in enumerate(run.parts())]
    if any(done):
        say(f"{folder}: {sum(done)} of {len(done)} parts are there, going on")
    return done


def _must_agree(found: dict[str, Any], wanted: dict[str, Any], place: Path) -> None:
    for name, now in wanted.items():
        before = found.get(name)
        if before != now:
            was = f"{name} {json.dumps(before)}, not {json.dumps(now)}"
            raise Refusal(f"{place} was made with {was}: use the same settings, another folder, or --restart")


def _is_done(run: Run, identity: dict[str, Any], path: Path, rows: range) -> bool:
    if not path.exists():
        return False
    try:
        with np.load(path) as file:
            digest, logits, labels = str(file["identity"]), file["logits"], file["labels"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        say(f"{path} cannot be read: made again")
        return False
    if digest != _digest(identity):
        raise Refusal(f"{path} is a part of another run: take it away, or give --restart")
    if logits.dtype != np.float32 or logits.shape != (len(rows), run.n_classes):
        raise Refusal(f"{path} must have float32 {(len(rows), run.n_classes)}, got {logits.dtype} {logits.shape}")
    if not np.array_equal(labels, run.labels[rows.start : rows.stop]):
        raise Refusal(f"{path} has other labels than rows {rows.start}..{rows.stop - 1} of {run.dataset}")
    return True


def _room_for(run: Run, done: list[bool], folder: Path) -> None:
    row = 4 * run.n_classes + 8
    missing = sum(len(rows) for rows, there in zip(run.parts(), done, strict=True) if not there)
    needed = (missing + run.n_rows) * row  # the parts, and the whole beside them
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Refusal(f"{folder} needs {needed / 1e6:.0f} MB of disk, {free / 1e6:.0f} MB are free")


def _make_parts(run: Run, batches: Batches, identity: dict[str, Any], folder: Path, done: list[bool]) -> None:
    parts = run.parts()
    n_done = sum(done)
    for stretch in _stretches(done):
        scores = iter(batches(range(parts[stretch.start].start, parts[stretch.stop - 1].stop)))
        for i in stretch:
            logits = np.concatenate([_next(run, scores, rows) for rows in _batches_of(run, parts[i])])
            arrays = {"logits": logits, "labels": run.labels[parts[i].start : parts[i].stop]}
            _save(_part(folder, i), {**arrays, "identity": np.array(_digest(identity))})
            n_done += 1
            say(f"{run.model}: {parts[i].stop} of {run.n_rows} rows, part {n_done} of {len(parts)}")


def _stretches(done: list[bool]) -> Iterator[range]:
    """Parts to be made that follow each other, so that workers are not started for each."""
    start = None
    for i, there in enumerate([*done, True]):
        if there and start is not None:
            yield range(start, i)
            start = None
        elif not there and start is None:
            start = i


def _batches_of(run: Run, part: range) -> list[range]:
    return [range(i, min(i + run.batch_size, part.stop)) for i in range(part.start, part.stop, run.batch_size)]


def _next(run: Run, scores: Iterator[Scores], rows: range) -> Scores:
    batch = next(scores, None)
    if batch is None:
        raise Refusal(f"{run.model} has no scores for row {rows.start} of {run.dataset} and those after it")
    if batch.ndim != 2 or len(batch) != len(rows):
        raise Refusal(
            f"{run.model} must give one row of scores for each of {len(rows)} images, got shape {batch.shape}"
        )
    check_width(run.model, run.dataset, run.n_classes, batch.shape[1])
    if batch.dtype != np.float32:
        raise Refusal(f"scores of {run.model} must be float32, got {batch.dtype}")
    bad = np.flatnonzero(~np.isfinite(batch).all(axis=1))
    if len(bad):
        raise Refusal(
            f"scores of {run.model} must be finite, got {batch[bad[0]].tolist()[:3]}... in row {rows[bad[0]]}"
        )
    return batch


def _join(run: Run, identity: dict[str, Any], folder: Path, out: Path) -> None:
    logits = np.empty((run.n_rows, run.n_classes), dtype=np.float32)
    labels = run.labels[: run.n_rows]
    for i, rows in enumerate(run.parts()):
        if not _is_done(run, identity, _part(folder, i), rows):
            raise Refusal(f"{_part(folder, i)} has gone: run the same command again")
        with np.load(_part(folder, i)) as file:
            logits[rows.start : rows.stop] = file["logits"]
    accuracy = float((logits.argmax(axis=1) == labels).mean())
    about = json.dumps({**identity, "accuracy": accuracy}, sort_keys=True)
    _save(out, {"logits": logits, "labels": labels, "metadata": np.array(about)})
    say(f"{out}: {run.n_rows} rows, accuracy {accuracy:.4f}" + (" (limited)" if identity["limited"] else ""))


def _part(folder: Path, i: int) -> Path:
    return folder / f"part-{i:05}.npz"


def _digest(identity: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def _save(path: Path, arrays: dict[str, Any]) -> None:
    # numpy stamps the members of the archive with 1980, so that the bytes do not change. Scores do
    # not compress.
    _write_whole(path, lambda file: np.savez(file, **arrays))


def _write_whole(path: Path, write: Callable[[Any], Any]) -> None:
    """The file appears under its name when all of it is on the disk."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(partial, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
