"""One-hot rows, text and other labels with `classes` give the bits of labels from 0 to k - 1, or a clear error."""

from __future__ import annotations

import json
from typing import Any

import calipers as cal
import numpy as np
import pytest
from cases import LEAVE_OUT
from every_function import FUNCTIONS, OF_CLASSES, P, Y, bits, required

RNG = np.random.default_rng(20261117)
N = 200
ROWS = RNG.dirichlet([1.0, 2.0, 3.0], N)
LABELS = RNG.integers(0, 3, N)
# Not in the order of the alphabet.
NAMES = ["fox", "cat", "owl"]
TEXT = np.array(NAMES)[LABELS]
TWO = np.stack([1 - P, P], axis=1)


def same(found: Any, expected: Any) -> bool:
    """Whether two results are equal in all but the names of classes."""
    return bool(bits(_unnamed(found.to_dict())) == bits(_unnamed(expected.to_dict())))


def _unnamed(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _unnamed(value) for name, value in found.items() if name not in ("classes", "class_name", "name")}
    return [_unnamed(value) for value in found] if isinstance(found, list) else found


def error(*args: Any, **options: Any) -> tuple[str, str]:
    """Code and text of the error."""
    with pytest.raises(cal.CalipersError) as refused:
        cal.ls_ece(*args, **options)
    return refused.value.code, str(refused.value)


KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "one-hot": (np.eye(3, dtype=np.int64)[LABELS], {}),
    "one-hot bool": (np.eye(3, dtype=bool)[LABELS], {}),
    "one-hot float32": (np.eye(3, dtype=np.float32)[LABELS], {}),
    "one-hot lists": (np.eye(3)[LABELS].tolist(), {}),
    "one-hot objects": (np.eye(3, dtype=np.int64)[LABELS].astype(object), {}),
    "one-hot, Fortran": (np.asfortranarray(np.eye(3)[LABELS]), {}),
    "one-hot with names": (np.eye(3)[LABELS], {"classes": NAMES}),
    "text": (TEXT, {"classes": NAMES}),
    "text objects": (TEXT.astype(object), {"classes": tuple(NAMES)}),
    "text list": (TEXT.tolist(), {"classes": np.array(NAMES)}),
    "text column": (TEXT[:, None], {"classes": NAMES}),
    "1 to k": (LABELS + 1, {"classes": range(1, 4)}),
    "1 to k as floats": (LABELS + 1.0, {"classes": [1, 2, 3]}),
    "1 to k as text": ((LABELS + 1).astype(str), {"classes": [1, 2, 3]}),
    "gaps": (np.array([40, -5, 7])[LABELS], {"classes": [40, -5, 7]}),
    "gaps, unsigned": (np.array([200, 3, 7], dtype=np.uint8)[LABELS], {"classes": [200, 3, 7]}),
    "fractions": (np.array([0.5, 2.5, 1.5])[LABELS], {"classes": [0.5, 2.5, 1.5]}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_classes_of_any_kind_give_the_same_bits(kind: str) -> None:
    labels, options = KINDS[kind]
    for multiclass in (None, "classwise", 1):
        found = cal.ls_ece(labels, ROWS, sigma=0.2, multiclass=multiclass, **options)
        assert same(found, cal.ls_ece(LABELS, ROWS, sigma=0.2, multiclass=multiclass))


def test_text_without_classes_has_the_sorted_order_of_scikit_learn() -> None:
    names, numbers = np.unique(TEXT, return_inverse=True)
    found = cal.expected_calibration_error(TEXT, ROWS)
    assert same(found, cal.expected_calibration_error(numbers, ROWS))
    assert found.settings["classes"] == names.tolist() == ["cat", "fox", "owl"]
    assert cal.Predictions(TEXT, ROWS).classes == names.tolist()
    assert cal.Predictions(LABELS, ROWS).classes is None


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("compare", "report")])
@pytest.mark.parametrize("kind", ["one-hot", "text"])
def test_every_function_takes_one_hot_rows_and_text(name: str, kind: str) -> None:
    options = required(name)
    if name == "assess":
        options["n_resamples"] = 50
    function = getattr(cal, name)
    labels = np.eye(2)[Y] if kind == "one-hot" else np.where(Y == 1, "sick", "healthy")
    found, expected = function(labels, TWO, **options), function(Y, TWO, **options)
    if hasattr(expected, "to_dict"):
        assert same(found, expected)
    else:
        assert bits(found) == bits(expected)


