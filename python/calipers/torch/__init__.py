"""Calibration of torch models: a metric for loops, and recalibration maps as modules.

    LogitSmoothedECE   a torchmetrics metric whose state is a sketch
    Recalibrated       a fitted `calipers.Recalibrator` as a module: raw scores -> probabilities

Needs torch, which ``import calipers`` does not; the metric needs torchmetrics, too.
"""

from __future__ import annotations

from typing import NoReturn

from calipers.torch._recalibrated import Recalibrated

try:
    from calipers.torch._metric import LogitSmoothedECE
except ModuleNotFoundError as missing:
    if missing.name != "torchmetrics":
        raise

    def __getattr__(name: str) -> NoReturn:
        if name == "LogitSmoothedECE":
            raise ImportError("calipers.torch.LogitSmoothedECE needs torchmetrics: pip install torchmetrics")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["LogitSmoothedECE", "Recalibrated"]
