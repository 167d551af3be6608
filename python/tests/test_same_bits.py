"""Every measure on every kind of input gives the bits that it gave before: fixtures/values.json.

To write the table anew after a change that is meant to move a value:
CALIPERS_UPDATE=1 pytest python/tests/test_same_bits.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import calipers as cal
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "fixtures" / "values.json"
KEPT: dict[str, Any] = json.loads(TABLE.read_text())
DRAWS: dict[str, Any] = {"n_resamples": 20, "random_state": 7}


def tumours() -> tuple[np.ndarray, np.ndarray]:
    """The first rows of an example: outcomes, and probabilities of a model."""
    table = np.genfromtxt(ROOT / "examples" / "breast_cancer.csv", delimiter=",", names=True, max_rows=160)
    return table["label"].astype(int), table["logistic_regression"].astype(float)


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Rows of ten classes."""
    with np.load(ROOT / "examples" / "digits_random_forest.npz") as arrays:
        return arrays["labels"][:60].astype(int), arrays["probs"][:60].astype(float)


Y, P = tumours()
K, Q = digits()
Q = Q[:, :3] + 0.01
Q /= Q.sum(axis=1, keepdims=True)
K = np.minimum(K, 2)
# Kept with the values: logarithms and powers of numpy differ in their last bit from one processor
# to another.
INPUTS = {name: np.array([float.fromhex(each) for each in given]) for name, given in KEPT["inputs"].items()}

KINDS: dict[str, tuple[tuple[np.ndarray, np.ndarray], dict[str, Any]]] = {
    "rows": ((Y, P), {}),
    "float32": ((Y, P.astype(np.float32)), {}),
    "weights": ((Y, P), {"sample_weight": 1.0 + np.arange(len(P)) % 3}),
    "logits": ((Y, INPUTS["logits"]), {"from_logits": True}),
    "classwise": ((K, Q), {"multiclass": "classwise"}),
    "top class": ((K, Q), {"multiclass": "top_class"}),
    "clusters": ((Y, P), {"cluster": np.arange(len(P)) // 4}),
}


def bits(found: cal.Assessment) -> dict[str, Any]:
    """All numbers of an assessment, without loss."""
    floor = found.floor
    numbers = {
        "value": float(found.estimate),
        "bound": found.estimate.numerical_bound,
        "floor": floor and floor.mean,
        "spread": floor and floor.deviation,
        "p_value": floor and floor.p_value,
        "low": found.interval.lower,
        "high": found.interval.upper,
        "debiased": found.debiased,
        "standard_error": found.standard_error,
    }
    return {name: None if number is None else float(number).hex() for name, number in numbers.items()}


def estimate_only(measure: str, rows: tuple[np.ndarray, np.ndarray], options: dict[str, Any]) -> dict[str, Any]:
    """For measures of which nothing more is known: the value and its bound."""
    options = {name: value for name, value in options.items() if name != "cluster"}
    if measure in COX:
        fit = cal.cox_calibration(*rows, **options)
        value, bound = getattr(fit, COX[measure]), getattr(fit, f"{COX[measure]}_bound")
    else:
        found = getattr(cal, measure)(*rows, **options)
        value, bound = float(found), found.numerical_bound
    return {"value": float(value).hex(), "bound": float(bound).hex()}


COX = {
    "calibration_in_the_large": "in_the_large",
    "calibration_slope": "slope",
    "calibration_intercept": "intercept",
}


def values_of(measure: str, kind: str) -> dict[str, Any] | str:
    """The row of the table, or that there is none."""
    rows, options = KINDS[kind]
    try:
        return bits(cal.assess(*rows, measure=measure, **DRAWS, **options))
    except cal.CalipersError as error:
        if "larger value is worse" not in str(error):
            return "refused"
    try:
        return estimate_only(measure, rows, options)
    except (cal.CalipersError, TypeError):
        return "refused"


def of_sketch() -> dict[str, Any]:
    """What a sketch answers."""
    sketch = cal.Sketch().update(Y, P)
    names = ["ls_ece", "residual_ls_ece", "expected_calibration_error", "ecce_r", "ecce_mad", "brier_score", "log_loss"]
    found = {name: getattr(sketch, name)() for name in names}
    found |= {norm: sketch.expected_calibration_error(norm=norm) for norm in ("l2", "max")}
    values = {name: {"value": float(each).hex(), "bound": each.numerical_bound.hex()} for name, each in found.items()}
    return values | {f"assess {name}": bits(sketch.assess(measure=name, **DRAWS)) for name in names[:3]}


def of_pairs() -> dict[str, Any]:
    """How two models differ."""
    models = {"a": P, "b": INPUTS["powers"]}

    def numbers(measure: str) -> dict[str, str]:
        pair = cal.compare(Y, models, measure=measure, **DRAWS).pairs[0]
        found = {
            "difference": pair.difference,
            "low": pair.interval.lower,
            "high": pair.interval.upper,
            "p": pair.p_value,
        }
        return {name: float(number).hex() for name, number in found.items()}

    return {measure: numbers(measure) for measure in ("ls_ece", "expected_calibration_error", "brier_score", "ecce_r")}


def made() -> dict[str, Any]:
    """The whole table."""
    names = [each.name for each in cal.measures()]
    table: dict[str, Any] = {kind: {name: values_of(name, kind) for name in names} for kind in KINDS}
    return table | {"sketch": of_sketch(), "compare": of_pairs()}


def test_no_value_moves() -> None:
    table = made()
    if os.environ.get("CALIPERS_UPDATE"):
        TABLE.write_text(json.dumps({"inputs": KEPT["inputs"], **table}, indent=1) + "\n")
    kept = json.loads(TABLE.read_text())
    assert list(kept) == ["inputs", *table]
    for kind, rows in table.items():
        assert list(rows) == list(kept[kind])
        for measure, values in rows.items():
            assert values == kept[kind][measure], f"{measure}, {kind}"


@pytest.mark.parametrize("kind", KINDS)
def test_most_measures_answer(kind: str) -> None:
    assert sum(values != "refused" for values in KEPT[kind].values()) >= 28, kind
