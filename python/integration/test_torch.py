"""The torchmetrics metric: the bits of a sketch, however many processes and batches there are."""

from __future__ import annotations

import doctest
import importlib
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import calipers
import pytest

pytest.importorskip("torch", reason="torch not installed")
pytest.importorskip("torchmetrics", reason="torchmetrics not installed")

import torch
import torch.distributed
import torch.multiprocessing
from calipers.torch import LogitSmoothedECE
from torchmetrics import MetricCollection
from torchmetrics.classification import BinaryCalibrationError

ROOT = Path(__file__).parents[2]
N = 3001
KINDS: dict[str, dict[str, Any]] = {
    "probabilities": {"sigma": 0.1},
    "raw scores": {"sigma": 0.1, "from_logits": True},
    "classes": {"sigma": 0.2, "multiclass": "top_class", "n_bins": (10, 15)},
    "logits of classes": {"sigma": "auto", "from_logits": True},
}


def rows(kind: str) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(7)
    logits = 5 * torch.randn(N, 4, generator=generator, dtype=torch.float64)
    if kind in ("probabilities", "raw scores"):
        score = 30 * logits[:, 0] if kind == "raw scores" else logits[:, 0]
        target = torch.bernoulli(torch.sigmoid(0.7 * score), generator=generator).long()
        return (torch.sigmoid(score) if kind == "probabilities" else score), target
    target = torch.multinomial(torch.softmax(0.7 * logits, 1), 1, generator=generator)[:, 0]
    return (torch.softmax(logits, 1) if kind == "classes" else logits), target


def in_batches(metric: LogitSmoothedECE, preds: Any, target: Any) -> LogitSmoothedECE:
    start = 0
    for size in (1, 0, 17, 400, 10**9):
        metric.update(preds[start : start + size], target[start : start + size])
        start += size
    return metric


