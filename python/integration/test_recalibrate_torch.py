"""calipers.torch.Recalibrated: a fitted map as a module, in single precision, exported and scripted."""

from __future__ import annotations

import doctest
import importlib
from typing import Any

import calipers as cal
import numpy as np
import pytest
import torch
from calipers.torch import Recalibrated

RNG = np.random.default_rng(5)
SCORES = RNG.normal(0, 3, (800, 4))
LABELS = (SCORES / 2 + RNG.gumbel(0, 1, SCORES.shape)).argmax(axis=1)
H = RNG.normal(0, 3, 800)
Y = (RNG.random(800) < 1 / (1 + np.exp(-(0.5 * H + 0.4)))).astype(int)


def fitted() -> dict[str, cal.Recalibrator]:
    """A map of each method that is a formula."""
    found = {}
    for each in cal.recalibration_methods():
        for kind, (y, scores) in {"binary": (Y, H), "classes": (LABELS, SCORES)}.items():
            try:
                found[f"{each.name}, {kind}"] = cal.recalibrate(y, scores, method=each.name, from_logits=True)
            except cal.CalipersError:
                continue
    return found


FITTED = fitted()
FORMULAS = {name: each for name, each in FITTED.items() if each._map().numbers() is not None}


@pytest.mark.parametrize("name", FORMULAS)
def test_it_is_the_map(name: str) -> None:
    recalibrator = FORMULAS[name]
    scores = H if name.endswith("binary") else SCORES
    module = Recalibrated(recalibrator)
    single = module(torch.from_numpy(scores).float())
    assert single.dtype == torch.float32 and single.shape == scores.shape
    np.testing.assert_allclose(single.numpy(), recalibrator.predict_proba(scores), atol=3e-6)
    double = module.double()(torch.from_numpy(scores))
    np.testing.assert_allclose(double.numpy(), recalibrator.predict_proba(scores), atol=1e-7)


@pytest.mark.parametrize("name", FORMULAS)
def test_it_can_be_exported_and_scripted(name: str) -> None:
    module = Recalibrated(FORMULAS[name])
    scores = torch.from_numpy(H if name.endswith("binary") else SCORES).float()
    expected = module(scores)
    exported = torch.export.export(module, (scores,)).module()
    torch.testing.assert_close(exported(scores), expected)
    scripted: Any = torch.jit.script(module)
    torch.testing.assert_close(scripted(scores), expected)


def test_its_numbers_are_buffers() -> None:
    module = Recalibrated(FORMULAS["platt, binary"])
    assert list(module.parameters()) == [] and {"a", "b", "c", "mixture"} <= set(module.state_dict())
    other = Recalibrated(FORMULAS["beta, binary"])
    other.load_state_dict(module.state_dict())
    scores = torch.linspace(-5, 5, 11)
    torch.testing.assert_close(other(scores), module(scores))
    assert repr(module) == "Recalibrated(binary outcome)"


def test_it_is_the_last_layer_of_a_model_with_gradients() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), Recalibrated(FORMULAS["temperature, classes"]))
    x = torch.randn(5, 7, 3)
    p = model(x)
    assert p.shape == (5, 7, 4)
    torch.testing.assert_close(p.sum(dim=-1), torch.ones(5, 7))
    p[..., 0].sum().backward()
    assert model[0].weight.grad is not None and bool(torch.isfinite(model[0].weight.grad).all())


def test_far_scores_are_finite() -> None:
    for name, recalibrator in FORMULAS.items():
        scores = torch.tensor([-1e4, -100.0, 0.0, 100.0, 1e4])
        rows = scores if name.endswith("binary") else scores[:, None] * torch.tensor([1.0, 0.0, -1.0, 0.5])
        assert bool(torch.isfinite(Recalibrated(recalibrator)(rows)).all()), name


def test_tables_are_an_error() -> None:
    tables = [name for name in FITTED if name not in FORMULAS]
    assert "isotonic, binary" in tables
    with pytest.raises(ValueError, match="recalibrator must be a formula and not a table, got 'isotonic'"):
        Recalibrated(FITTED["isotonic, binary"])
    with pytest.raises(cal.CalipersError, match="must be fitted first"):
        Recalibrated(cal.Recalibrator("platt"))


def test_examples_run() -> None:
    failed, tried = doctest.testmod(importlib.import_module("calipers.torch._recalibrated"))
    assert failed == 0 and tried > 5