def test_compare_report_and_sketch_take_text() -> None:
    labels, names = np.where(Y == 1, "sick", "healthy"), ["healthy", "sick"]
    models = {"a": TWO, "b": np.stack([1 - P**2, P**2], axis=1)}
    found = cal.compare(labels, models, n_resamples=50)
    assert same(found, cal.compare(Y, models, n_resamples=50))
    assert cal.Sketch().update(labels, TWO, classes=names) == cal.Sketch().update(Y, TWO)
    assert cal.Sketch().update(np.eye(2)[Y], TWO) == cal.Sketch().update(Y, TWO)
    page = cal.report(TEXT, ROWS, classes=NAMES, n_resamples=50)
    for name in NAMES:
        assert f'data-value="{name}"' in page.html
    one = cal.report(TEXT, ROWS, classes=NAMES, multiclass="owl", n_resamples=50)
    assert "class owl against the rest" in one.html


@pytest.mark.parametrize(
    "labels",
    [
        np.where(Y == 1, "yes", "no"),
        np.where(Y == 1, "Yes", "No"),
        np.where(Y == 1, "TRUE", "FALSE").tolist(),
        np.where(Y == 1, "1", "0"),
        np.where(Y == 1, "positive", "negative").astype(object),
        np.where(Y == 1, " yes", "no "),
    ],
    ids=lambda labels: str(labels[0]),
)
def test_words_that_tell_the_outcome_need_no_pos_label(labels: Any) -> None:
    assert same(cal.ls_ece(labels, P, sigma=0.2), cal.ls_ece(Y, P, sigma=0.2))


@pytest.mark.parametrize("words", [("healthy", "sick"), ("f", "m"), ("no", "maybe"), ("yes", "true"), ("b", "a")])
def test_words_that_do_not_tell_need_pos_label(words: tuple[str, str]) -> None:
    labels = np.where(Y == 1, words[1], words[0])
    code, text = error(labels, P)
    assert code == "invalid_outcome"
    seen = ", ".join(f'"{word}"' for word in dict.fromkeys(labels))
    expected = f'label in row 0 must be 0 or 1, got "{labels[0]}"; the labels are {seen}; '
    assert text == expected + "pass the positive label as pos_label"
    assert cal.ls_ece(labels, P, pos_label=words[1]) == cal.ls_ece(labels, P, classes=words) == cal.ls_ece(Y, P)


def test_words_are_read_where_there_is_only_one_of_them() -> None:
    assert cal.brier_score(["no", "no"], [0.5, 0.5]) == cal.brier_score([0, 0], [0.5, 0.5])
    assert cal.brier_score(["yes"], [[0.4, 0.6]]) == cal.brier_score([1], [[0.4, 0.6]])
    assert cal.Sketch().update(["Yes"], [[0.4, 0.6]]) == cal.Sketch().update([1], [[0.4, 0.6]])
    assert error(["sick"], [[0.4, 0.6]])[0] == "invalid_setting"


def test_a_class_may_have_an_empty_name() -> None:
    rule = 'label in row 1 must be "" or "a", got "b"'
    assert error(["", "b"], [0.5, 0.5], classes=["", "a"]) == ("unknown_label", rule)


def test_bools_are_the_classes_0_and_1() -> None:
    expected = cal.ls_ece(Y, P)
    assert cal.ls_ece(Y == 1, P, classes=[0, 1]) == cal.ls_ece(Y, P, classes=[False, True]) == expected
    assert cal.ls_ece(Y == 1, P, classes=["False", "True"]) == expected
    assert cal.ls_ece(Y == 1, 1 - P, classes=[True, False]) == cal.ls_ece(Y == 0, 1 - P)


