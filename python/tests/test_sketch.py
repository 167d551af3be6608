"""The sketch against the functions, whatever the batches and merges; bytes, refusals, streams and threads."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import calipers
import numpy as np
import pytest
from calipers import Sketch
from cases import in_python
from hypothesis import given
from hypothesis import strategies as st

N = 3_000
TABLE = json.loads((Path(__file__).parents[2] / "fixtures" / "refusals.json").read_text(encoding="utf-8"))


def probabilities() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    p = np.round(rng.beta(0.4, 0.4, N), 5)
    return {"y_true": rng.random(N) < p**1.2, "y_prob": p}


def weighted() -> dict[str, Any]:
    return {**probabilities(), "sample_weight": np.random.default_rng(2).exponential(size=N)}


def logits() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {"y_true": rng.integers(0, 2, N), "y_prob": rng.normal(0, 3, N), "from_logits": True}


def single_precision() -> dict[str, Any]:
    rows = probabilities()
    return {**rows, "y_prob": rows["y_prob"].astype(np.float32)}


def text_labels() -> dict[str, Any]:
    rows = probabilities()
    return {**rows, "y_true": np.where(rows["y_true"], "spam", "ham"), "pos_label": "spam"}


def class_scores() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    scores = rng.normal(0, 2, (N, 5))
    return {"y_true": (scores + rng.normal(0, 2, (N, 5))).argmax(axis=1), "y_prob": scores, "from_logits": True}


def class_probabilities() -> dict[str, Any]:
    rows = class_scores()
    exponentials = np.exp(rows["y_prob"])
    return {"y_true": rows["y_true"], "y_prob": exponentials / exponentials.sum(axis=1, keepdims=True)}


def one_class() -> dict[str, Any]:
    return {**class_probabilities(), "multiclass": 3}


KINDS = [probabilities, weighted, logits, single_precision, text_labels, class_scores, class_probabilities, one_class]
PER_ROW = ("y_true", "y_prob", "sample_weight")


def batches(rows: dict[str, Any], n: int) -> Iterator[dict[str, Any]]:
    for places in np.array_split(np.arange(len(rows["y_true"])), n):
        yield {name: value[places] if name in PER_ROW else value for name, value in rows.items()}


def sketch_of(rows: dict[str, Any], **options: Any) -> Sketch:
    return Sketch(**options).update(**rows)


def assert_agree(ours: calipers.Estimate, theirs: calipers.Estimate, most: float) -> None:
    assert abs(ours - theirs) <= ours.numerical_bound + theirs.numerical_bound
    assert ours.numerical_bound <= most
    assert (ours.measure, ours.n, ours.n_ties) == (theirs.measure, theirs.n, theirs.n_ties)
    for name, value in ours.settings.items():
        assert name == "resolution" or theirs.settings[name] == value, name


# Answers.


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_that_of_the_rows(kind: Any) -> None:
    rows = kind()
    sketch = Sketch()
    for batch in batches(rows, 7):
        sketch.update(**batch)
    assert sketch.n == N
    assert_agree(sketch.ls_ece(sigma=0.1), calipers.ls_ece(**rows, sigma=0.1), 1e-6)
    assert_agree(sketch.residual_ls_ece(sigma=0.1), calipers.residual_ls_ece(**rows, sigma=0.1), 1e-6)
    assert_agree(
        sketch.ls_ece(sigma=0.5, noise="laplace", link="probit", tolerance=1e-4),
        calipers.ls_ece(**rows, sigma=0.5, noise="laplace", link="probit", tolerance=1e-4),
        1e-4,
    )
    for n_bins, most in [(10, 1e-9), (15, 1e-9), (7, 0.01)]:
        assert_agree(
            sketch.expected_calibration_error(n_bins=n_bins),
            calipers.expected_calibration_error(**rows, n_bins=n_bins),
            most,
        )
    assert_agree(sketch.ecce_r(), calipers.ecce_r(**rows), 0.01)
    assert_agree(sketch.ecce_mad(), calipers.ecce_mad(**rows), 0.01)
    # A sketch has one outcome for each row: of several classes, the top one.
    one_outcome = {"multiclass": "top_class", **rows} if np.ndim(rows["y_prob"]) > 1 else rows
    assert_agree(sketch.brier_score(), calipers.brier_score(**one_outcome), 1e-5)
    assert_agree(sketch.log_loss(), calipers.log_loss(**one_outcome, clip=1e-6), 1e-7)
    places = [0.2, 0.5, 0.8]
    ours, theirs = sketch.ls_curve(at=places, sigma=0.3), calipers.ls_curve(**rows, at=places, sigma=0.3)
    rate_bounds = ours.outcome_rate_bounds + theirs.outcome_rate_bounds
    density_bounds = ours.density_bounds + theirs.density_bounds
    assert (np.abs(ours.outcome_rates - theirs.outcome_rates) <= rate_bounds).all()
    assert (np.abs(ours.densities - theirs.densities) <= density_bounds).all()
    assert max(rate_bounds.max(), density_bounds.max()) < 1e-3


def test_an_answer_has_its_settings() -> None:
    estimate = sketch_of(weighted(), resolution=11, clip=1e-4).ls_ece(sigma=0.25)
    assert estimate.settings == {
        "sigma": 0.25,
        "sigma_rule": "given",
        "noise": "gaussian",
        "link": "logistic",
        "tolerance": 1e-6,
        "clip": 1e-4,
        "from_logits": False,
        "weighted": True,
        "resolution": 11,
    }
    assert estimate.n_clipped > 0
    assert sketch_of(logits()).brier_score().settings == {
        "link": "logistic",
        "scale_by_half": True,
        "from_logits": True,
        "weighted": False,
        "resolution": 12,
    }


def test_sigma_by_rule_is_that_of_the_rows_where_cells_allow() -> None:
    ours, theirs = sketch_of(probabilities()).ls_ece(), calipers.ls_ece(**probabilities())
    assert ours.settings["sigma"] == pytest.approx(theirs.settings["sigma"], rel=1e-3)
    assert sketch_of(probabilities()).ls_curve().sigma == ours.settings["sigma"]
    raised = sketch_of(probabilities(), resolution=6).ls_ece()
    assert raised.settings["sigma"] > theirs.settings["sigma"]
    assert raised.settings["sigma_rule"] == "auto, raised to what the sketch can answer"


def test_what_a_sketch_was_made_to_serve_it_serves() -> None:
    sketch = sketch_of(probabilities(), tolerance=1e-4, smallest_sigma=0.3)
    assert sketch.resolution < 8
    assert sketch.ls_ece(sigma=0.3, tolerance=1e-4).numerical_bound <= 1e-4
    with pytest.raises(calipers.CalipersError, match="tolerance 1e-9 cannot be met") as refused:
        sketch.ls_ece(sigma=0.3, tolerance=1e-9)
    assert refused.value.code == "tolerance_not_met"


def test_brier_score_and_log_loss_by_their_formulas() -> None:
    rows = weighted()
    y, p, w = (rows[name] for name in PER_ROW)
    clipped = np.clip(p, 1e-15, 1 - 1e-15)
    losses = -np.where(y, np.log(clipped), np.log1p(-clipped))
    assert calipers.brier_score(**rows) == pytest.approx(np.average((y - p) ** 2, weights=w), abs=1e-14)
    assert calipers.log_loss(**rows) == pytest.approx(np.average(losses, weights=w), rel=1e-14)
    classwise = calipers.brier_score(**class_probabilities(), multiclass="classwise")
    assert classwise.per_class is not None
    labels, p = class_probabilities()["y_true"], class_probabilities()["y_prob"]
    assert 5 * classwise == pytest.approx(((np.eye(5)[labels] - p) ** 2).sum(axis=1).mean())
    assert calipers.brier_score(**class_probabilities()) == pytest.approx(5 * classwise, abs=1e-14)


# Merging and bytes.


@pytest.mark.parametrize("kind", KINDS)
def test_batches_and_merges_in_any_order_give_the_same_bytes(kind: Any) -> None:
    rows = kind()
    parts = [sketch_of(batch) for batch in batches(rows, 5)]
    parts = [Sketch.from_bytes(part.to_bytes()) for part in parts]
    whole = sketch_of(rows).to_bytes()
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1]):
        merged = Sketch()
        for place in order:
            assert merged.merge(parts[place]) is merged
        assert merged.to_bytes() == whole
    left = parts[0].copy().merge(parts[1])
    right = parts[2].copy().merge(parts[3]).merge(parts[4])
    assert right.merge(left).to_bytes() == whole


def test_a_sketch_merges_with_itself_and_an_empty_one() -> None:
    sketch, twice = sketch_of(probabilities()), sketch_of(probabilities())
    twice.merge(twice)
    assert (twice.n, twice.brier_score()) == (2 * N, pytest.approx(float(sketch.brier_score()), abs=1e-15))
    assert sketch.copy().merge(Sketch()) == sketch == Sketch().merge(sketch)
    assert Sketch().merge(Sketch()) == Sketch()


def test_a_copy_goes_its_own_way() -> None:
    sketch = sketch_of(probabilities())
    before = sketch.to_bytes()
    sketch.copy().update([1], [0.5])
    assert sketch.to_bytes() == before


def test_the_coarser_resolution_wins() -> None:
    fine, coarse = sketch_of(weighted(), resolution=14), sketch_of(weighted(), resolution=9)
    assert fine != coarse
    assert fine.copy().merge(coarse) == coarse.copy().merge(fine)
    assert fine.coarsen(9) is fine
    assert fine == coarse


@pytest.mark.parametrize("again", [lambda s: pickle.loads(pickle.dumps(s)), copy.copy, copy.deepcopy, Sketch.copy])
def test_a_sketch_survives_pickling_and_copying(again: Any) -> None:
    sketch = sketch_of(weighted(), resolution=10, clip=1e-5, n_bins=[20, 5], weight_bits=30)
    other = again(sketch)
    assert type(other) is Sketch
    assert other is not sketch
    assert other == sketch
    assert other.ls_ece(sigma=0.5) == sketch.ls_ece(sigma=0.5)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, np.uint8)])
def test_bytes_may_come_as_anything_like_them(kind: Any) -> None:
    sketch = sketch_of(probabilities())
    assert Sketch.from_bytes(kind(sketch.to_bytes())) == sketch


def test_attributes_and_repr() -> None:
    empty = Sketch(n_bins=[20, 5, 20])
    assert (empty.n, empty.total_weight, empty.is_weighted, empty.n_cells) == (0, 0.0, False, 0)
    assert (empty.n_clipped, empty.resolution, empty.clip, empty.n_bins) == (0, 12, 1e-6, (5, 20))
    assert repr(empty) == "Sketch(n=0, resolution=12, n_cells=0)"
    sketch = Sketch(clip=0.01).update([0, 1, 1], [0.0, 0.5, 1.0], sample_weight=[1.0, 2.0, 0.5])
    assert (sketch.n, sketch.total_weight, sketch.is_weighted, sketch.n_cells) == (3, 3.5, True, 3)
    assert (sketch.n_clipped, sketch.clip) == (2, 0.01)
    assert repr(sketch_of(logits())).startswith("Sketch(n=3000, scores='raw scores', resolution=12, n_cells=")
    assert repr(sketch_of(class_scores())).startswith("Sketch(n=3000, scores='log-odds', ")


def test_sketches_compare_and_do_not_hash() -> None:
    assert Sketch() == Sketch()
    assert Sketch() != Sketch(resolution=11)
    assert Sketch() != "a sketch"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Sketch())


# Streams.


def test_a_stream_is_read_batch_by_batch() -> None:
    """A generator with bad rows, an empty batch, and one in which no row is good."""

    def stream() -> Iterator[tuple[list[float], list[float | None]]]:
        yield [1, 0, 1], [0.9, 0.2, np.nan]
        yield [], []
        yield [np.nan], [0.5]
        yield [0, 1], [0.4, None]

    sketch = Sketch()
    for y_true, y_prob in stream():
        sketch.update(y_true, y_prob, invalid="count")
    estimate = sketch.brier_score()
    assert (estimate.n, estimate) == (3, pytest.approx((0.1**2 + 0.2**2 + 0.4**2) / 3))
    assert estimate.left_out == {"invalid probability": 1, "missing label": 1, "missing probability": 1}
    assert Sketch.from_bytes(sketch.to_bytes()).brier_score().left_out == estimate.left_out


def test_rows_are_counted_over_all_batches() -> None:
    sketch = Sketch().update([1, 0], [0.9, 0.2]).update([1], [np.nan], invalid="count")
    for _ in range(2):  # a batch that was refused does not count
        with pytest.raises(calipers.CalipersError, match="probability in row 4 must be in"):
            sketch.update([1, 0], [0.5, 1.5])
    # Rows that were merged have not come by.
    with pytest.raises(calipers.CalipersError, match="probability in row 1 must be in"):
        Sketch().merge(sketch).update([1, 0], [0.5, 1.5])


def test_a_stream_that_never_shows_the_positive_label_is_refused_with_the_first_figure() -> None:
    sketch = Sketch().update(["ham", "ham"], [0.1, 0.4], pos_label="spma")
    sketch.update(["spam"], [0.9], pos_label="spma")
    text = 'positive label "spma" must occur in at least one row, got only "ham", "spam"'
    figures = [
        sketch.ls_ece,
        sketch.residual_ls_ece,
        sketch.ls_curve,
        sketch.expected_calibration_error,
        sketch.brier_score,
        sketch.log_loss,
    ]
    for ask in [*figures, sketch.copy().ls_ece, Sketch().merge(sketch).ls_ece]:
        with pytest.raises(calipers.CalipersError) as refused:
            ask()
        assert str(refused.value) == text
    # Wherever the label comes from, then it is there.
    late = sketch_of(text_labels())
    for other in (late, Sketch.from_bytes(late.to_bytes())):
        days = Sketch().update(["ham", "ham"], [0.1, 0.4], pos_label="spam").merge(other)
        assert days.brier_score().n == N + 2
        assert other.copy().merge(Sketch().update(["ham"], [0.1], pos_label="spam")).brier_score().n == N + 1


def test_weights_that_are_all_zero_are_refused_with_the_first_figure() -> None:
    sketch = Sketch().update([1, 0], [0.9, 0.2], sample_weight=[0, 0])
    for each in (sketch, Sketch.from_bytes(sketch.to_bytes())):
        for ask in (each.ls_ece, each.ls_curve, each.brier_score):
            with pytest.raises(calipers.CalipersError, match="weights must not all be zero, got 2 rows of weight 0"):
                ask()
    # Rows without weights count 1.
    assert sketch.update([1], [0.5]).brier_score() == pytest.approx(0.25)
    assert Sketch().update([1], [0.5]).merge(
        Sketch().update([1], [0.1], sample_weight=[0])
    ).brier_score() == pytest.approx(0.25)


def test_nothing_to_measure() -> None:
    for empty in (Sketch(), Sketch().update([], []), Sketch.from_bytes(Sketch().to_bytes())):
        for ask in (empty.ls_ece, empty.ls_curve, empty.log_loss):
            with pytest.raises(calipers.CalipersError, match="no rows: at least one prediction is needed"):
                ask()
    bad = Sketch().update([1, 0], [np.nan, 0.5], sample_weight=[1, np.nan], invalid="count")
    for each in (bad, Sketch.from_bytes(bad.to_bytes())):
        with pytest.raises(calipers.CalipersError, match="no rows left: all 2 were left out as invalid"):
            each.ls_curve()


# Refusals.

UPDATE_OPTIONS = ("from_logits", "multiclass", "ties", "pos_label", "classes", "sum_tolerance", "invalid")
ROW_CASES = [
    case
    for case in TABLE
    if "python" in case["surfaces"]
    and case["measure"] in ("ls_ece", "expected_calibration_error")
    and "compat" not in case["options"]
    # Not rounded logits but cells are what stands in the way.
    and case["name"] != "tolerance below rounding"
]


def values(written: Any) -> Any:
    """JSON has no NaN and no infinities: the table writes them as text."""
    if isinstance(written, list):
        return [values(each) for each in written]
    return float(written) if written in ("nan", "inf", "-inf") else written


@pytest.mark.parametrize("case", ROW_CASES, ids=[case["name"] for case in ROW_CASES])
def test_what_functions_refuse_a_sketch_refuses_alike(case: dict[str, Any]) -> None:
    options = dict(case["options"])
    rows = [values(case[name]) for name in PER_ROW]
    with pytest.raises(calipers.CalipersError) as refused:
        sketch = Sketch(clip=options.pop("clip", 1e-6))
        of_rows = {name: options.pop(name) for name in UPDATE_OPTIONS if name in options}
        sketch.update(rows[0], rows[1], sample_weight=rows[2], **of_rows)
        getattr(sketch, case["measure"])(**options)
    assert (str(refused.value), refused.value.code) == (in_python(case), case["code"])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"resolution": 5}, "resolution must be from 6 to 20, got 5"),
        ({"resolution": -1}, "resolution must be an integer from 0 to 2^32 - 1, got -1"),
        ({"clip": 0.5}, "clip must be in [1e-15, 0.5), got 0.5"),
        ({"n_bins": [0]}, "n_bins must be from 1 to 10000 in a sketch, got 0"),
        ({"n_bins": [-1]}, "n_bins must be integers from 0 to 2^64 - 1, got -1"),
        ({"n_bins": range(1, 18)}, "n_bins must be at most 16 numbers, got 17"),
        ({"weight_bits": 65}, "weight_bits must be from 0 to 64, got 65"),
        ({"tolerance": 0, "smallest_sigma": 0.1}, "tolerance must be positive and finite, got 0"),
        ({"tolerance": 1e-6, "smallest_sigma": -0.1}, "smallest_sigma must be in [1e-9, 1e6], got -0.1"),
        (
            {"tolerance": 1e-6},
            "resolution must be given alone, or tolerance and smallest_sigma together, got tolerance",
        ),
        (
            {"resolution": 9, "tolerance": 0.1},
            "resolution must be given alone, or tolerance and smallest_sigma together, got resolution and tolerance",
        ),
    ],
)
def test_options_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(calipers.CalipersError) as refused:
        Sketch(**options)
    assert (str(refused.value), refused.value.code) == (text, "invalid_setting")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Sketch(resolution=12.0), "resolution must be an integer, got float"),  # type: ignore[arg-type]
        (lambda: Sketch(n_bins=15), "n_bins must be a sequence of integers, got int"),  # type: ignore[arg-type]
        (lambda: Sketch(n_bins=[1.5]), "n_bins must be an integer, got float"),  # type: ignore[list-item]
        (lambda: Sketch(tolerance="fine", smallest_sigma=1), "tolerance must be a number, got str"),  # type: ignore[arg-type]
        (lambda: Sketch().coarsen("low"), "resolution must be an integer, got str"),  # type: ignore[arg-type]
        (lambda: Sketch().merge(b"calipers"), "other must be a Sketch, got bytes"),  # type: ignore[arg-type]
        (lambda: Sketch.from_bytes(5), "memoryview: a bytes-like object is required, not 'int'"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_type_is_a_type_error(call: Any, text: str) -> None:
    with pytest.raises(TypeError) as refused:
        call()
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("refused_call", "text"),
    [
        (lambda s: s.update([1, 0], [0.5, 1.5]), "probability in row 3001 must be in [0, 1]"),
        (lambda s: s.update([1, 0], [0.5]), "labels must have one value for each row"),
        (lambda s: s.update([1], [2.0], from_logits=True), "must have the same kind of scores"),
        (
            lambda s: s.merge(sketch_of(logits())),
            "must have the same kind of scores to be merged, got probabilities and",
        ),
        (lambda s: s.update([1], [0.5], sample_weight=[1e9]), "weights must be at most 16777216 in a sketch"),
        (lambda s: s.update([0], [[0.2, 0.5, 0.3]], multiclass="classwise"), "for one curve, table or sketch"),
        (lambda s: s.merge(Sketch(n_bins=[15])), "must have the same n_bins to be merged, got [10, 15] and [15]"),
        (lambda s: s.merge(Sketch(weight_bits=20)), "must have the same weight_bits to be merged, got 32 and 20"),
        (lambda s: s.coarsen(13), "resolution must be at most 12, that of the sketch, got 13"),
    ],
)
def test_nothing_changes_where_something_is_refused(refused_call: Any, text: str) -> None:
    sketch = sketch_of(probabilities())
    before = sketch.to_bytes()
    with pytest.raises(calipers.CalipersError) as refused:
        refused_call(sketch)
    assert text in str(refused.value)
    assert sketch.to_bytes() == before
    assert sketch.update([], []).brier_score().n == N


@given(st.binary(max_size=60), st.integers(0, 200), st.integers(1, 255))
def test_bytes_of_strangers_are_refused(data: bytes, place: int, change: int) -> None:
    written = bytearray(Sketch().update([1, 0, 1], [0.9, 0.2, 0.6], sample_weight=[1, 2, 0.3]).to_bytes())
    written[place % len(written)] ^= change
    for stranger in (data, b"calipers" + data, b"calipers\1" + data, bytes(written), bytes(written[:place])):
        with pytest.raises(calipers.CalipersError, match="bytes must be a calipers sketch: ") as refused:
            Sketch.from_bytes(stranger)
        assert refused.value.code == "invalid_sketch"


# Threads.


def test_threads_may_share_a_sketch() -> None:
    rows = weighted()
    shared, other = Sketch(), Sketch().update([1], [0.5])

    def work(batch: dict[str, Any]) -> None:
        shared.update(**batch)
        # Both ways at once, where locks would wait for each other for ever.
        shared.copy().merge(other).merge(shared)
        other.copy().merge(shared)
        assert shared.brier_score().n <= N

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, batch) for batch in batches(rows, 40)]:
            done.result()
    assert shared == sketch_of(rows)


def test_sketches_that_merge_into_each_other_do_not_wait_for_ever() -> None:
    a, b = Sketch().update([1], [0.5]), Sketch().update([0], [0.25])
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(x.merge, y) for _ in range(8) for x, y in ((a, b), (b, a))]:
            done.result()
    # How far each has grown is up to the threads: a merge adds what the other was when it began,
    # which is never nothing, and one after the other they grow as Fibonacci's numbers.
    assert all(1 + 8 <= sketch.n <= 2584 for sketch in (a, b))
    # Rows of `a` and `b` alone, and whole ones: no merge has seen half of another.
    assert a.n_cells == b.n_cells == 2
