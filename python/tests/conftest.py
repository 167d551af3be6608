"""What several files of tests are given."""

from __future__ import annotations

import numpy as np
import pytest
from cases import Doubles
from numpy.typing import NDArray


@pytest.fixture(scope="module")
def classes() -> tuple[NDArray[np.int64], Doubles]:
    rng = np.random.default_rng(8)
    scores = rng.normal(0, 1.5, (150, 4))
    return (scores + rng.gumbel(0, 1, scores.shape)).argmax(axis=1), scores
