# %% [markdown]
# # The stated confidence of language models
#
# Eleven language models answered questions (true or false, multiple choice) and stated how sure
# they were, for example "95 %". This notebook measures whether their stated confidence is
# calibrated. The data are from
# [NoamMichael/Comparing-Confidence-in-LLMs](https://github.com/NoamMichael/Comparing-Confidence-in-LLMs)
# (MIT), and not part of this repository: `CALIPERS_DATA` is the folder that has them.

# %%
import os
from pathlib import Path

import calipers as cal
import numpy as np
import pyarrow.parquet as pq

folder = Path(os.environ.get("CALIPERS_DATA", "../../shared/data"))
table = pq.read_table(folder / "llm_stated_confidence.parquet")
stated, right, model = (table[name].to_numpy() for name in ("prob", "label", "llm"))
models = sorted(set(model))
print(f"{len(stated):,} answers of {len(models)} models")
print(f"{np.mean(right):.3f} are right, {np.mean(stated):.3f} was stated on average")

# %% [markdown]
# ## Stated confidence has few distinct values
#
# A stated confidence is not computed by a network. Models use round numbers, and few of them.

# %%
values, counts = np.unique(stated, return_counts=True)
frequent = np.argsort(-counts)[:10]
print(f"{len(values)} different values; the ten most frequent are {counts[frequent].sum() / counts.sum():.0%} of all:")
for at in frequent:
    here = stated == values[at]
    print(f"  said {values[at]:>4.0%}: {counts[at]:>6,} answers, right in {np.mean(right[here]):.1%}")

# %% [markdown]
# With so few values, the table shows the gaps directly. A measure has to combine them, and ties are
# a common source of errors: bins with an edge at 0.9 or 0.95 put thousands of answers on one side
# or the other. calipers pools ties, and LS-ECE has no edges. But "100 %" and "0 %" have no finite
# logit. They are clipped, by default to one in a million, and counted.

# %%
everything = cal.ls_ece(right, stated)
print(f"LS-ECE {everything:.4f}, {everything.n_clipped:,} of {everything.n:,} rows clipped")
for clip in (1e-2, 1e-3, 1e-6):
    print(f"  clipped to [{clip:g}, 1 - {clip:g}]: {cal.ls_ece(right, stated, clip=clip):.4f}")
for n_bins in (10, 15, 20):
    print(f"  ECE with {n_bins} bins: {cal.expected_calibration_error(right, stated, n_bins=n_bins):.4f}")

# %% [markdown]
# The clip has little effect: an answer that was stated as certain and is wrong counts as a gap of
# nearly 1 in any case.
#
# ## Assess each model
#
# Each model has its noise floor: the value that a model with calibrated stated confidence would get
# on the same data by chance alone.

# %%
found = {name: cal.assess(right[model == name], stated[model == name]) for name in models}
print(f"{'model':<28}{'right':>7}{'stated':>8}{'LS-ECE':>8}  {'95 % interval':<16}{'floor':>7}")
for name, each in sorted(found.items(), key=lambda pair: pair[1].value):
    mine, interval = model == name, each.interval
    print(
        f"{name:<28}{np.mean(right[mine]):>7.3f}{np.mean(stated[mine]):>8.3f}{each.value:>8.3f}  "
        f"[{interval.lower:.3f}, {interval.upper:.3f}]  {each.floor.mean:>7.4f}"
    )

# %% [markdown]
# All values are far above their floors: with more than 6,000 answers each, chance does not explain
# them. Floors differ although the numbers of rows do not. A model that states "100 %" most of the
# time has little random variation, since a calibrated model that is certain is never wrong.
#
# There are two notes on the intervals. All models had the same questions, so rows of *different*
# models are not independent: the table is about one model at a time, and no value is about all of
# them. A paired comparison (`cal.compare`) needs the questions in the same order, which the file
# does not have.
#
# ## Two curves of one model

# %%
name = max(found, key=lambda each: found[each].value)
mine = model == name
chart = cal.ReliabilityDisplay.from_predictions(right[mine], stated[mine], name=name)

# %%
_ = cal.ReliabilityDisplay.from_predictions(right[mine], stated[mine], kind="corp", name=name)
# %% [markdown]
# The smoothed curve is a mean over neighbours on the logit scale. The CORP curve is the best
# increasing curve. It has a step where many answers share a value, and no information between
# stated values. For round values, CORP is the more literal picture, but it cannot show a decreasing
# curve. Where the two curves disagree, a higher stated confidence does not mean a higher rate of
# right answers.
#
# ## Is the stated confidence useful?
#
# CORP divides the Brier score into miscalibration (the gain of recalibration), discrimination (the
# information in the stated values) and uncertainty (the score of always stating the mean rate).

# %%
print(f"{'model':<28}{'Brier':>7}{'miscal.':>9}{'discrim.':>9}{'uncert.':>9}")
for name in models:
    mine = model == name
    parts = cal.corp(right[mine], stated[mine])
    print(
        f"{name:<28}{parts.score:>7.3f}{parts.miscalibration:>9.3f}{parts.discrimination:>9.3f}{parts.uncertainty:>9.3f}"
    )

# %% [markdown]
# If miscalibration is larger than discrimination, the stated confidence is worse than no
# confidence: by the Brier score, stating the model's mean rate for every answer would be better.
