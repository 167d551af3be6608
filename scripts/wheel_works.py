"""Run by the Python that a wheel was installed for: does it import, measure, refuse, draw and go through a pickle?"""

import math
import pickle
import platform
from importlib import metadata, resources

import calipers as cal
import numpy as np


def main() -> None:
    assert cal.__version__ == metadata.version("calipers"), cal.__version__
    assert resources.files("calipers").joinpath("py.typed").is_file()
    y, p = np.array([1, 0, 1, 1]), np.array([0.9, 0.2, 0.6, 0.8])
    for dtype in (np.float64, np.float32):
        assert math.isclose(cal.ls_ece(y, p.astype(dtype), sigma=0.5), 0.2150, abs_tol=1e-3)
    assert math.isclose(cal.brier_score(y, p), 0.0625)
    found = cal.assess(y, p, sigma=0.5, n_resamples=50)
    assert pickle.loads(pickle.dumps(found.estimate)) == found.value
    assert cal.sweep(y, p).to_svg().startswith("<svg")
    assert cal.Sketch.from_bytes(cal.Sketch().update(y, p).to_bytes()).n == 4
    try:
        cal.ls_ece(y, 100 * p)
    except cal.CalipersError as refused:
        assert refused.code == "percentages"
    else:
        raise AssertionError("percentages were not refused")
    print(f"calipers {cal.__version__} works on Python {platform.python_version()} with numpy {np.__version__}")


if __name__ == "__main__":
    main()
