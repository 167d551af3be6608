# %% [markdown]
# # CIFAR-10 networks on raw logits
#
# This notebook compares the calibration of three residual networks. The files have the raw scores
# ("logits") of the ResNet-20, -32 and -56 of
# [akamaster/pytorch_resnet_cifar10](https://github.com/akamaster/pytorch_resnet_cifar10) for the
# 10,000 test images. They are not part of this repository: `CALIPERS_DATA` is the folder that has
# them.

# %%
import os
from pathlib import Path

import calipers as cal
import numpy as np

folder = Path(os.environ.get("CALIPERS_DATA", "../../shared/data"))
scores = {}
for depth in (20, 32, 56):
    with np.load(folder / f"cifar10_resnet{depth}_akamaster.npz") as file:
        scores[f"ResNet-{depth}"], labels = file["logits"], file["labels"]

for name, each in scores.items():
    print(f"{name}: accuracy {np.mean(each.argmax(axis=1) == labels):.4f}, scores {each.dtype} {each.shape}")

# %% [markdown]
# ## Why raw scores
#
# A softmax in single precision rounds many confidences to exactly 1, whose logit is infinite.
# Computed from the scores, the logit of the top class is finite and exact: its score minus the
# log-sum-exp of the others. `from_logits=True` declares raw scores; calipers never guesses.

# %%
for name, each in scores.items():
    exponentials = np.exp(each - each.max(axis=1, keepdims=True))
    softmax = exponentials / exponentials.sum(axis=1, keepdims=True)
    from_softmax = cal.ls_ece(labels, softmax)
    from_scores = cal.ls_ece(labels, each, from_logits=True)
    n_certain = np.sum(softmax.max(axis=1) == 1)
    print(f"{name}: {n_certain} rows at exactly 1; clipped {from_softmax:.6f}, from scores {from_scores:.6f}")

# %% [markdown]
# With ten classes, calipers measures the confidence of the top class by default. The values agree
# to five digits although a third of the rows was at exactly 1, since rows that are nearly certain
# and right add little to a mean gap. Raw scores are still safer, because nothing has to be clipped.
#
# ## Assess one network

# %%
print(cal.assess(labels, scores["ResNet-20"], from_logits=True))

# %%
chart = None
for name, each in scores.items():
    chart = cal.ReliabilityDisplay.from_predictions(
        labels, each, from_logits=True, name=name, ax=None if chart is None else chart.ax_
    )

# %% [markdown]
# All three curves are below the diagonal, by a similar amount: the networks are overconfident. The
# chart does not show which one is best.
#
# ## Compare all three in pairs
#
# The networks predict the same images. An image that is hard for one network is hard for the
# others, so the *difference* of two values is more precise than either. `compare` subtracts row by
# row.

# %%
compared = cal.compare(labels, scores, from_logits=True)
print(compared)

# %% [markdown]
# The intervals of the three values overlap, but the difference between ResNet-20 and ResNet-56 is
# significant. There is no evidence of a difference between neighbours. The last column is adjusted
# for three pairs.
#
# ## Does the result depend on sigma?

# %%
print("sigma   " + "  ".join(f"{name:>9}" for name in scores))
for sigma in (0.05, 0.1, 0.2, 0.3, 0.5, 1.0):
    print(
        f"{sigma:<6}  "
        + "  ".join(f"{cal.ls_ece(labels, each, from_logits=True, sigma=sigma):>9.4f}" for each in scores.values())
    )

# %% [markdown]
# The order of the three is the same at every sigma, and the values change by a thousandth. The next
# cell shows how the usual ECE depends on its bins.

# %%
swept = cal.sweep(labels, scores["ResNet-56"], from_logits=True)
print(swept.verdict)
_ = cal.SweepDisplay.from_predictions(labels, scores["ResNet-56"], from_logits=True, name="ResNet-56")
# %% [markdown]
# ## Measure each class
#
# The cells above measure the top class. The class-wise value measures the probability of each class
# against the rest. Most of these probabilities are near 0, and so are the gaps.

# %%
for name, each in scores.items():
    print(f"{name}: class-wise LS-ECE {cal.ls_ece(labels, each, from_logits=True, multiclass='classwise'):.5f}")
