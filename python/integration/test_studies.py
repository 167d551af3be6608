"""The scripts of studies/: on numpy callables everywhere, on torch models and images made here where torch is."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import runpy
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from studies import predict as core  # noqa: E402
from studies.imagenet import find_images, read_truth  # noqa: E402
from studies.predict import Refusal, Run, Scores, metadata, predict  # noqa: E402

MISSING = [name for name in ("torch", "torchvision", "timm") if importlib.util.find_spec(name) is None]
with_torch = pytest.mark.skipif(
    bool(MISSING), reason=f"{', '.join(MISSING)} not installed: `make test-studies` has them"
)


# On numpy alone: parts, resuming, refusals.

N, K = 57, 5
LABELS = (np.arange(N, dtype=np.int64) * 3) % K
RUN = Run("tiny", "toys", K, LABELS, {"weights": "w1", "order": ("a", "b")}, batch_size=4, part_batches=2)


def scores_of(rows: range) -> Scores:
    return np.sin(np.arange(rows.start * K, rows.stop * K, dtype=np.float32).reshape(-1, K) ** 2)


class Source:
    """Scores that depend on the row alone; stops as it is told, and remembers what it was asked."""

    def __init__(self, stop_at: int | None = None, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.stop_at, self.error = stop_at, error
        self.asked: list[range] = []

    def __call__(self, rows: range) -> Iterable[Scores]:
        self.asked.append(rows)
        for start in range(rows.start, rows.stop, RUN.batch_size):
            if self.stop_at is not None and start >= self.stop_at:
                raise self.error
            yield scores_of(range(start, min(start + RUN.batch_size, rows.stop)))


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    return predict(RUN, Source(), tmp_path / "whole.npz").read_bytes()


def test_the_file_has_logits_labels_and_what_they_are(tmp_path: Path) -> None:
    out = predict(RUN, Source(), tmp_path / "new" / "tiny.npz")
    with np.load(out) as file:
        assert file["logits"].dtype == np.float32 and file["labels"].dtype == np.int64
        np.testing.assert_array_equal(file["logits"], scores_of(range(N)))
        np.testing.assert_array_equal(file["labels"], LABELS)
        accuracy = float((file["logits"].argmax(axis=1) == LABELS).mean())
    about = metadata(out)
    assert (about["model"], about["dataset"], about["n_rows"], about["limited"]) == ("tiny", "toys", N, False)
    assert (about["weights"], about["accuracy"]) == ("w1", accuracy)
    assert [path.name for path in out.parent.iterdir()] == ["tiny.npz"]


@pytest.mark.parametrize("stop_at", [0, 4, 8, 28, 56])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_interrupted_and_resumed_has_the_same_bytes(
    tmp_path: Path, whole: bytes, stop_at: int, error: type[BaseException]
) -> None:
    out = tmp_path / "tiny.npz"
    with pytest.raises(error):
        predict(RUN, Source(stop_at, error), out)
    assert not out.exists()
    rest = Source()
    assert predict(RUN, rest, out).read_bytes() == whole
    assert rest.asked == [range(stop_at // 8 * 8, N)]  # parts that were there are not asked for again
    assert not out.with_name("tiny.npz.parts").exists()


def test_parts_that_are_gone_or_broken_are_made_again(tmp_path: Path, whole: bytes) -> None:
    out = tmp_path / "tiny.npz"
    with pytest.raises(KeyboardInterrupt):
        predict(RUN, Source(40), out)
    parts = tmp_path / "tiny.npz.parts"
    (parts / "part-00001.npz").unlink()
    broken = parts / "part-00003.npz"
    broken.write_bytes(broken.read_bytes()[:100])
    (parts / "part-00004.npz.123.tmp").write_bytes(b"half")
    rest = Source()
    assert predict(RUN, rest, out).read_bytes() == whole
    assert rest.asked == [range(8, 16), range(24, 32), range(40, N)]


OTHER = {
    "model": replace(RUN, model="other"),
    "dataset": replace(RUN, dataset="other"),
    "weights": replace(RUN, settings={**RUN.settings, "weights": "w2"}),
    "order": replace(RUN, settings={**RUN.settings, "order": ["b", "a"]}),
    "labels_sha256": replace(RUN, labels=LABELS[::-1].copy()),
    "batch_size": replace(RUN, batch_size=8),
    "part_batches": replace(RUN, part_batches=3),
    "n_rows": replace(RUN, limit=50),
}


@pytest.mark.parametrize("name", OTHER)
def test_a_run_with_other_settings_does_not_go_on(tmp_path: Path, whole: bytes, name: str) -> None:
    out = tmp_path / "tiny.npz"
    with pytest.raises(KeyboardInterrupt):
        predict(RUN, Source(30), out)
    with pytest.raises(Refusal, match=f"was made with {name} .*--restart"):
        predict(OTHER[name], Source(), out)
    assert predict(RUN, Source(), out).read_bytes() == whole  # nothing was harmed


def test_parts_of_another_precision_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "tiny.npz"
    with pytest.raises(KeyboardInterrupt):
        predict(RUN, Source(30), out)
    about = tmp_path / "tiny.npz.parts" / "run.json"
    about.write_text(about.read_text().replace("float32", "float16"))
    with pytest.raises(Refusal, match='was made with dtype "float16", not "float32"'):
        predict(RUN, Source(), out)
    about.write_text("{")
    with pytest.raises(Refusal, match=r"run\.json cannot be read"):
        predict(RUN, Source(), out)
    about.unlink()
    with pytest.raises(Refusal, match=r"has parts and no run\.json"):
        predict(RUN, Source(), out)


def test_a_part_of_another_run_is_refused(tmp_path: Path) -> None:
    for name, run in (("a", RUN), ("b", OTHER["weights"])):
        with pytest.raises(KeyboardInterrupt):
            predict(run, Source(30), tmp_path / name)
    shutil.copy(tmp_path / "b.parts" / "part-00000.npz", tmp_path / "a.parts")
    with pytest.raises(Refusal, match="is a part of another run"):
        predict(RUN, Source(), tmp_path / "a")


def test_a_complete_file_is_kept_and_another_one_refused(tmp_path: Path, whole: bytes) -> None:
    again = Source()
    assert predict(RUN, again, tmp_path / "whole.npz").read_bytes() == whole and not again.asked
    with pytest.raises(Refusal, match='was made with weights "w1", not "w2"'):
        predict(OTHER["weights"], again, tmp_path / "whole.npz")
    (tmp_path / "foreign.npz").write_text("not ours")
    with pytest.raises(Refusal, match="was not made by this script"):
        predict(RUN, again, tmp_path / "foreign.npz")
    predict(OTHER["weights"], again, tmp_path / "whole.npz", restart=True)
    assert metadata(tmp_path / "whole.npz")["weights"] == "w2"


def test_a_limit_is_said_in_the_file(tmp_path: Path) -> None:
    about = metadata(predict(replace(RUN, limit=10), Source(), tmp_path / "few.npz"))
    assert (about["n_rows"], about["n_rows_of_dataset"], about["limited"]) == (10, N, True)


BAD_SCORES: dict[str, tuple[Callable[[Scores], Any], str]] = {
    "width": (lambda s: s[:, :3], "tiny has scores for 3 classes, toys has 5: model and data do not belong together"),
    "rows": (lambda s: s[1:], "one row of scores for each of 4 images"),
    "dtype": (lambda s: s.astype(np.float64), "scores of tiny must be float32, got float64"),
    "nan": (lambda s: np.where(s == s.max(), np.float32(np.nan), s), "scores of tiny must be finite, .* in row [0-3]$"),
}


@pytest.mark.parametrize("kind", BAD_SCORES)
def test_scores_that_do_not_fit_are_refused_before_a_part_is_written(tmp_path: Path, kind: str) -> None:
    spoil, text = BAD_SCORES[kind]
    with pytest.raises(Refusal, match=text):
        predict(RUN, lambda rows: (spoil(s) for s in Source()(rows)), tmp_path / "out.npz")
    assert not list(tmp_path.rglob("*.npz"))


def test_scores_that_end_too_soon_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="no scores for row 8 of toys"):
        predict(RUN, lambda _: Source()(range(8)), tmp_path / "out.npz")


def test_labels_of_ten_classes_do_not_pass_for_a_hundred() -> None:
    ten = np.arange(1000, dtype=np.int64) % 10
    with pytest.raises(Refusal, match=r"cifar100 must have all its 100 classes, got 10 \(labels 0..9\)"):
        replace(RUN, dataset="cifar100", n_classes=100, labels=ten)
    with pytest.raises(Refusal, match=r"labels of cifar10 must be in 0..9, got 10 in row 10"):
        replace(RUN, dataset="cifar10", n_classes=10, labels=np.arange(100, dtype=np.int64))
    with pytest.raises(Refusal, match="batch size must be at least 1, got 0"):
        replace(RUN, batch_size=0)


def test_a_full_disk_is_one_line_and_keeps_the_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "tiny.npz"
    full = SimpleNamespace(free=100)
    with monkeypatch.context() as patch, pytest.raises(Refusal, match=r"needs 0 MB of disk, 0 MB are free"):
        patch.setattr(core.shutil, "disk_usage", lambda _: full)
        predict(RUN, Source(), out)
    real = core.np.savez

    def savez(file: Any, **arrays: Any) -> None:
        if "metadata" in arrays:
            file.write(b"some bytes")
            raise OSError(28, "No space left on device")
        real(file, **arrays)

    with monkeypatch.context() as patch, pytest.raises(Refusal, match=r"is full: the parts so far are kept"):
        patch.setattr(core.np, "savez", savez)
        predict(RUN, Source(), out)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.npz.parts"]
    rest = Source()
    predict(RUN, rest, out)
    assert not rest.asked


# Folders of images: no torch needed, for they are not opened.

CLASSES = ["n03", "n01", "n02"]  # not in the order of their names: the list decides


def flat_folder(folder: Path, n: int = 12) -> dict[str, str]:
    folder.mkdir()
    names = {f"val_{i:04}": CLASSES[i * 7 % 3] for i in range(n)}
    for i, stem in enumerate(names):
        (folder / f"{stem}.JPEG").write_bytes(bytes(i + 1))
    return names


def test_class_folders_and_a_flat_folder_give_the_same_rows(tmp_path: Path) -> None:
    names = flat_folder(tmp_path / "flat")
    for stem, place in names.items():
        (tmp_path / "by_class" / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / "flat" / f"{stem}.JPEG", tmp_path / "by_class" / place)
    (tmp_path / "by_class" / "notes").mkdir()
    truths = {
        "names": [f"{stem}.JPEG {place}" for stem, place in reversed(names.items())],
        "numbers": [f"{stem}.JPEG {CLASSES.index(place)}" for stem, place in names.items()],
        "kaggle": ["ImageId,PredictionString", *(f"{stem},{place} 1 2 3 4 " for stem, place in names.items())],
    }
    by_class = find_images(tmp_path / "by_class", None, CLASSES, 12)
    assert [path.stem for path in by_class.paths] == sorted(names)
    assert by_class.labels.tolist() == [CLASSES.index(names[stem]) for stem in sorted(names)]
    for name, lines in truths.items():
        (tmp_path / name).write_text("\n".join(lines))
        flat = find_images(tmp_path / "flat", tmp_path / name, CLASSES, 12)
        assert flat.labels.tolist() == by_class.labels.tolist(), name
        assert flat.sha256() == by_class.sha256(), name


def test_numbers_of_the_development_kit_need_its_own_order(tmp_path: Path) -> None:
    names = flat_folder(tmp_path / "flat")
    kit = ["n02", "n03", "n01"]
    truth = tmp_path / "ground_truth.txt"
    truth.write_text("".join(f"{kit.index(place) + 1}\n" for place in names.values()))
    with pytest.raises(Refusal, match=r"in the order of the development kit: its meta.mat must stand beside it"):
        find_images(tmp_path / "flat", truth, CLASSES, 12)
    io = pytest.importorskip("scipy.io")
    kind = [("ILSVRC2012_ID", "O"), ("WNID", "O")]
    synsets = np.array([(i + 1, place) for i, place in enumerate([*kit, "n99"])], dtype=kind)
    io.savemat(tmp_path / "meta.mat", {"synsets": synsets})
    assert find_images(tmp_path / "flat", truth, CLASSES, 12).labels.tolist() == [
        CLASSES.index(place) for place in names.values()
    ]
    truth.write_text("1\n2\n")
    with pytest.raises(Refusal, match="has 2 lines for 12 images"):
        find_images(tmp_path / "flat", truth, CLASSES, 12)
    truth.write_text("4\n" * 12)
    with pytest.raises(Refusal, match="has class 4, which is none of the 3"):
        find_images(tmp_path / "flat", truth, CLASSES, 12)


def test_folders_that_are_not_whole_are_refused(tmp_path: Path) -> None:
    names = flat_folder(tmp_path / "flat")
    truth = tmp_path / "truth"
    truth.write_text("\n".join(f"{stem} {place}" for stem, place in list(names.items())[:-2]))
    with pytest.raises(Refusal, match=r"has no class for 2 images, the first is val_0010.JPEG"):
        find_images(tmp_path / "flat", truth, CLASSES, 12)
    with pytest.raises(Refusal, match=r"has no class folders such as n03: for images beside each other give --truth"):
        find_images(tmp_path / "flat", None, CLASSES, 12)
    with pytest.raises(
        Refusal, match="is not a folder: it must have the validation images, which nothing here fetches"
    ):
        find_images(tmp_path / "nowhere", None, CLASSES, 12)
    truth.write_text("\n".join(f"{stem} {place}" for stem, place in names.items()))
    with pytest.raises(Refusal, match="must have 50000 images, got 12"):
        find_images(tmp_path / "flat", truth, CLASSES, 50_000)
    truth.write_text("val_0000 n01\nval_0000 n02")
    with pytest.raises(Refusal, match="has two classes for val_0000"):
        read_truth(truth, {"n01": 0, "n02": 1}, [])
    truth.write_text("val_0000 n77")
    with pytest.raises(Refusal, match="must be an image and its class, got 'val_0000 n77'"):
        read_truth(truth, {"n01": 0, "n02": 1}, [])


# The commands.


@dataclass(frozen=True)
class Done:
    code: int | str | None
    said: str


Command: TypeAlias = Callable[[list[str | Path]], Done]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command as the shell runs it, but in this process: it takes seconds to load torch."""

    def run(words: list[str | Path]) -> Done:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", list(map(str, words)))
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(words[0]), run_name="__main__")
        return Done(end.value.code, capsys.readouterr().err)

    return run


