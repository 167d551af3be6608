"""Distances from calibration against their linear programs, by a solver of another kind."""

from __future__ import annotations

import calipers
import numpy as np
import pytest
from cases import Doubles, case, pooled
from scipy import optimize, sparse

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def smooth_by_linear_program(y: Doubles, p: Doubles, weight: Doubles) -> float:
    """Every pair of probabilities has its constraint, as in the definition."""
    values, zeros, ones = pooled(y, p, weight)
    first, second = np.triu_indices(len(values), 1)
    rows = sparse.csr_matrix(np.eye(len(values))[first] - np.eye(len(values))[second])
    limits = values[second] - values[first]
    residuals = ones * (1 - values) - zeros * values
    if len(first) == 0:
        return float(abs(residuals.sum()))
    solved = optimize.linprog(
        -residuals,
        sparse.vstack([rows, -rows]),
        np.concatenate([limits, limits]),
        bounds=(-1, 1),
        method="highs",
        options=EXACT,
    )
    return float(-solved.fun)


def lower_distance_on(
    nodes: Doubles, place: Doubles, zeros: Doubles, ones: Doubles, last: bool = False
) -> tuple[float, Doubles, Doubles]:
    """The dual on some nodes, with both of its functions there."""
    n = len(nodes)
    steps = sparse.diags_array([np.full(n - 1, -1.0), np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n))
    chains = sparse.block_diag([steps, steps])
    calibrated = sparse.hstack([sparse.diags_array(1 - nodes), sparse.diags_array(nodes)])
    gains = np.zeros(2 * n)
    gains[place], gains[n + place] = zeros, ones
    limits = np.tile(np.diff(nodes), 2)
    program = (
        -gains,
        sparse.vstack([chains, -chains, calibrated]).tocsr(),
        np.concatenate([limits, limits, np.zeros(n)]),
    )
    solved = optimize.linprog(*program, bounds=(-2, 2), method="highs-ipm", options=EXACT)
    if last:
        # Simplex is exact where it ends, but may turn in circles; the other always ends, at times
        # 3e-8 too high.
        exact = optimize.linprog(*program, bounds=(-2, 2), method="highs-ds", options={**EXACT, "time_limit": 0.05})
        solved = exact if exact.status == 0 else solved
    return float(-solved.fun), solved.x[:n], solved.x[n:]


def lower_distance_by_linear_program(y: Doubles, p: Doubles, weight: Doubles) -> float:
    """The dual on nodes that are refined until the constraints hold between them too, to 1e-9.

    On any nodes the optimum is no lower than the distance. Between two nodes f0 and f1 may be taken as linear, so that
    (1 - v) f0 + v f1 is a parabola; where it rises to e above 0, lowering both functions by e pays for it.
    """
    values, zeros, ones = pooled(y, p, weight)
    nodes = np.unique(np.concatenate([values, np.linspace(0, 1, 33)]))
    last = False
    for _ in range(60):
        optimum, f0, f1 = lower_distance_on(nodes, np.searchsorted(nodes, values), zeros, ones, last)
        share = np.linspace(0, 1, 33)[1:-1, None]
        v, a, b = ((1 - share) * x[:-1] + share * x[1:] for x in (nodes, f0, f1))
        excess = (1 - v) * a + v * b
        worst = excess.argmax(axis=0)
        # Slopes are at most 1, so that between nodes at a distance d the parabola rises by at most
        # d² / 2.
        broken = (excess.max(axis=0) > 1e-9) & (np.diff(nodes) > 4e-5)
        if last and not broken.any():
            return optimum
        last = not broken.any()
        nodes = np.unique(np.concatenate([nodes, v[worst, np.arange(len(worst))][broken]]))
    raise AssertionError("the nodes were not refined enough")


def lower_distance(y: Doubles, p: Doubles, weight: Doubles) -> calipers.Estimate:
    """On as many nodes as a bound of 5e-9 needs; more are not always better: the solver may stop early on them."""
    for n_nodes in (16_384, 65_536, 262_144):
        found = calipers.lower_distance_to_calibration(y, p, n_nodes=n_nodes, sample_weight=weight)
        if found.numerical_bound <= 5e-9:
            break
    return found


@pytest.mark.parametrize(
    ("seed", "n"), [(seed, 2 + seed % 39) for seed in range(192)] + [(seed, 200) for seed in range(8)]
)
def test_distances_are_the_optima_of_their_linear_programs(seed: int, n: int) -> None:
    y, p, weight = case(seed, n, ties=seed % 4 != 0)
    smooth = calipers.smooth_calibration_error(y, p, sample_weight=weight)
    assert smooth == pytest.approx(smooth_by_linear_program(y, p, weight), abs=1e-8)
    lower = lower_distance(y, p, weight)
    assert lower == pytest.approx(lower_distance_by_linear_program(y, p, weight), abs=1e-8)
    assert lower.numerical_bound < 1e-6
    assert smooth / 2 - 1e-9 <= lower + lower.numerical_bound
    assert lower - lower.numerical_bound <= 2 * smooth + 1e-9
