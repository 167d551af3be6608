"""Recalibration maps as modules."""

from __future__ import annotations

from typing import Any

import torch

from calipers._recalibrator import Recalibrator

__all__ = ["Recalibrated"]


class Recalibrated(torch.nn.Module):  # type: ignore[misc, unused-ignore] # without torch, mypy knows no Module
    r"""A fitted `calipers.Recalibrator` as a module: raw scores in, recalibrated probabilities out.

    Use it as the last layer of a model, on any device, for inference or to export the model with
    its map. Fit in double precision on the CPU, then apply in the precision of the scores. Numbers
    of the map are buffers, so `state_dict`, `to` and `torch.export` treat them as parts of the
    model. Scores keep their gradients, and the map has no parameters that training would change.

    Parameters
    ----------
    recalibrator : calipers.Recalibrator
        Fitted, and a formula: maps that are tables, such as isotonic ones, are evaluated by
        `calipers.Recalibrator.predict_proba`. Whether it was fitted to probabilities or to raw
        scores does not matter.

    Notes
    -----
    `forward` takes logits of outcome 1 of any shape for a map of a binary outcome, and raw scores
    (the input of a softmax) whose last dimension is that of the classes for others. In single
    precision the probabilities are those of `predict_proba` to about 1e-6.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> import calipers as cal
    >>> import torch
    >>> from calipers.torch import Recalibrated
    >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
    >>> labels = torch.tensor([0, 1, 2, 1])
    >>> recalibrator = cal.recalibrate(labels, logits, method="temperature", from_logits=True)
    >>> head = Recalibrated(recalibrator)
    >>> head(logits).shape, bool(torch.allclose(head(logits).sum(dim=1), torch.ones(4)))
    (torch.Size([4, 3]), True)
    """

    def __init__(self, recalibrator: Recalibrator) -> None:
        super().__init__()
        numbers = recalibrator._map().numbers()
        if numbers is None:
            raise ValueError(f"recalibrator must be a formula and not a table, got {recalibrator.chosen!r}")
        self.n_classes: int = recalibrator.n_classes
        self.is_binary: bool = "classes" not in numbers
        self.is_ensemble: bool = "weights" in numbers
        self.is_matrix: bool = "matrix" in numbers
        for name, default in _DEFAULTS.items():
            value = torch.as_tensor(numbers.get(name, default), dtype=torch.float64)
            self.register_buffer(name, value.to(torch.get_default_dtype()))

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        """Recalibrated probabilities, in the shape of the scores.

        Parameters
        ----------
        scores : torch.Tensor
            Logits of outcome 1, or raw scores of all classes in the last dimension.
        """
        if self.is_binary:
            low = torch.nn.functional.logsigmoid(scores)
            high = torch.nn.functional.logsigmoid(-scores)
            probabilities = torch.sigmoid(self.a * low - self.b * high + self.c)
        else:
            logs = torch.log_softmax(self.slope * scores, dim=-1)
            if self.is_ensemble:
                own = torch.softmax(scores, dim=-1)
                equal = self.weights[2] / self.n_classes
                probabilities = self.weights[0] * torch.exp(logs) + self.weights[1] * own + equal
            else:
                share = self.mixture_before
                # log((1 - share) e^logs + share / k), which is logs where there is no share.
                mixed = torch.logaddexp(torch.log1p(-share) + logs, torch.log(share / self.n_classes))
                scaled = torch.matmul(mixed, self.matrix.transpose(0, 1)) if self.is_matrix else self.scale * mixed
                probabilities = torch.softmax(scaled + self.bias, dim=-1)
        return (1 - self.mixture) * probabilities + self.mixture / self.n_classes

    def extra_repr(self) -> str:
        """What is between the brackets where a model is printed."""
        return "binary outcome" if self.is_binary else f"{self.n_classes} classes"


# The numbers of the identity.
_DEFAULTS: dict[str, Any] = {
    "a": 1.0,
    "b": 1.0,
    "c": 0.0,
    "slope": 1.0,
    "mixture_before": 0.0,
    "scale": 1.0,
    "matrix": [[1.0]],
    "bias": 0.0,
    "weights": [1.0, 0.0, 0.0],
    "mixture": 0.0,
}