@pytest.mark.parametrize("name", ["cifar", "imagenet"])
def test_missing_packages_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command, name: str
) -> None:
    for package in ("torch", "torchvision", "timm"):
        monkeypatch.setitem(sys.modules, package, None)
    done = command([ROOT / "studies" / f"{name}.py", "--data", tmp_path, "--out", tmp_path])
    names = "torch, torchvision" if name == "cifar" else "torch, torchvision, timm"
    text = f"error: missing: {names}. To get it: pip install -r studies/requirements.txt\n"
    assert done == Done(2, text)


# A hub repository with a small network, whose weights come from a seed. SLOW makes time for an
# interruption.
HUBCONF = """
    import os, time
    import torch
    dependencies = ["torch"]

    class Tiny(torch.nn.Module):
        def __init__(self, k):
            super().__init__()
            self.layers = torch.nn.Sequential(
                torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                torch.nn.Dropout(0.5), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(32, k))
        def forward(self, x):
            time.sleep(float(os.environ.get("SLOW", 0)))
            if "FULL" in os.environ:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return self.layers(x)

    def _tiny(k):
        def entry(pretrained=False):
            torch.manual_seed(k)
            return Tiny(k)
        return entry

    cifar10_tiny, cifar100_tiny, cifar100_narrow = _tiny(10), _tiny(100), _tiny(10)
"""

