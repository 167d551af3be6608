# %% [markdown]
# # CIFAR-10 networks on raw logits
#
# Which of three residual networks has the most honest confidence? The files have the raw scores ("logits") of the
# ResNet-20, -32 and -56 of [akamaster/pytorch_resnet_cifar10](https://github.com/akamaster/pytorch_resnet_cifar10)
# for the 10,000 test images. They are not part of this repository: `CALIPERS_DATA` says where they are.

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
# A softmax in single precision rounds many confidences to exactly 1, whose logit is infinite. From the scores
# themselves the logit of the top class is finite and exact: its score less the log-sum-exp of the others.
# `from_logits=True` says that these are raw scores; calipers never guesses.

# %%
for name, each in scores.items():
    exponentials = np.exp(each - each.max(axis=1, keepdims=True))
    softmax = exponentials / exponentials.sum(axis=1, keepdims=True)
    from_softmax = cal.ls_ece(labels, softmax)
    from_scores = cal.ls_ece(labels, each, from_logits=True)
    n_certain = np.sum(softmax.max(axis=1) == 1)
    print(f"{name}: {n_certain} rows at exactly 1; clipped {from_softmax:.6f}, from scores {from_scores:.6f}")

# %% [markdown]
# Confidence of the top class is what is asked about here, for ten classes the default. The figures are the same to
# five digits, though a third of the rows was at exactly 1: rows that are all but certain, and right, have little to
# say about a mean gap. Raw scores are the safe way all the same: nothing has to be clipped, and nothing said about a
# clip.
#
# ## One network

# %%
print(cal.assess(labels, scores["ResNet-20"], from_logits=True))

# %%
chart = None
for name, each in scores.items():
    chart = cal.ReliabilityDisplay.from_predictions(
        labels, each, from_logits=True, name=name, ax=None if chart is None else chart.ax_
    )

# %% [markdown]
# All three lie below the diagonal: too sure of themselves, and by about as much. Which one is best is not to be seen
# by eye.
#
# ## All three, in pairs
#
# The networks saw the same images. An image that is hard is hard for all of them, so the *difference* of two figures
# is known better than either. `compare` subtracts row by row.

# %%
compared = cal.compare(labels, scores, from_logits=True)
print(compared)

# %% [markdown]
# The intervals of the three figures overlap, and yet ResNet-20 and ResNet-56 are told apart; between neighbours
# nothing is seen. The last column is adjusted for having looked at three pairs.
#
# ## Does the answer depend on sigma?

# %%
print("sigma   " + "  ".join(f"{name:>9}" for name in scores))
for sigma in (0.05, 0.1, 0.2, 0.3, 0.5, 1.0):
    print(
        f"{sigma:<6}  "
        + "  ".join(f"{cal.ls_ece(labels, each, from_logits=True, sigma=sigma):>9.4f}" for each in scores.values())
    )

# %% [markdown]
# The order of the three is the same at every sigma, and the figures move by a thousandth. And the usual ECE?

# %%
swept = cal.sweep(labels, scores["ResNet-56"], from_logits=True)
print(swept.verdict)
_ = cal.SweepDisplay.from_predictions(labels, scores["ResNet-56"], from_logits=True, name="ResNet-56")
# %% [markdown]
# ## Class by class
#
# The top class is one question. Another: is each class's probability right, taken against the rest? Most
# probabilities are near 0 then, and so are the gaps.

# %%
for name, each in scores.items():
    print(f"{name}: class-wise LS-ECE {cal.ls_ece(labels, each, from_logits=True, multiclass='classwise'):.5f}")