def one_rank(rank: int, folder: str, splits: dict[str, int]) -> None:
    store = torch.distributed.FileStore(f"{folder}/store", 2)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
    for kind, split in splits.items():
        preds, target = (values[:split] if rank == 0 else values[split:] for values in rows(kind))
        metric = LogitSmoothedECE(**KINDS[kind])
        if len(target):
            in_batches(metric, preds, target)
        n_own = int(metric.words[:3].sum())
        value, figure, sketch = metric.compute(), metric.estimate(), metric.sketch()
        assert int(metric.words[:3].sum()) == n_own == len(target), "what a rank has is its own again"
        found = (float(value).hex(), float(figure).hex(), sketch.to_bytes())
        Path(f"{folder}/{kind} {rank}").write_bytes(pickle.dumps(found))
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("split", [N // 2, 0], ids=["halves", "an empty rank"])
def test_two_processes_have_the_bits_of_one(split: int, tmp_path: Path) -> None:
    torch.multiprocessing.spawn(one_rank, args=(str(tmp_path), dict.fromkeys(KINDS, split)), nprocs=2)
    for kind, options in KINDS.items():
        metric = LogitSmoothedECE(**options)
        metric.update(*rows(kind))
        value = float(metric.compute()).hex()
        alone = (value, value, metric.sketch().to_bytes())
        for rank in range(2):
            assert pickle.loads((tmp_path / f"{kind} {rank}").read_bytes()) == alone, kind


@pytest.mark.parametrize("kind", KINDS)
def test_batches_have_the_bits_of_a_sketch_on_numpy(kind: str) -> None:
    preds, target = rows(kind)
    metric = in_batches(LogitSmoothedECE(**KINDS[kind]), preds, target)
    reading = {name: KINDS[kind][name] for name in ("from_logits", "multiclass") if name in KINDS[kind]}
    found = metric.sketch()
    sketch = calipers.Sketch(resolution=found.resolution, largest_logit=40.0, n_bins=found.n_bins)
    sketch.update(target.numpy(), preds.numpy(), **reading)
    assert found.to_bytes() == sketch.to_bytes()
    sigma = KINDS[kind]["sigma"]
    assert float(metric.compute()) == sketch.ls_ece(sigma=sigma)
    exact = calipers.ls_ece(target.numpy(), preds.numpy(), sigma=metric.estimate().settings["sigma"], **reading)
    assert abs(metric.estimate() - exact) <= metric.estimate().numerical_bound + exact.numerical_bound
    assert metric.words.numel() * 8 < 8e6


def test_figures_of_torchmetrics_itself() -> None:
    preds, target = rows("probabilities")
    metric, theirs = LogitSmoothedECE(sigma=0.1, n_bins=15), BinaryCalibrationError(n_bins=15)
    metric.update(preds, target)
    theirs.update(preds, target)
    assert float(theirs.compute()) == pytest.approx(metric.sketch().expected_calibration_error(n_bins=15), abs=1e-6)


def test_states_are_handled_as_torchmetrics_does() -> None:
    preds, target = rows("probabilities")
    whole = LogitSmoothedECE(sigma=0.1)
    whole.update(preds, target)
    value = whole.compute()
    assert value.shape == () and value.dtype == torch.float64

    first, second = LogitSmoothedECE(sigma=0.1), LogitSmoothedECE(sigma=0.1)
    of_batch = first(preds[:1000], target[:1000])
    assert float(of_batch) == calipers.Sketch(resolution=10, n_bins=[15]).update(
        target[:1000].numpy(), preds[:1000].numpy()
    ).ls_ece(sigma=0.1)
    first(preds[1000:2000], target[1000:2000])
    second.update(preds[2000:], target[2000:])
    first.merge_state(second)
    # A long sum has two words; where halves were added the carry is in the first. Words differ, the
    # sketch does not.
    assert first.sketch().to_bytes() == whole.sketch().to_bytes() and torch.equal(first.compute(), value)

    again = pickle.loads(pickle.dumps(whole))
    assert torch.equal(again.compute(), value)
    assert not LogitSmoothedECE(sigma=0.1).state_dict()
    whole.persistent(True)
    loaded = LogitSmoothedECE(sigma=0.1)
    loaded.persistent(True)
    loaded.load_state_dict(whole.state_dict())
    assert torch.equal(loaded.compute(), value)
    assert torch.equal(whole.to("cpu").half().set_dtype(torch.float16).compute(), value)
    with torch.inference_mode():
        again.reset()
    again.update(preds, target)
    assert torch.equal(again.compute(), value)
    with pytest.raises(ValueError, match="states must be those of metrics with the same options"):
        other = LogitSmoothedECE(sigma=0.1, ties="any")
        other.merge_state(whole)
        other.compute()


def test_a_collection_shares_states_of_the_same_rows_only() -> None:
    preds, target = rows("classes")
    options = {"resolution": 10, "multiclass": "top_class"}
    metrics = MetricCollection(
        {
            "fine": LogitSmoothedECE(sigma=0.1, **options),
            "coarse": LogitSmoothedECE(sigma=1.0, **options),
            "ties": LogitSmoothedECE(sigma=0.1, ties="any", **options),
        }
    )
    metrics.update(preds[:100], target[:100])
    assert sorted(map(sorted, metrics.compute_groups.values())) == [["coarse", "fine"], ["ties"]]
    metrics.update(preds[100:], target[100:])
    for name, value in metrics.compute().items():
        alone = LogitSmoothedECE(**{**options, "sigma": 1.0 if name == "coarse" else 0.1})
        alone.update(preds, target)
        assert torch.equal(value, alone.compute())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_gradients_and_half_precision(dtype: Any) -> None:
    preds, target = rows("raw scores")
    preds = preds.to(dtype).requires_grad_()
    metric, double = LogitSmoothedECE(sigma=0.5, from_logits=True), LogitSmoothedECE(sigma=0.5, from_logits=True)
    metric.update(preds, target.bool())
    double.update(preds.double(), target)
    assert torch.equal(metric.words, double.words)


def test_what_is_wrong_is_refused_as_by_the_functions() -> None:
    metric = LogitSmoothedECE(sigma=0.1)
    good = (torch.tensor([0.2, 0.7]), torch.tensor([0, 1]))
    metric.update(*good)
    before = metric.words.clone()
    cases = [
        (torch.tensor([0.2, float("nan")]), torch.tensor([0, 1])),
        (torch.tensor([0.2, 1.7]), torch.tensor([0, 1])),
        (torch.tensor([0.2, 0.7]), torch.tensor([0, 3])),
        (torch.tensor([0.2]), torch.tensor([0, 1])),
        (torch.zeros(2, 2, 2), torch.tensor([0, 1])),
    ]
    for preds, target in cases:
        with pytest.raises(calipers.CalipersError) as expected:
            calipers.ls_ece(target.numpy(), preds.numpy(), sigma=0.1)
        with pytest.raises(calipers.CalipersError) as refused:
            metric.update(preds, target)
        assert str(refused.value) == str(expected.value)
        assert torch.equal(metric.words, before)
    with pytest.raises(TypeError, match="preds and target must be tensors, got list"):
        metric.update([0.5], [1])
    empty = LogitSmoothedECE(sigma=0.1)
    empty.update(torch.zeros(0), torch.zeros(0))
    with pytest.raises(calipers.CalipersError) as none:
        empty.compute()
    assert none.value.code == "no_rows"
    mixed = LogitSmoothedECE(sigma=0.1, from_logits=True)
    mixed.update(torch.zeros(2), torch.tensor([0, 1]))
    mixed.update(torch.zeros(2, 3), torch.tensor([0, 1]))
    with pytest.raises(calipers.CalipersError, match="must have the same kind of scores"):
        mixed.compute()


def test_the_docstring_is_run() -> None:
    failed, tried = doctest.testmod(importlib.import_module("calipers.torch._metric"), optionflags=doctest.ELLIPSIS)
    assert (failed, tried > 5) == (0, True)


def test_the_page_is_run() -> None:
    subprocess.run([sys.executable, "scripts/check_docs.py", "docs/torch.md"], cwd=ROOT, check=True)


def test_importing_calipers_imports_no_torch() -> None:
    code = "import sys, calipers; assert not {'torch', 'torchmetrics'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
