"""The paper's estimator of LS-ECE, from its definition (section 5), as a user would run it in torch.

T = rho(h_I + xi) with I uniform over the rows. E[Y | T = t] is the Nadaraya-Watson regression with the density of xi as
kernel, so the estimate is the mean of |E[Y | T] - T| over n_t samples. Broadcast makes matrices of n_t by n.
"""

from __future__ import annotations

import math

import torch

N_SAMPLES = 10_000


def ls_ece(p: torch.Tensor, y: torch.Tensor, sigma: float, seed: int = 0) -> float:
    """One draw of the estimator, in torch's default precision."""
    random = torch.Generator().manual_seed(seed)
    h = torch.logit(p.to(torch.float32), eps=1e-6)
    rows = torch.randint(len(h), (N_SAMPLES,), generator=random)
    t = h[rows] + sigma * torch.randn(N_SAMPLES, generator=random)
    kernel = torch.exp(-0.5 * ((t[:, None] - h[None, :]) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
    regression = kernel @ y.to(torch.float32) / kernel.sum(dim=1)
    return float((regression - torch.sigmoid(t)).abs().mean())