# torchvision checks the digests of its files: those of the files made here are put in their place.
DRIVER = """
    import hashlib, sys
    from dataclasses import replace
    from pathlib import Path
    import torch, torchvision
    from studies import cifar
    torch.set_num_threads(1)
    data = Path(sys.argv[sys.argv.index("--data") + 1])
    md5 = lambda path: hashlib.md5(path.read_bytes()).hexdigest()
    for loader in (torchvision.datasets.CIFAR10, torchvision.datasets.CIFAR100):
        folder = data / loader.base_folder
        if folder.is_dir():
            loader.train_list = []
            loader.test_list = [[name, md5(folder / name)] for name, _ in loader.test_list]
            loader.meta = {**loader.meta, "md5": md5(folder / loader.meta["filename"])}
    small = {name: replace(one, n_rows=300, published={"tiny": 99}) for name, one in cifar.DATASETS.items()}
    sys.exit(cifar.main(datasets=small))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub, small CIFAR files and a driver, in one folder."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "hub").mkdir()
    (folder / "hub" / "hubconf.py").write_text(textwrap.dedent(HUBCONF))
    (folder / "driver.py").write_text(textwrap.dedent(DRIVER))
    rng = np.random.default_rng(5)
    for base, test, meta, key, names, k in (
        ("cifar-10-batches-py", "test_batch", "batches.meta", "labels", "label_names", 10),
        ("cifar-100-python", "test", "meta", "fine_labels", "fine_label_names", 100),
    ):
        (folder / base).mkdir()
        pixels = rng.integers(0, 256, (300, 3 * 32 * 32), dtype=np.uint8)
        (folder / base / test).write_bytes(pickle.dumps({"data": pixels, key: [i * 7 % k for i in range(300)]}))
        (folder / base / meta).write_bytes(pickle.dumps({names: [f"class {i}" for i in range(k)]}))
    return folder


def cifar(made: Path, out: Path, *words: str) -> list[str | Path]:
    common = [made / "driver.py", "--data", made, "--out", out, "--hub", made / "hub"]
    return [*common, "--batch-size", "16", "--part-batches", "2", *words]


@with_torch
def test_cifar_meets_its_own_images_labels_and_normalisation(made: Path, tmp_path: Path, command: Command) -> None:
    done = command(cifar(made, tmp_path, "--model", "tiny"))
    assert done.code == 0, done.said
    assert done.said.count("%, its authors state 99.00 %") == 2  # random weights are far from it
    import torch

    settings = {
        "cifar10": ("cifar-10-batches-py/test_batch", "labels", 10, [0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]),
        "cifar100": ("cifar-100-python/test", "fine_labels", 100, [0.5070, 0.4865, 0.4409], [0.2673, 0.2564, 0.2761]),
    }
    for name, (test, key, k, mean, std) in settings.items():
        entry = pickle.loads((made / test).read_bytes())
        pixels = entry["data"].reshape(-1, 3, 32, 32) / 255
        x = (pixels - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
        model = torch.hub.load(str(made / "hub"), f"{name}_tiny", source="local", pretrained=True).eval()
        with torch.inference_mode():
            expected = model(torch.tensor(x, dtype=torch.float32)).numpy()
        with np.load(tmp_path / f"{name}_tiny.npz") as file:
            assert file["logits"].shape == (300, k) and file["logits"].dtype == np.float32
            np.testing.assert_allclose(file["logits"], expected, atol=1e-5)
            assert file["labels"].tolist() == entry[key]
        about = metadata(tmp_path / f"{name}_tiny.npz")
        assert (about["model"], about["dataset"], about["limited"]) == (f"{name}_tiny", name, False)
        assert about["versions"]["torch"] and len(about["weights"]["sha256"]) == 64
        assert str(made) not in str(about)  # files travel: no folder of this machine is in them


@with_torch
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_cifar_killed_and_resumed_has_the_same_bytes(
    made: Path, tmp_path: Path, command: Command, end: signal.Signals
) -> None:
    words = ["--dataset", "cifar100", "--model", "tiny"]
    assert command(cifar(made, tmp_path / "whole", *words)).code == 0
    out = tmp_path / "cut"
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", *map(str, cifar(made, out, *words))],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SLOW": "0.3"},
        stderr=subprocess.PIPE,
        text=True,
    )
    parts = out / "cifar100_tiny.npz.parts"
    until = time.monotonic() + 120
    while len(list(parts.glob("part-*.npz"))) < 2 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(end)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == (130 if end == signal.SIGINT else -end), said
    if end == signal.SIGINT:
        assert said.endswith(
            "interrupted: the parts so far are kept, the same command without --restart goes on from there\n"
        )
    n_parts = len(list(parts.glob("part-*.npz")))
    assert 2 <= n_parts < 10 and not (out / "cifar100_tiny.npz").exists()
    done = command(cifar(made, out, *words))
    assert done.code == 0 and f"{n_parts} of 10 parts are there, going on" in done.said, done.said
    assert (out / "cifar100_tiny.npz").read_bytes() == (tmp_path / "whole" / "cifar100_tiny.npz").read_bytes()


@with_torch
def test_cifar_refusals_are_one_line(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    def refusal(*words: str, made: Path = made) -> str:
        done = command(cifar(made, tmp_path / "out", *words))
        assert done.code == 2 and done.said.count("\n") == 1, done.said
        return done.said

    assert "cifar100_narrow has scores for 10 classes, cifar100 has 100" in refusal(
        "--dataset", "cifar100", "--model", "narrow"
    )
    assert "cannot load cifar10_absent from" in refusal("--dataset", "cifar10", "--model", "absent")
    assert "device cuda:99 cannot be used" in refusal("--model", "tiny", "--device", "cuda:99")

    with monkeypatch.context() as patch:
        patch.setenv("FULL", "1")
        text = refusal("--dataset", "cifar10", "--model", "tiny")
        assert "cpu has no memory for 16 images at a time: give a smaller --batch-size" in text
    (tmp_path / "file").touch()
    assert "Not a directory" in refusal("--dataset", "cifar10", "--model", "tiny", "--out", str(tmp_path / "file"))

    # The mix-up of the paper's notebook: CIFAR-10 where CIFAR-100 should be.
    mixed = tmp_path / "mixed"
    shutil.copytree(made, mixed)
    ten = pickle.loads((made / "cifar-10-batches-py" / "test_batch").read_bytes())
    (mixed / "cifar-100-python" / "test").write_bytes(pickle.dumps(ten))
    text = refusal("--dataset", "cifar100", "--model", "tiny", made=mixed)
    assert "cifar100 must have all its 100 classes, got 10 (labels 0..9)" in text
    (mixed / "cifar-100-python" / "meta").write_bytes(pickle.dumps({"fine_label_names": ["a"] * 10}))
    text = refusal("--dataset", "cifar100", "--model", "tiny", made=mixed)
    assert "cifar100 must have 100 classes, got the names of 10" in text
    shutil.rmtree(mixed / "cifar-10-batches-py")
    text = refusal("--dataset", "cifar10", "--model", "tiny", made=mixed)
    assert "cifar10 is not whole in" in text and "give --download to fetch it" in text
    assert not list((tmp_path / "out").rglob("*.npz"))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty images in five class folders, and weights for a small timm model."""
    import timm
    import torch
    from PIL import Image
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(6)
    classes = [f"n{i:08}" for i in range(5)]
    for i in range(40):
        (folder / "val" / classes[i % 5]).mkdir(parents=True, exist_ok=True)
        height, width = rng.integers(40, 90, 2)
        image = Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8))
        if i % 9 == 0:
            image = image.convert("L")  # some of ImageNet are grey
        image.save(folder / "val" / classes[i % 5] / f"val_{i * 17 % 40:08}.JPEG")
    (folder / "classes.txt").write_text("\n".join(classes))
    torch.manual_seed(0)
    model = timm.create_model("test_resnet", num_classes=5)
    torch.save(model.state_dict(), folder / "weights.pt")
    save_file(model.state_dict(), folder / "model.safetensors")  # as on the hub
    return folder


def imagenet(photos: Path, out: Path, *words: str) -> list[str | Path]:
    common = [ROOT / "studies" / "imagenet.py", "--data", photos / "val", "--out", out, "--model", "test_resnet"]
    given = ["--classes", photos / "classes.txt", "--n-images", "40", "--weights", photos / "model.safetensors"]
    return [*common, *given, "--batch-size", "8", "--part-batches", "2", *words]


@with_torch
def test_imagenet_has_the_scores_of_timm_with_its_own_transform(photos: Path, tmp_path: Path, command: Command) -> None:
    import timm
    import torch
    from PIL import Image

    done = command(imagenet(photos, tmp_path))
    assert done.code == 0, done.said
    model = timm.create_model("test_resnet", num_classes=5)
    model.load_state_dict(torch.load(photos / "weights.pt"))
    config = timm.data.resolve_model_data_config(model)
    transform = timm.data.create_transform(**config, is_training=False)
    paths = sorted((photos / "val").rglob("*.JPEG"), key=lambda path: path.name)
    x = torch.stack([transform(Image.open(path).convert("RGB")) for path in paths])
    with torch.inference_mode():
        expected = model.eval()(x).numpy()
    out = tmp_path / "imagenet_test_resnet.npz"
    with np.load(out) as file:
        np.testing.assert_allclose(file["logits"], expected, atol=1e-4)
        assert file["labels"].tolist() == [int(path.parent.name[1:]) for path in paths]
    assert metadata(out)["transform"]["input_size"] == list(config["input_size"])
    weights = str(photos / "weights.pt")
    limited = command(imagenet(photos, tmp_path / "few", "--limit", "20", "--workers", "1", "--weights", weights))
    assert limited.code == 0, limited.said
    about = metadata(tmp_path / "few" / out.name)
    assert (about["n_rows"], about["n_rows_of_dataset"], about["limited"]) == (20, 40, True)
    assert about["weights"] == metadata(out)["weights"]  # the same numbers in another format