def test_a_class_is_asked_for_by_its_name() -> None:
    options: dict[str, Any] = {"sigma": 0.2, "classes": NAMES}
    by_name = cal.ls_ece(TEXT, ROWS, multiclass="owl", **options)
    assert same(by_name, cal.ls_ece(LABELS, ROWS, sigma=0.2, multiclass=2))
    assert by_name.settings["class_name"] == "owl"
    assert "class_name='owl'" in repr(by_name)
    each = cal.ls_ece(TEXT, ROWS, multiclass="classwise", **options).per_class or ()
    assert [found.settings["class_name"] for found in each] == NAMES
    tops = cal.top_label_calibration_error(TEXT, ROWS, classes=NAMES).per_class or ()
    assert [found.settings["class_name"] for found in tops] == [NAMES[found.settings["class"]] for found in tops]
    assert error(TEXT, ROWS, multiclass="bee", **options)[0] == "invalid_setting"


def test_the_names_are_among_the_settings() -> None:
    found = cal.ls_ece(LABELS + 1, ROWS, classes=[1, 2, 3], sigma=0.2)
    assert found.settings["classes"] == ["1", "2", "3"]
    assert cal.ls_ece(LABELS, ROWS, sigma=0.2).settings["classes"] is None
    assert json.loads(json.dumps(found.to_dict()))["settings"]["classes"] == ["1", "2", "3"]


def test_functions_of_all_classes_have_the_keyword() -> None:
    for name in OF_CLASSES:
        options = {"bandwidth": 0.1} if name == "canonical_kde_ece" else {}
        function = getattr(cal, name)
        assert same(function(TEXT, ROWS, classes=NAMES, **options), function(LABELS, ROWS, **options))


# What is missing or invalid.


def test_missing_labels_are_no_class() -> None:
    text = TEXT.astype(object)
    text[17] = None
    assert error(text, ROWS) == ("missing", "label in row 17 is missing" + LEAVE_OUT)
    assert cal.ls_ece(text, ROWS, invalid="count").left_out == {"missing label": 1}
    numbers = (LABELS + 1).astype(float)
    numbers[3] = np.nan
    assert error(numbers, ROWS, classes=[1, 2, 3]) == ("missing", "label in row 3 is missing" + LEAVE_OUT)
    rows = np.eye(3)[LABELS]
    rows[5, 1] = np.nan
    assert error(rows, ROWS) == ("missing", "label in row 5 is missing" + LEAVE_OUT)
    assert error([None, None], ROWS[:2]) == ("missing", "label in row 0 is missing" + LEAVE_OUT)


def test_a_row_that_is_not_one_hot_is_an_error_with_its_row() -> None:
    rows = np.eye(3, dtype=np.int64)[LABELS]
    rows[7] = [1, 0, 1]
    rule = "must be one-hot, a single 1 among zeros, got"
    assert error(rows, ROWS) == ("unknown_label", f"label in row 7 {rule} [1, 0, 1]")
    assert cal.ls_ece(rows, ROWS, invalid="count").left_out == {"invalid label": 1}
    rows[7] = 0
    assert error(rows, ROWS) == ("unknown_label", f"label in row 7 {rule} [0, 0, 0]")
    soft = np.eye(3)[LABELS]
    soft[2] = [0.25, 0.25, 0.5]
    assert error(soft, ROWS) == ("unknown_label", f"label in row 2 {rule} [0.25, 0.25, 0.5]")
    wide = np.zeros((2, 12))
    assert error(wide, np.full((2, 12), 1 / 12))[1] == f"label in row 0 {rule} 0 ones and 12 zeros in 12 columns"


def test_one_hot_rows_must_have_the_columns_of_the_probabilities() -> None:
    expected = "labels must have shape (n,), or (n, k) if one-hot, got"
    assert error(np.eye(2)[Y], ROWS[: len(Y)]) == (
        "shape",
        f"{expected} (120, 2) beside probabilities of shape (120, 3)",
    )
    assert error(np.eye(3)[Y], P) == ("shape", f"{expected} (120, 3) beside probabilities of shape (120,)")
    assert error([["a", "b"], ["c", "d"]], ROWS[:2]) == ("shape", f"{expected} text of shape (2, 2)")
    # Two one-hot columns are those of outcomes 0 and 1.
    assert cal.ls_ece(np.eye(2)[Y], P) == cal.ls_ece(Y, P)


