"""A torchmetrics metric whose state is a sketch.

Integers that processes add, the same bits however many there are.

    preds, target -> update -> words (added over ranks) -> sketch -> compute | estimate | assess

Needs torch and torchmetrics, which ``import calipers`` does not.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from torchmetrics import Metric

from calipers._assessment import Assessment
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Invalid, Link, Noise, OneView, Ties
from calipers._sketch import Sketch

__all__ = ["LogitSmoothedECE"]

# The clip of probabilities, and the limit of raw scores beyond which they are 0 or 1 to the last
# bit.
CLIP = 1e-6
LARGEST_LOGIT = 40.0

# Cells for a sigma that is chosen automatically, which is not known before the rows are.
RESOLUTION = 10

_DEFAULTS: dict[str, Any] = {
    "from_logits": False,
    "multiclass": None,
    "ties": "first",
    "invalid": "reject",
    "sum_tolerance": 0.02,
}


@documented
class LogitSmoothedECE(Metric):  # type: ignore[misc, unused-ignore] # without torchmetrics, mypy knows no Metric
    r"""The logit-smoothed calibration error, LS-ECE, as a metric for training and evaluation loops.

    The state is the sketch of all rows, as 64-bit integers at fixed places: processes add them, so
    that two processes with half of the rows each have the bits of one with all, and those of
    `calipers.Sketch`. With the default options it has 2.5 MB for probabilities and 7.6 MB for
    logits, whatever the number of rows.

    Parameters
    ----------
    sigma : float or "auto"
        The scale of the noise, in logits. A number also determines the resolution: the coarsest
        cells that answer to within `tolerance`, whatever the data.
    from_logits : bool
        Whether `preds` are raw scores: log-odds of outcome 1, or logits of all classes. It is never
        guessed.
    multiclass : {None, "top_class"} or int
        The question that is asked of (n, k). None: P(y = 1) for two classes, "top_class" for more.
        "top_class": the largest probability, and whether that class was right. An int: that class
        against the rest.
    n_bins : int or sequence of int
        Equal-width bins for which `expected_calibration_error` of the sketch is exact.
    ties : {"first", "any"}
        If several classes share the largest probability, the first is the prediction, as argmax
        takes it, or any of them counts as right.
    invalid : {"reject", "count"}
        "reject": an invalid row raises an error. "count": invalid rows are left out and counted in
        the result.
    sum_tolerance : float
        How far the sum of a row of class probabilities may be from 1.
    resolution : int, optional
        Cells are about 2^-resolution wide, in logits; 10 where sigma is "auto".
    **kwargs
        Those of `torchmetrics.Metric`.

    Notes
    -----
    Probabilities are clipped to [1e-6, 1 - 1e-6], as by `calipers.ls_ece`; logits beyond 40 in size
    are taken as 40, where probabilities are 0 or 1 to the last bit, and what that can change is
    part of the numerical bound. All ranks together can have 2^38 rows, and 2^31 states can be
    added. Weights are not offered: their sums would need three times the state.

    Half precision is read as the numbers that it holds. An invalid batch changes nothing, and its
    rows are counted from the beginning of the batch; that batches have scores of different kinds,
    as logits of two classes and of one, is an error of `compute`.

    References
    ----------
    The paper of LS-ECE: see `calipers.ls_ece`.

    Examples
    --------
    A loop over batches, as in training:

    >>> import torch
    >>> from calipers.torch import LogitSmoothedECE
    >>> generator = torch.Generator().manual_seed(0)
    >>> model = torch.nn.Linear(4, 1)
    >>> _ = torch.nn.init.constant_(model.weight, 0.5), torch.nn.init.zeros_(model.bias)
    >>> metric = LogitSmoothedECE(sigma=0.1, from_logits=True)
    >>> for _ in range(20):
    ...     x = torch.randn(256, 4, generator=generator)
    ...     logits = model(x).squeeze(1)
    ...     target = torch.bernoulli(torch.sigmoid(2 * logits.detach()), generator=generator)
    ...     metric.update(logits, target)
    >>> bool(metric.compute() > 0.05), metric.compute().dtype
    (True, torch.float64)
    >>> estimate = metric.estimate()
    >>> estimate.n, estimate.numerical_bound <= 1e-6
    (5120, True)
    >>> metric.assess().significant
    True
    """

    is_differentiable: ClassVar[bool] = False
    higher_is_better: ClassVar[bool] = False
    full_state_update: ClassVar[bool] = False
    plot_lower_bound: ClassVar[float] = 0.0
    plot_upper_bound: ClassVar[float] = 1.0

    words: torch.Tensor
    score_error: torch.Tensor
    kind: torch.Tensor

    def __init__(
        self,
        *,
        sigma: float | Literal["auto"] = "auto",
        from_logits: bool = False,
        multiclass: OneView = None,
        n_bins: int | Sequence[int] = 15,
        noise: Noise = "gaussian",
        link: Link = "logistic",
        tolerance: float = 1e-6,
        ties: Ties = "first",
        invalid: Invalid = "reject",
        sum_tolerance: float = 0.02,
        resolution: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.asked: dict[str, Any] = {"sigma": sigma, "noise": noise, "link": link, "tolerance": tolerance}
        self.reading: dict[str, Any] = {
            "from_logits": bool(from_logits),
            "multiclass": multiclass,
            "ties": ties,
            "invalid": invalid,
            "sum_tolerance": sum_tolerance,
        }
        is_auto = sigma == "auto"
        self.shape: dict[str, Any] = {
            "clip": CLIP,
            "largest_logit": LARGEST_LOGIT,
            "n_bins": [n_bins] if isinstance(n_bins, int) else list(n_bins),
            "resolution": RESOLUTION if is_auto and resolution is None else resolution,
        }
        if not is_auto and resolution is None:
            self.shape.update(tolerance=tolerance, smallest_sigma=sigma)
        n_words = self._empty()._held.dense_len(not from_logits)
        self.add_state("words", torch.zeros(n_words, dtype=torch.int64), dist_reduce_fx="sum")
        # The bits of a double that is not negative, which are ordered as the doubles are; some
        # devices have no doubles.
        self.add_state("score_error", torch.zeros((), dtype=torch.int64), dist_reduce_fx="max")
        self.add_state("kind", self._kind(), dist_reduce_fx="max")

    def update(self, preds: torch.Tensor, target: torch.Tensor) -> None:
        """Adds the rows of a batch.

        Parameters
        ----------
        preds : torch.Tensor
            Probabilities, or logits if `from_logits`: of shape (n,) for a binary outcome, (n, k)
            for k classes.
        target : torch.Tensor
            Outcomes 0 and 1, or class indices, of shape (n,); or one-hot rows, of shape (n, k).
        """
        of_probabilities = not self.reading["from_logits"]
        batch = self._empty().update(_array(target), _array(preds), **self._asked_of_rows)
        places, words, score_error = batch._held.to_dense(of_probabilities)
        device = self.words.device
        # In place, since a copy of all words would take longer than the batch; but a state that was
        # made in inference mode cannot be changed outside.
        if self.words.is_inference() and not torch.is_inference_mode_enabled():
            self.words = self.words.clone()
        self.words.index_add_(0, torch.from_numpy(places).to(device), torch.from_numpy(words).to(device))
        if score_error > 0:
            error = torch.tensor(_bits(score_error), dtype=torch.int64, device=device)
            self.score_error = torch.maximum(self.score_error, error)

    def compute(self) -> torch.Tensor:
        """LS-ECE of all rows of all processes, as a double where the device has doubles."""
        value = float(self._gathered().ls_ece(**self.asked))
        dtype = torch.float32 if self.words.device.type == "mps" else torch.float64
        return torch.tensor(value, dtype=dtype, device=self.words.device)

    def estimate(self) -> Estimate:
        """What `compute` gives, with its numerical bound and settings.

        All processes must ask for it.
        """
        return self.sketch().ls_ece(**self.asked)

    def assess(self, **options: Any) -> Assessment:
        """`Sketch.assess` of all rows of all processes: interval and significance.

        All processes must ask for it.
        """
        return self.sketch().assess(**{**self.asked, **options})

    def sketch(self) -> Sketch:
        """The sketch of all rows of all processes, for every other measure.

        All processes must ask for it.
        """
        if self._is_synced:
            return self._gathered()
        with self.sync_context(
            dist_sync_fn=self.dist_sync_fn, should_sync=self._to_sync, should_unsync=self._should_unsync
        ):
            return self._gathered()

    def set_dtype(self, dst_type: str | torch.dtype) -> LogitSmoothedECE:  # noqa: ARG002
        """Nothing: the state is integers, whatever the type of predictions is."""
        return self

    def _empty(self) -> Sketch:
        return Sketch(**self.shape)

    @property
    def _asked_of_rows(self) -> dict[str, Any]:
        """The options of rows that are not the default: without any, a batch is read quickly."""
        return {name: value for name, value in self.reading.items() if value != _DEFAULTS[name]}

    def _gathered(self) -> Sketch:
        if not torch.equal(self.kind.cpu(), self._kind()):
            raise ValueError("states must be those of metrics with the same options")
        score_error = struct.unpack("<d", struct.pack("<q", int(self.score_error)))[0]
        words = self.words.cpu().contiguous().numpy()
        return Sketch._holding(self._empty()._held.of_dense(words, score_error, not self.reading["from_logits"]))

    def _kind(self) -> torch.Tensor:
        """Numbers that stand for the options that make the state, below 2^15.

        States of other options differ in them, so that a MetricCollection shares none between
        metrics that read rows differently; each comes with its complement, so that the largest tell
        whether all are the same.
        """
        digest = hashlib.sha256(repr((sorted(self.shape.items()), sorted(self.reading.items()))).encode()).digest()
        own = [word >> 1 for word in struct.unpack("<8H", digest[:16])]
        return torch.tensor([*own, *((1 << 15) - 1 - word for word in own)], dtype=torch.int64)


def _array(values: torch.Tensor) -> Any:
    """What numpy can read of a tensor, wherever it is.

    Half precision as single, which holds every value of it.
    """
    if not isinstance(values, torch.Tensor):
        raise TypeError(f"preds and target must be tensors, got {type(values).__name__}")
    values = values.detach()
    if values.dtype in (torch.float16, torch.bfloat16):
        values = values.float()
    return values.cpu().numpy()


def _bits(value: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits
