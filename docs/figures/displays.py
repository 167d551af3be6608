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


def digits(*models: str) -> tuple[Any, list[Any]]:
    """Labels, and the probabilities of all classes of each model."""
    probabilities = []
    for model in models:
        with np.load(EXAMPLES / f"digits_{model}.npz") as file:
            labels = file["labels"]
            if "probs" in file:
                probabilities.append(file["probs"])
            else:
                # The largest logit is 0.
                exponentials = np.exp(file["logits"].astype(float))
                probabilities.append(exponentials / exponentials.sum(axis=1, keepdims=True))
    return labels, probabilities


def malignant(*models: str) -> tuple[Any, dict[str, Any]]:
    """Labels, and the probabilities of each model by its name."""
    rows = np.genfromtxt(EXAMPLES / "breast_cancer.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    names = {
        "naive_bayes": "Naive Bayes",
        "logistic_regression": "Logistic regression",
        "random_forest": "Random forest",
    }
    return rows["label"], {names[model]: rows[model] for model in models}


def guide() -> tuple[Any, dict[str, Any]]:
    """Outcomes and the two models of docs/guide/compare.md."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0.5, 1.5, 5_000)
    y_true = rng.random(5_000) < 1 / (1 + np.exp(-0.6 * logits))
    return y_true, {"sure": 1 / (1 + np.exp(-logits)), "tempered": 1 / (1 + np.exp(-0.6 * logits))}


def save(display: Any, path: Path) -> None:
    # Without the version of matplotlib, which would make another file of the same picture.
    display.figure_.savefig(path, dpi=110, metadata={"Software": None})


def late() -> dict[str, Any]:
    """The two estimators of docs/guide/sklearn.md."""
    from calipers.sklearn import predictions
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = make_classification(3_000, n_informative=4, n_redundant=6, class_sep=0.6, random_state=1)
    models = {"naive Bayes": GaussianNB(), "logistic regression": make_pipeline(StandardScaler(), LogisticRegression())}
    return {name: predictions(model, X, y) for name, model in models.items()}


def main(folder: Path = HERE) -> None:
    """Write the pictures, next to this file unless told otherwise."""
    models = ("logistic_regression", "random_forest", "mlp")
    labels, probabilities = digits(*models)
    names = ("Logistic regression", "Random forest", "Neural network")
    several = dict(zip(names, probabilities, strict=True))
    save(cal.ReliabilityDisplay.from_models(labels, several), folder / "reliability.png")
    save(cal.CumulativeDisplay.from_models(*malignant("naive_bayes", "random_forest")), folder / "cumulative.png")

    y_true, two = malignant("naive_bayes", "logistic_regression")
    save(cal.SweepDisplay.from_predictions(y_true, two["Naive Bayes"], name="Naive Bayes"), folder / "sweep.png")
    save(cal.ReliabilityDisplay.from_models(y_true, two), folder / "quickstart.png")

    save(cal.ReliabilityDisplay.from_models(*guide()), folder / "guide.png")
    save(cal.ReliabilityDisplay.from_models(late()), folder / "sklearn.png")


if __name__ == "__main__":
    main()
