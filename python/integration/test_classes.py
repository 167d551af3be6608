"""Labels and probabilities as people hold them: text, one-hot rows, columns of lists, sparse and nullable columns."""

from __future__ import annotations

from typing import Any

import calipers as cal
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from calipers.torch import LogitSmoothedECE
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelBinarizer, OneHotEncoder

RNG = np.random.default_rng(7)
N = 150
ROWS = RNG.dirichlet([1.0, 2.0, 3.0], N)
LABELS = RNG.integers(0, 3, N)
NAMES = ["fox", "cat", "owl"]
TEXT = np.array(NAMES)[LABELS]
P = RNG.integers(1, 256, N) / 256
Y = (RNG.random(N) < P).astype(np.int64)
EXPECTED = float(cal.ls_ece(LABELS, ROWS, sigma=0.2))
MISSING = ' in row 17 is missing; correct it, or pass invalid="count" to leave such rows out$'
ONE_HOT = np.eye(3, dtype=np.int64)[LABELS]

TEXTS = {
    "numpy str": TEXT,
    "pandas str": pd.Series(TEXT),
    "pandas object": pd.Series(TEXT, dtype=object),
    "pandas string": pd.Series(TEXT, dtype="string"),
    "pandas Categorical": pd.Categorical(TEXT),
    "pandas ordered categories": pd.Series(pd.Categorical(TEXT, categories=NAMES, ordered=True)),
    "pandas of pyarrow": pd.Series(TEXT, dtype="string[pyarrow]"),
    "pandas frame": pd.DataFrame({"animal": TEXT}),
    "Arrow strings": pa.array(TEXT),
    "Arrow dictionary": pa.array(TEXT).dictionary_encode(),
    "Arrow chunks": pa.chunked_array([TEXT[:9], TEXT[9:]]),
    "polars": pl.Series(TEXT),
    "polars Categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "polars Enum": pl.Series(TEXT, dtype=pl.Enum(NAMES)),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_text_of_every_kind_has_classes(kind: str) -> None:
    found = cal.ls_ece(TEXTS[kind], ROWS, sigma=0.2, classes=NAMES)
    assert found == EXPECTED
    # Without the order of the columns it is the sorted one, as scikit-learn's.
    order = np.argsort(NAMES)
    by_default = cal.ls_ece(TEXTS[kind], ROWS[:, order], sigma=0.2)
    assert by_default == cal.ls_ece(TEXT, ROWS[:, order], sigma=0.2, classes=sorted(NAMES))
    assert by_default.settings["classes"] == sorted(NAMES)


@pytest.mark.parametrize(
    "classes", [pd.Index(NAMES), pl.Series(NAMES), pd.Series(NAMES), pd.Categorical(NAMES)], ids=type
)
def test_classes_are_a_sequence_of_any_library(classes: Any) -> None:
    assert cal.ls_ece(TEXT, ROWS, sigma=0.2, classes=classes) == EXPECTED


ONE_HOTS = {
    "torch": torch.nn.functional.one_hot(torch.tensor(LABELS)),
    "torch float32": torch.nn.functional.one_hot(torch.tensor(LABELS)).float(),
    "pandas dummies": pd.get_dummies(pd.Series(LABELS)),
    "polars dummies": pl.DataFrame({"y": LABELS}).to_dummies().select("y_0", "y_1", "y_2"),
    "LabelBinarizer": LabelBinarizer().fit_transform(LABELS),
    "sparse LabelBinarizer": LabelBinarizer(sparse_output=True).fit_transform(LABELS),
    "sparse OneHotEncoder": OneHotEncoder().fit_transform(LABELS[:, None]),
    "Arrow lists": pa.array(ONE_HOT.tolist()),
    "pandas lists": pd.Series(ONE_HOT.tolist()),
}


@pytest.mark.parametrize("kind", ONE_HOTS)
def test_one_hot_rows_of_every_kind(kind: str) -> None:
    assert cal.ls_ece(ONE_HOTS[kind], ROWS, sigma=0.2) == EXPECTED


PROBABILITIES = {
    "pandas lists": pd.Series(ROWS.tolist()),
    "pandas arrays": pd.Series(list(ROWS)),
    "pandas lists of Arrow": pd.Series(ROWS.tolist(), dtype=pd.ArrowDtype(pa.list_(pa.float64()))),
    "pandas frame of lists": pd.DataFrame({"p": ROWS.tolist()}),
    "polars lists": pl.Series(ROWS.tolist()),
    "polars arrays": pl.Series(ROWS.tolist(), dtype=pl.Array(pl.Float64, 3)),
    "csr_matrix": sparse.csr_matrix(ROWS),
    "csc_array": sparse.csc_array(ROWS),
    "pandas sparse frame": pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(ROWS)),
    "pandas Float64": pd.DataFrame(ROWS).astype("Float64"),
}


@pytest.mark.parametrize("kind", PROBABILITIES)
def test_rows_of_probabilities_of_every_kind(kind: str) -> None:
    assert cal.ls_ece(LABELS, PROBABILITIES[kind], sigma=0.2) == EXPECTED


def test_sparse_columns_of_pandas_are_read() -> None:
    expected = cal.brier_score(Y, P)
    assert cal.brier_score(pd.Series(pd.arrays.SparseArray(Y)), pd.Series(pd.arrays.SparseArray(P))) == expected
    assert cal.brier_score(pd.Series(pd.arrays.SparseArray(Y == 1)), P) == expected


def with_hole(dtype: str, values: Any) -> Any:
    column = pd.Series(values).astype(dtype)
    column[17] = pd.NA
    return column


