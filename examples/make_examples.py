"""Make the prediction files of this folder from the data that scikit-learn bundles.

Four classifiers, two data sets. Every row is predicted by a model that has not seen
it: stratified 5-fold cross-validation, with a fixed seed. Run from anywhere:

    pip install -r examples/requirements.txt
    python examples/make_examples.py            # write the files
    python examples/make_examples.py --check    # compare them with a fresh run

A second run on one machine gives the same bytes. Another machine's BLAS may differ in
the last digits, so `--check` also accepts floats that agree to 1e-6 (relative, or
absolute below 1).
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).resolve().parent
SEED = 0
N_FOLDS = 5
TOLERANCE = 1e-6

Array = np.ndarray[Any, np.dtype[Any]]


def classifiers() -> dict[str, Any]:
    """Fresh models. Newton's method, for where it stops does not depend on rounding."""
    return {
        "logistic_regression": make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky", tol=1e-8)),
        "naive_bayes": GaussianNB(),
        "random_forest": RandomForestClassifier(n_estimators=100, random_state=SEED),
        "mlp": make_pipeline(
            StandardScaler(),
            MLPClassifier(hidden_layer_sizes=(32,), max_iter=1000, random_state=SEED),
        ),
    }


def out_of_fold(model: Any, x: Array, y: Array, predict: Callable[[Any, Array], Array]) -> Array:
    """`predict(model, rows)` for every row, by a model fitted on the other folds."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED)
    result = np.full((len(y), len(np.unique(y))), np.nan)
    for train, test in folds.split(x, y):
        model.fit(x[train], y[train])
        result[test] = predict(model, x[test])
    assert not np.isnan(result).any(), "a row was left without a prediction"
    return result


def probabilities(model: Any, x: Array) -> Array:
    return np.asarray(model.predict_proba(x))


def logits(model: Any, x: Array) -> Array:
    """Raw scores whose softmax is `predict_proba`, exact to float32 where it matters.

    The largest score of a row is moved to 0, which softmax does not see: naive Bayes
    has log likelihoods beyond -1e6, where float32 cannot tell close classes apart.
    """
    last = model[-1] if hasattr(model, "steps") else model
    if isinstance(last, MLPClassifier):
        scores = _before_softmax(last, model[:-1].transform(x))
    elif isinstance(last, GaussianNB):
        scores = model.predict_joint_log_proba(x)
    else:
        scores = model.decision_function(x)
    scores = (scores - scores.max(axis=1, keepdims=True)).astype(np.float32)
    assert np.allclose(softmax(scores.astype(float), axis=1), probabilities(model, x), atol=2e-6), (
        f"softmax of the scores of {last} is not its predict_proba"
    )
    return np.asarray(scores)


def _before_softmax(mlp: MLPClassifier, x: Array) -> Array:
    assert mlp.activation == "relu" and mlp.out_activation_ == "softmax"
    *hidden, (weights, bias) = zip(mlp.coefs_, mlp.intercepts_, strict=True)
    for w, b in hidden:
        x = np.maximum(x @ w + b, 0)
    return np.asarray(x @ weights + bias)


def write_breast_cancer(folder: Path) -> None:
    data = load_breast_cancer()
    malignant = 1 - data.target  # scikit-learn codes malignant as 0
    assert data.target_names[0] == "malignant" and malignant.sum() == 212
    radius = data.data[:, list(data.feature_names).index("mean radius")]
    tertile = np.searchsorted(np.quantile(radius, [1 / 3, 2 / 3]), radius)

    columns: dict[str, list[str]] = {"label": [str(y) for y in malignant]}
    for name, model in classifiers().items():
        p = out_of_fold(model, data.data, malignant, probabilities)[:, 1]
        columns[name] = [repr(float(v)) for v in p]  # repr: reads back to the same bits
    columns["size_group"] = [("small", "medium", "large")[t] for t in tertile]
    with open(folder / "breast_cancer.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def write_digits(folder: Path) -> None:
    data = load_digits()
    labels = data.target.astype(np.int64)
    for name, model in classifiers().items():
        arrays: dict[str, Any]
        if name == "random_forest":  # votes: probabilities are all that it has
            arrays = {"probs": out_of_fold(model, data.data, labels, probabilities)}
        else:
            scores = out_of_fold(model, data.data, labels, logits)
            arrays = {"logits": scores.astype(np.float32)}
        # numpy stamps the members of the archive with 1980, so the bytes do not change.
        np.savez_compressed(folder / f"digits_{name}.npz", **arrays, labels=labels)


def make(folder: Path) -> list[str]:
    with threadpool_limits(1):  # the order of a sum must not depend on the cores
        write_breast_cancer(folder)
        write_digits(folder)
    return sorted(path.name for path in folder.iterdir() if path.suffix in (".csv", ".npz"))


def read(path: Path) -> dict[str, Array]:
    if path.suffix == ".npz":
        with np.load(path) as file:
            return {name: file[name] for name in file.files}
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    columns = {name: list(values) for name, *values in zip(*rows, strict=True)}
    numbers = set(classifiers())
    return {k: np.array(v, dtype=float if k in numbers else str) for k, v in columns.items()}


def difference(ours: Path, fresh: Path) -> str | None:
    """What differs by more than the tolerance, or None."""
    a, b = read(ours), read(fresh)
    if list(a) != list(b):
        return f"holds {list(a)}, not {list(b)}"
    for name in a:
        if a[name].shape != b[name].shape or a[name].dtype != b[name].dtype:
            return f"{name}: another shape or type"
        if a[name].dtype.kind == "f":
            gap = np.abs(a[name] - b[name]) / np.maximum(1, np.abs(b[name]))
            if not gap.max() <= TOLERANCE:
                return f"{name}: {gap.max():.1e} apart"
        elif (a[name] != b[name]).any():
            return f"{name}: other values"
    return None


def check() -> int:
    n_wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in make(Path(folder)):
            ours, fresh = FOLDER / name, Path(folder) / name
            if ours.exists() and ours.read_bytes() == fresh.read_bytes():
                print(f"{name}: same bytes")
                continue
            wrong = difference(ours, fresh) if ours.exists() else "missing"
            n_wrong += wrong is not None
            print(f"{name}: {wrong or f'same to {TOLERANCE:g}'}")
    return 1 if n_wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    if parser.parse_args().check:
        return check()
    for name in make(FOLDER):
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
