"""Groups of a table: the same for every kind of table, each group as its rows alone, and the worst of them."""

from __future__ import annotations

import json
from typing import Any

import calipers as cal
import numpy as np
import pytest
from calipers import _core

_rng = np.random.default_rng(21)
N = 4_000
LOGIT = _rng.normal(size=N)
COUNTRY = _rng.choice(["DE", "FR", "IT", "PL"], size=N)
DEVICE = _rng.choice([0, 1], size=N)
WEIGHT = _rng.integers(1, 4, N).astype(float)
OFF = (COUNTRY == "IT") & (DEVICE == 1)
P = 1 / (1 + np.exp(-LOGIT))
Y = (_rng.random(N) < 1 / (1 + np.exp(-np.where(OFF, LOGIT - 1.5, LOGIT)))).astype(int)
TABLE: dict[str, Any] = {"p": P, "y": Y, "country": COUNTRY, "device": DEVICE, "w": WEIGHT}


def assessed(table: Any = TABLE, **options: Any) -> cal.GroupTable:
    return cal.by(table, prob="p", label="y", by=["country", "device"]).assess(n_resamples=99, **options)


def test_each_group_is_assessed_as_its_rows_alone() -> None:
    found = assessed()
    assert len(found) == 8
    for line in found:
        rows = (line["country"] == COUNTRY) & (line["device"] == DEVICE)
        alone = cal.assess(Y[rows], P[rows], n_resamples=99)
        assert alone.floor is not None
        assert (line["n"], line["value"], line["sigma"]) == (rows.sum(), alone.value, alone.settings["sigma"])
        assert (line["floor"], line["lower"], line["upper"]) == (
            alone.floor.mean,
            alone.interval.lower,
            alone.interval.upper,
        )
        assert line["mean_probability"] == pytest.approx(P[rows].mean(), abs=1e-12)
        assert line["outcome_rate"] == pytest.approx(Y[rows].mean(), abs=1e-12)
        positive, negative = P[rows & (Y == 1)], P[rows & (Y == 0)]
        assert line["auc"] == pytest.approx((positive[:, None] > negative).mean(), abs=1e-12)


def test_the_worst_group_comes_first_and_is_the_only_one() -> None:
    found = assessed()
    assert (found["country"][0], found["device"][0]) == ("IT", 1)
    assert found.worst is not None
    assert (found.worst.name, found.worst.p_value, found.worst.n_groups) == ("IT, 1", 0.01, 8)
    assert (found["p_adjusted"] <= 0.05).tolist() == [True] + [False] * 7
    assert found["p_value"].tolist() == sorted(found["p_value"])
    assert found["direction"][0].startswith("too high by 0.") and found["direction"][1] is None
    assert found.sentence.startswith("The worst of 8 groups by country, device is IT, 1: its residual LS-ECE is ")
    assert "1 of 8 groups is miscalibrated after adjusting for their number: IT, 1 (too high by 0." in found.sentence


@pytest.mark.parametrize("adjust", ["holm", "bh", "by"])
def test_p_values_are_adjusted(adjust: Any) -> None:
    found = assessed(adjust=adjust)
    p, m = found["p_value"], len(found)
    expected = {
        "holm": np.maximum.accumulate((m - np.arange(m)) * p),
        "bh": np.minimum.accumulate((m * p / np.arange(1, m + 1))[::-1])[::-1],
        "by": np.minimum.accumulate((m * p * (1 / np.arange(1, m + 1)).sum() / np.arange(1, m + 1))[::-1])[::-1],
    }[adjust]
    assert found.adjust == adjust
    assert found["p_adjusted"] == pytest.approx(np.minimum(expected, 1), rel=1e-12)
    assert _core.adjust(p.tolist(), adjust) == pytest.approx(found["p_adjusted"], rel=1e-12)


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(cal.CalipersError, match='adjust must be "holm", "bh" or "by", got "none"'):
        assessed(adjust="none")
    with pytest.raises(KeyError, match="the table has no column 'q'; it has p, y, country, device, w"):
        cal.by(TABLE, prob="q", label="y", by="country")
    with pytest.raises(TypeError, match="by must be the name of a column, or several"):
        cal.by(TABLE, prob="p", label="y", by=[])
    with pytest.raises(TypeError, match="table must be a dict of arrays, a data frame"):
        cal.by(3, prob="p", label="y", by="country")
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weight'"):
        cal.by(TABLE, prob="p", label="y", by="country", sample_weight=WEIGHT)  # type: ignore[call-arg]
    with pytest.raises(cal.CalipersError, match="in row 3"):
        cal.by({**TABLE, "p": np.where(np.arange(N) == 3, 7, P)}, prob="p", label="y", by="country").measure()