HOLES = {
    "Int64": with_hole("Int64", Y),
    "boolean": with_hole("boolean", Y == 1),
    "Float64": with_hole("Float64", Y),
    "string": with_hole("string", np.where(Y == 1, "yes", "no")),
    "category": pd.Series(np.where(np.arange(N) == 17, None, np.where(Y == 1, "yes", "no")), dtype="category"),
    "Arrow": pa.array([None if row == 17 else bool(y) for row, y in enumerate(Y)]),
    "Arrow text": pa.array([None if row == 17 else ("no", "yes")[y] for row, y in enumerate(Y)]),
    "polars": pl.Series([None if row == 17 else int(y) for row, y in enumerate(Y)]),
}


@pytest.mark.parametrize("kind", HOLES)
def test_a_missing_label_is_told_with_its_row(kind: str) -> None:
    with pytest.raises(cal.CalipersError, match=f"^label{MISSING}"):
        cal.ls_ece(HOLES[kind], P)
    kept = np.arange(N) != 17
    counted = cal.ls_ece(HOLES[kind], P, sigma=0.2, invalid="count")
    assert counted.left_out == {"missing label": 1}
    assert counted == cal.ls_ece(Y[kept], P[kept], sigma=0.2)


def test_a_missing_probability_is_told_with_its_row() -> None:
    for column in (with_hole("Float64", P), pd.Series(P, dtype="double[pyarrow]").mask(np.arange(N) == 17)):
        with pytest.raises(cal.CalipersError, match=f"^probability{MISSING}"):
            cal.ls_ece(Y, column)
    rows = pd.Series(ROWS.tolist())
    rows[17] = None
    with pytest.raises(cal.CalipersError, match=f"^probability{MISSING}"):
        cal.ls_ece(LABELS, rows)


FRAMES = {
    "pandas": pd.DataFrame({"a": P, "b": P**2}, index=np.arange(N)[::-1]),
    "pandas Float64": pd.DataFrame({"a": P, "b": P**2}).astype("Float64"),
    "polars": pl.DataFrame({"a": P, "b": P**2}),
    "pyarrow": pa.table({"a": P, "b": P**2}),
    "dict of series": {"a": pd.Series(P), "b": pl.Series(P**2)},
}


@pytest.mark.parametrize("kind", FRAMES)
def test_the_columns_of_a_frame_are_models(kind: str) -> None:
    expected = cal.compare(Y, {"a": P, "b": P**2}, n_resamples=50).to_dict()
    assert cal.compare(Y, FRAMES[kind], n_resamples=50).to_dict() == expected


def test_a_frame_of_models_with_several_classes_has_lists() -> None:
    other = RNG.dirichlet([1.0, 1.0, 1.0], N)
    expected = cal.compare(LABELS, {"a": ROWS, "b": other}, n_resamples=50).to_dict()
    frame = pd.DataFrame({"a": ROWS.tolist(), "b": other.tolist()})
    assert cal.compare(LABELS, frame, n_resamples=50).to_dict() == expected


def test_columns_without_names_or_of_one_name_are_told() -> None:
    with pytest.raises(TypeError, match=r"^the name of a model must be text, got int$"):
        cal.compare(Y, pd.DataFrame(np.stack([P, P], axis=1)))
    with pytest.raises(TypeError, match="must have different names"):
        cal.compare(Y, pd.DataFrame(np.stack([P, P], axis=1), columns=["a", "a"]))


def test_a_classifier_of_text_classes_works_as_it_is() -> None:
    x, numbers = load_iris(return_X_y=True)
    names = load_iris().target_names
    x_train, x_test, y_train, y_test = train_test_split(x, names[numbers], random_state=0, test_size=0.5)
    model = LogisticRegression(max_iter=1000).fit(x_train, y_train)
    rows = model.predict_proba(x_test)
    coded = np.searchsorted(model.classes_, y_test)
    for classes in (None, model.classes_):
        found = cal.assess(y_test, rows, classes=classes, multiclass="classwise", n_resamples=50)
        assert found.value == cal.assess(coded, rows, multiclass="classwise", n_resamples=50).value
        assert found.per_class is not None
        assert [each.name for each in found.per_class] == model.classes_.tolist()
    table = found.per_class.to_pandas()
    assert table["class"].tolist() == model.classes_.tolist()
    assert table["n"].sum() == len(y_test)
    assert table["value"].mean() == pytest.approx(found.value, abs=2e-6)
    binary = y_test == "virginica"
    assert cal.log_loss(binary, rows[:, 2]) == pytest.approx(log_loss(binary, rows[:, 2]))


def test_a_column_of_tuples_still_tells_clusters_apart() -> None:
    pairs = pd.Series([(row % 4, row % 5) for row in range(N)])
    found = cal.assess(Y, P, cluster=pairs, n_resamples=50)
    assert found.to_dict() == cal.assess(Y, P, cluster=np.arange(N) % 20, n_resamples=50).to_dict()


def test_one_hot_targets_of_a_metric() -> None:
    metric, other = LogitSmoothedECE(sigma=0.2), LogitSmoothedECE(sigma=0.2)
    metric.update(torch.tensor(ROWS), torch.nn.functional.one_hot(torch.tensor(LABELS)))
    other.update(torch.tensor(ROWS), torch.tensor(LABELS))
    assert metric.compute() == other.compute()


def test_displays_take_text_classes_and_names() -> None:
    display = cal.ReliabilityDisplay.from_predictions(TEXT, ROWS, classes=NAMES, multiclass="owl")
    assert display.figure_ is not None
