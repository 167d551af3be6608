"""The table of docs/guide/calibrated.md: noise floor and upper limit of calibrated models, by the number of rows.

python docs/figures/rows_needed.py prints it, in some ten seconds.
"""

from __future__ import annotations

import calipers as cal
import numpy as np

# Samples of each number of rows.
SAMPLES = {100: 200, 300: 200, 1_000: 200, 10_000: 60, 100_000: 60}


def assessed(n: int, seed: int) -> cal.Assessment:
    """A calibrated model whose logits have a standard deviation of 1.5."""
    random = np.random.default_rng([n, seed])
    p = 1 / (1 + np.exp(-1.5 * random.standard_normal(n)))
    return cal.assess(random.random(n) < p, p)


def main() -> None:
    """Print a line for each number of rows."""
    print("| rows | sigma | noise floor | upper limit |\n|---|---|---|---|")
    for n, n_samples in SAMPLES.items():
        found = [assessed(n, seed) for seed in range(n_samples)]
        # The others seem miscalibrated by chance, and have no limit.
        limited = [each for each in found if each.interval.is_upper_limit]
        sigma, floor, upper = np.median(
            [(each.estimate.settings["sigma"], each.floor.mean, each.interval.upper) for each in limited], axis=0
        )
        print(f"| {n:,} | {sigma:.2g} | {floor:.2g} | {upper:.2g} |", flush=True)


if __name__ == "__main__":
    main()