def test_a_label_that_is_no_class_is_an_error_with_its_row() -> None:
    text = TEXT.copy()
    text[9] = "bee"
    code, message = error(text, ROWS, classes=NAMES)
    assert (code, message) == ("unknown_label", 'label in row 9 must be "fox", "cat" or "owl", got "bee"')
    assert cal.ls_ece(text, ROWS, classes=NAMES, invalid="count").left_out == {"invalid label": 1}
    assert error(LABELS + 1, ROWS, classes=[1, 2, 4])[1].endswith("must be 1, 2 or 4, got 3")
    many = [f"class {number}" for number in range(40)]
    rule = '"class 0", "class 1", "class 2", "class 3", "class 4", ... or "class 39"'
    assert error(["bee"], np.full((1, 40), 1 / 40), classes=many)[1] == f'label in row 0 must be {rule}, got "bee"'


def test_rows_of_batches_are_counted_from_the_first() -> None:
    sketch = cal.Sketch().update(["cat", "dog"], [0.5, 0.5], classes=["cat", "dog"])
    with pytest.raises(cal.CalipersError, match=r'^label in row 2 must be "cat" or "dog", got "owl"$'):
        sketch.update(["owl"], [0.5], classes=["cat", "dog"])


@pytest.mark.parametrize(
    ("labels", "rows", "options", "text"),
    [
        (
            ["eggs", "spam", "ham"],
            np.full((3, 4), 0.25),
            {},
            "classes must be given, in the order of the 4 columns of probabilities, where the labels do not have as "
            'many, got 3: "eggs", "ham" and "spam"',
        ),
        (
            ["a", "b"],
            np.full((2, 3), 1 / 3),
            {"classes": ["a", "b"]},
            'classes must be as many as the 3 columns of probabilities, got 2: "a" and "b"',
        ),
        (["a", "b"], [0.5, 0.5], {"classes": ["a"]}, 'classes must be as many as the two outcomes, got 1: "a"'),
        (["a", "b"], [0.5, 0.5], {"classes": ["a", "a"]}, 'classes must differ from each other, got "a" twice'),
        ([1, 2], [0.5, 0.5], {"classes": [1, 1.0]}, "classes must differ from each other, got 1 twice"),
        (
            ["a", "b"],
            [0.5, 0.5],
            {"classes": ["a", "b"], "pos_label": "b"},
            'pos_label must be left out beside classes, of which the second is outcome 1, got "b"',
        ),
        ([[0, 1], [1, 0]], [0.5, 0.5], {"pos_label": 1}, "pos_label must be left out for one-hot labels, got 1"),
        (
            [str(number) for number in range(11)],
            np.full((11, 11), 1 / 11),
            {},
            "classes must be given for numbers that are text, whose order as text is another, got "
            '"0", "1", "10", "2", "3", ... and "9"',
        ),
    ],
)
def test_classes_that_do_not_fit_are_an_error(labels: Any, rows: Any, options: dict[str, Any], text: str) -> None:
    assert error(labels, rows, **options) == ("invalid_setting", text)


@pytest.mark.parametrize(
    ("classes", "text"),
    [
        ("ab", "classes must be a sequence of labels, got str"),
        (2, "classes must be a sequence of labels, got int"),
        ({"a": 0, "b": 1}, "classes must be a sequence of labels, got dict"),
        ([["a"], ["b"]], "classes must be text or numbers, got list"),
        (["a", None], "classes must be text or numbers, got NoneType"),
    ],
)
def test_classes_of_another_type_are_a_type_error(classes: Any, text: str) -> None:
    with pytest.raises(TypeError) as refused:
        cal.ls_ece(["a", "b"], [0.5, 0.5], classes=classes)
    assert str(refused.value) == text


def test_a_batch_of_text_needs_its_classes() -> None:
    with pytest.raises(cal.CalipersError, match="classes must be given for text labels in batches"):
        cal.Sketch().update(["a", "b", "c"], np.full((3, 3), 1 / 3))


def test_models_have_the_columns_of_the_first() -> None:
    with pytest.raises(cal.CalipersError, match=r"got \(200, 4\) beside \(200, 3\) of the first model"):
        cal.compare(TEXT, {"a": ROWS, "b": np.full((N, 4), 0.25)})