@with_torch
@pytest.mark.parametrize("n_workers", ["0", "1"])
def test_an_image_that_cannot_be_read_is_named_and_the_run_goes_on_once_it_is_mended(
    photos: Path, tmp_path: Path, command: Command, n_workers: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(photos, copy)
    broken = sorted((copy / "val").rglob("*.JPEG"), key=lambda path: path.name)[33]
    good = broken.read_bytes()
    broken.write_bytes(bytes(len(good)))
    done = command(imagenet(copy, tmp_path, "--workers", n_workers))
    assert done.code == 2
    assert done.said.splitlines()[-1].startswith(f"error: image {broken} of row 33 cannot be read"), done.said
    assert "Traceback" not in done.said
    broken.write_bytes(good)
    done = command(imagenet(copy, tmp_path, "--workers", n_workers))
    assert done.code == 0 and "2 of 3 parts are there, going on" in done.said, done.said
    assert command(imagenet(photos, tmp_path / "whole")).code == 0
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.rglob("imagenet_test_resnet.npz")}
    assert len(digests) == 1


@with_torch
def test_imagenet_refusals_are_one_line(photos: Path, tmp_path: Path, command: Command) -> None:
    def refusal(*words: str) -> str:
        done = command(imagenet(photos, tmp_path / "out", *words))
        assert done.code == 2 and done.said.count("\n") == 1, done.said
        return done.said

    assert "must have 50000 images, got 40" in refusal("--n-images", "50000")
    assert "timm has no model test_nothing" in refusal("--model", "test_nothing")
    assert "--weights are those of one model, got 2" in refusal("--model", "test_resnet", "test_vit")
    assert "cannot load test_vit from" in refusal("--model", "test_vit")
    six = tmp_path / "classes.txt"
    six.write_text((photos / "classes.txt").read_text() + "\nn00000005")
    assert "cannot load test_resnet from" in refusal("--classes", str(six))  # the weights are for five
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").rglob("*.npz"))


@with_torch
def test_the_six_models_are_known_to_timm_and_have_a_thousand_classes() -> None:
    import timm

    from studies.imagenet import MODELS

    for name in MODELS:
        assert timm.get_pretrained_cfg(name).num_classes == 1000, name
    assert len(timm.data.ImageNetInfo("imagenet-1k").label_names()) == 1000