def test_values_alone() -> None:
    found = cal.by(TABLE, prob="p", label="y", by="country", weight="w").measure("brier_score")
    for line in found:
        rows = line["country"] == COUNTRY
        assert line["value"] == float(cal.brier_score(Y[rows], P[rows], sample_weight=WEIGHT[rows]))
    assert found["value"].tolist() == sorted(found["value"], reverse=True)
    assert (found.worst, found.sentence, "p_value" in found.columns) == (None, "", False)


def test_rows_that_are_left_out_and_missing_keys() -> None:
    country = [None if row < 5 else name for row, name in enumerate(COUNTRY.tolist())]
    p = np.where(COUNTRY == "PL", np.nan, P)
    grouped = cal.by({"p": p, "y": Y, "g": country}, prob="p", label="y", by="g", invalid="count")
    assert [group[0] for group in grouped.groups] == ["DE", "FR", "IT", "PL", None]
    found = grouped.measure()
    # No row of PL is left.
    assert set(found["g"]) <= {"DE", "FR", "IT", None} and "PL" not in found["g"]
    assert sum(found.left_out.values()) == int(np.isnan(p).sum())
    assert found["n"].sum() == int((~np.isnan(p)).sum())


def test_groups_of_each_column_overlap() -> None:
    grouped = cal.by(TABLE, prob="p", label="y", by=["country", "device"], cross=False)
    assert grouped.groups == [("country", "DE"), ("country", "FR"), ("country", "IT"), ("country", "PL"),
                              ("device", "0"), ("device", "1")]  # fmt: skip
    found = grouped.assess("expected_calibration_error", n_resamples=99)
    assert list(found.columns)[:2] == ["by", "group"]
    assert found.worst is not None and found.worst.name in ("IT", "1") and found.worst.p_value == 0.01


def test_clusters_and_several_classes() -> None:
    rows = np.arange(600)
    table = {
        "a": np.full(600, 0.5), "b": np.full(600, 0.3), "c": np.full(600, 0.2),
        "y": rows % 3, "g": rows % 2, "who": rows // 4,
    }  # fmt: skip
    grouped = cal.by(table, prob=["a", "b", "c"], label="y", by="g", cluster="who")
    found = grouped.assess(n_resamples=60, sigma=0.2)
    for line in found:
        mine = table["g"] == line["g"]
        scores = np.stack([table[name][mine] for name in "abc"], axis=1)
        alone = cal.assess(table["y"][mine], scores, cluster=table["who"][mine], n_resamples=60, sigma=0.2)
        assert (line["value"], line["lower"]) == (alone.value, alone.interval.lower)


def test_results_are_json_html_and_text() -> None:
    found = assessed()
    again = json.loads(json.dumps(found.to_dict()))
    assert again["rows"][0]["country"] == "IT" and again["worst"]["name"] == "IT, 1"
    assert again["by"] == ["country", "device"] and again["rows"][1]["direction"] is None
    assert "<th>country</th><th>device</th><th>n</th>" in found._repr_html_()
    assert repr(found).splitlines()[1].split()[:3] == ["country", "device", "n"]
    many = cal.by({**TABLE, "k": np.arange(N) % 30}, prob="p", label="y", by="k").measure("brier_score")
    assert repr(many).splitlines()[-1] == "10 groups with less evidence are not shown; to_pandas() has all."


def test_threads_change_nothing() -> None:
    with cal.threads(1):
        one = assessed()
    assert one.to_dict() == assessed().to_dict()
