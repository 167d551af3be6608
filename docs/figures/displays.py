"""The pictures of the displays, from the predictions in examples/.

python docs/figures/displays.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import calipers as cal
import matplotlib as mpl
import numpy as np

mpl.use("Agg")

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


def digits(model: str) -> dict[str, Any]:
    """Labels and scores of all classes, to be asked about the top one."""
    with np.load(EXAMPLES / f"digits_{model}.npz") as file:
        raw = "logits" in file
        scores = file["logits" if raw else "probs"]
        return {"y_true": file["labels"], "y_prob": scores, "from_logits": raw, "multiclass": "top_class"}


def malignant(model: str) -> tuple[Any, Any]:
    """Labels and probabilities."""
    rows = np.genfromtxt(EXAMPLES / "breast_cancer.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    return rows["label"], rows[model]


def guide() -> tuple[Any, Any, Any]:
    """Outcomes and the two models of docs/guide.md."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0.5, 1.5, 5_000)
    y_true = rng.random(5_000) < 1 / (1 + np.exp(-0.6 * logits))
    return y_true, 1 / (1 + np.exp(-logits)), 1 / (1 + np.exp(-0.6 * logits))


def save(display: Any, path: Path) -> None:
    # Without the version of matplotlib, which would make another file of the same picture.
    display.figure_.savefig(path, dpi=110, metadata={"Software": None})


def main(folder: Path = HERE) -> None:
    """Write the pictures, next to this file unless told otherwise."""
    display = cal.ReliabilityDisplay.from_predictions(**digits("logistic_regression"), name="Logistic regression")
    cal.ReliabilityDisplay.from_predictions(**digits("random_forest"), name="Random forest", ax=display.ax_)
    save(display, folder / "reliability.png")

    save(cal.SweepDisplay.from_predictions(*malignant("naive_bayes"), name="Naive Bayes"), folder / "sweep.png")

    display = cal.ReliabilityDisplay.from_predictions(*malignant("naive_bayes"), name="Naive Bayes")
    cal.ReliabilityDisplay.from_predictions(
        *malignant("logistic_regression"), name="Logistic regression", ax=display.ax_
    )
    save(display, folder / "quickstart.png")

    y_true, sure, tempered = guide()
    display = cal.ReliabilityDisplay.from_predictions(y_true, sure, name="sure")
    cal.ReliabilityDisplay.from_predictions(y_true, tempered, name="tempered", ax=display.ax_)
    save(display, folder / "guide.png")

    display = cal.CumulativeDisplay.from_predictions(**digits("logistic_regression"), name="Logistic regression")
    cal.CumulativeDisplay.from_predictions(**digits("mlp"), name="Neural network", ax=display.ax_)
    save(display, folder / "cumulative.png")


if __name__ == "__main__":
    main()