# Hints.


def test_labels_from_1_to_k_are_told_of_classes() -> None:
    code, text = error([1, 2, 3], ROWS[:3])
    assert code == "labels_from_one"
    assert text.endswith("the labels count from 1: subtract 1 from each, or pass classes=range(1, 4)")
    assert error([0, 7, 1], ROWS[:3])[1].endswith("pass other labels as classes, in the order of the columns")


def test_logits_are_told_of_from_logits() -> None:
    logits = np.log(P / (1 - P))
    code, text = error(Y, logits)
    assert code == "looks_like_logits"
    assert text.endswith(", which looks like logits; pass from_logits=True")
    assert "from_logits=True" in error(LABELS, 5 * np.log(ROWS))[1]
    assert "from_logits" not in error(Y, np.where(P > 0.5, np.nan, P))[1]
    assert error(Y, 100 * P)[1].endswith("if these are percentages, divide them by 100")


def test_swapped_arguments_are_told() -> None:
    expected = "labels and probabilities look swapped: the labels are fractions and the probabilities are whole numbers"
    for y_true, y_prob, options in [
        (P, Y, {}),
        (P[:, None], Y[:, None], {}),
        (np.log(P / (1 - P)), Y, {"from_logits": True}),
        (ROWS, LABELS, {}),
        (ROWS, np.eye(3)[LABELS], {}),
        (TWO, Y, {}),
    ]:
        code, text = error(y_true, y_prob, **options)
        assert code == "swapped"
        assert text.startswith(expected)


# A table of the classes.


def test_the_table_of_classes_has_what_each_class_says_alone() -> None:
    options: dict[str, Any] = {"sigma": 0.3, "n_resamples": 200}
    found = cal.assess(TEXT, ROWS, classes=NAMES, multiclass="classwise", **options)
    assert found.per_class is not None
    assert [each.name for each in found.per_class] == NAMES
    alone = [cal.assess(number == LABELS, ROWS[:, number], **options) for number in range(3)]
    adjusted = holm([float(each.assessment.p_value or 0) for each in found.per_class])
    for number, (each, expected) in enumerate(zip(found.per_class, alone, strict=True)):
        assert each is found.per_class[number] is found.per_class[NAMES[number]]
        assert each.n == np.count_nonzero(number == LABELS)
        assert each.mean_probability == pytest.approx(ROWS[:, number].mean())
        assert each.outcome_rate == pytest.approx(each.n / N)
        assert each.assessment.value == expected.value
        assert each.assessment.interval == expected.interval
        # One of several p-values may have further draws, which are not part of the floor.
        for part in ("mean", "deviation", "quantiles", "n_resamples"):
            assert getattr(each.assessment.floor, part) == getattr(expected.floor, part)
        assert each.assessment.p_value == pytest.approx(expected.p_value, abs=0.05)
        assert each.p_adjusted == pytest.approx(adjusted[number])
        assert each.assessment.estimate.settings["class_name"] == NAMES[number]
        assert each.assessment.per_class is None
    assert sum(each.assessment.value for each in found.per_class) / 3 == pytest.approx(found.value, abs=2e-6)
    assert found.residual is not None and found.residual.per_class is None
    assert cal.assess(TEXT, ROWS, **options).per_class is None


def holm(p_values: list[float]) -> list[float]:
    """By its definition."""
    order = np.argsort(p_values)
    adjusted = np.empty(len(p_values))
    for place, index in enumerate(order):
        steps = [min(1.0, (len(order) - earlier) * p_values[order[earlier]]) for earlier in range(place + 1)]
        adjusted[index] = max(steps)
    return list(adjusted)


def directed() -> cal.Assessment:
    """Class a comes more often than predicted, b as often, c less often."""
    labels = np.tile(["a", "b", "c", "b", "a"], 200)
    return cal.assess(labels, np.tile([0.2, 0.4, 0.4], (1000, 1)), sigma=0.2, multiclass="classwise", n_resamples=200)


def test_the_direction_of_a_class_is_told_where_there_is_evidence() -> None:
    per_class = directed().per_class
    assert per_class is not None
    assert [each.direction for each in per_class] == ["too low", None, "too high"]
    ece = cal.assess(LABELS, ROWS, measure="expected_calibration_error", multiclass="classwise", n_resamples=50)
    assert ece.per_class is not None
    assert all(each.direction is None for each in ece.per_class)


def test_the_table_of_classes_prints_and_becomes_json() -> None:
    found = directed()
    assert found.per_class is not None
    header, *rows = repr(found.per_class).splitlines()
    assert header.split() == [
        "class",
        "n",
        "mean",
        "p",
        "outcome",
        "rate",
        "value",
        "floor",
        "p",
        "(Holm)",
        "direction",
    ]
    assert [row.split()[:4] for row in rows] == [
        ["a", "400", "0.2000", "0.4000"],
        ["b", "400", "0.4000", "0.4000"],
        ["c", "200", "0.4000", "0.2000"],
    ]
    assert rows[2].endswith("too high")
    assert "<td>too high</td>" in found.per_class._repr_html_()
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert [each["name"] for each in plain["per_class"]["classes"]] == ["a", "b", "c"]
    with pytest.raises(KeyError):
        found.per_class["d"]


def test_many_classes_print_those_with_the_least_p_values() -> None:
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.ones(40), 300)
    found = cal.assess(rng.integers(0, 40, 300), rows, multiclass="classwise", n_resamples=20, sigma=1.0).per_class
    assert found is not None and len(found) == 40
    lines = repr(found).splitlines()
    assert len(lines) == 32
    assert lines[-1] == "10 classes with larger p-values are not shown; to_pandas() has all."


def test_clusters_of_rows_serve_every_class() -> None:
    found = cal.assess(LABELS, ROWS, multiclass="classwise", cluster=np.arange(N) % 20, n_resamples=50)
    assert found.per_class is not None
    assert all(each.assessment.n_clusters == 20 for each in found.per_class)


# Columns of lists.


def column(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def test_a_column_of_lists_or_arrays_has_rows_of_classes() -> None:
    expected = cal.ls_ece(LABELS, ROWS)
    assert cal.ls_ece(LABELS, column(ROWS.tolist())) == expected
    assert cal.ls_ece(LABELS, column(list(ROWS))) == expected
    assert cal.ls_ece(column(np.eye(3)[LABELS].tolist()), column(list(ROWS))) == expected


def test_missing_and_ragged_lists_are_told() -> None:
    rows = ROWS.tolist()
    rows[4] = None
    assert error(LABELS, column(rows)) == ("missing", "probability in row 4 is missing" + LEAVE_OUT)
    rows[4] = float("nan")
    assert error(LABELS, column(rows)) == ("missing", "probability in row 4 is missing" + LEAVE_OUT)
    rows[4] = [0.5, None, 0.5]
    assert error(LABELS, column(rows)) == ("missing", "probability in row 4 is missing" + LEAVE_OUT)
    rows[4] = [0.5, 0.5]
    assert error(LABELS, column(rows)) == (
        "shape",
        "probabilities must have shape (n,) or (n, k), got rows of different lengths",
    )
    rows[4] = 0.5
    assert error(LABELS, column(rows)) == (
        "wrong_type",
        "probabilities must be numbers, got float in row 4 of a column of lists",
    )


def test_a_structured_array_has_a_model_in_each_field() -> None:
    models = np.array(list(zip(P, P**2, strict=True)), dtype=[("a", float), ("b", float)])
    found = cal.compare(Y, models, n_resamples=50)
    assert found.to_dict() == cal.compare(Y, {"a": P, "b": P**2}, n_resamples=50).to_dict()
    with pytest.raises(TypeError, match=r"^y_prob must be a dict or a data frame of models by name, got ndarray$"):
        cal.compare(Y, P)


def test_a_sparse_matrix_is_read_with_its_zeros() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rows = np.eye(3)[np.arange(N) % 3]
    for form in (sparse.csr_matrix, sparse.csr_array, sparse.coo_array):
        assert cal.brier_score(LABELS, form(rows)) == cal.brier_score(LABELS, rows)
        assert cal.ls_ece(form(np.eye(3)[LABELS]), ROWS) == cal.ls_ece(LABELS, ROWS)
