# %% [markdown]
# # A language model's stated confidence
#
# Eleven language models answered questions (true or false, multiple choice) and stated in words how
# sure they were, for example "95 %". Are these statements calibrated? The data are from
# [NoamMichael/Comparing-Confidence-in-LLMs](https://github.com/NoamMichael/Comparing-Confidence-in-LLMs)
# (MIT). They are not part of this repository; `CALIPERS_DATA` is the folder that has them.

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
# ## Round numbers
#
# A network does not compute stated confidence: models state a few round numbers.

# %%
values, counts = np.unique(stated, return_counts=True)
frequent = np.argsort(-counts)[:10]
print(f"{len(values)} different values; the ten most frequent are {counts[frequent].sum() / counts.sum():.0%} of all:")
for at in frequent:
    here = stated == values[at]
    print(f"  stated {values[at]:>4.0%}: {counts[at]:>6,} answers, right in {np.mean(right[here]):.1%}")

# %% [markdown]
# With a handful of values, you can read the gaps from the table. A measure has to combine them, and
# ties are where measures fail: bins with an edge at 0.9 or 0.95 move thousands of answers to one
# side or the other. calipers pools ties, and LS-ECE has no edges. "100 %" and "0 %" have no finite
# logit, so they are clipped to one in a million unless set otherwise, and counted.

# %%
everything = cal.ls_ece(right, stated)
print(f"LS-ECE {everything:.4f}, {everything.n_clipped:,} of {everything.n:,} rows clipped")
for clip in (1e-2, 1e-3, 1e-6):
    print(f"  clipped to [{clip:g}, 1 - {clip:g}]: {cal.ls_ece(right, stated, clip=clip):.4f}")
for n_bins in (10, 15, 20):
    print(f"  ECE with {n_bins} bins: {cal.expected_calibration_error(right, stated, n_bins=n_bins):.4f}")

# %% [markdown]
# The clip hardly matters: an answer that was stated as certain and is wrong counts as a gap of
# almost 1 in any case.
#
# ## Model by model
#
# Each value has its noise floor: the value that a perfectly calibrated model would get on the same
# data by chance alone.

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
# All values are far above their noise floors: with more than 6,000 answers each, this is not
# chance. The floors differ although the numbers of rows do not. A model that states "100 %" most of
# the time has a low floor, because outcomes that are predicted with certainty do not scatter.
#
# Two notes on the intervals. The same questions were put to all models, so rows of *different*
# models are not independent; the table is about one model at a time. A paired comparison
# (`cal.compare`) would need the questions in the same order, which the file does not have.
#
# ## Two curves of one model

# %%
name = max(found, key=lambda each: found[each].value)
mine = model == name
chart = cal.ReliabilityDisplay.from_predictions(right[mine], stated[mine], name=name)

# %%
_ = cal.ReliabilityDisplay.from_predictions(right[mine], stated[mine], kind="corp", name=name)
# %% [markdown]
# The smoothed curve averages neighbours on the logit scale. The curve of CORP is the best
# increasing curve: it has a step where many answers share a value, and no information between
# values that nobody stated. For round numbers CORP is the more literal picture, but it cannot show
# a curve that falls. Where the two curves disagree, the stated confidence does not even rank the
# answers.
#
# ## Is the stated confidence useful?
#
# CORP splits the Brier score into miscalibration (what recalibration would gain), discrimination
# (what the stated values tell) and uncertainty (the score of always predicting the mean rate).

# %%
print(f"{'model':<28}{'Brier':>7}{'miscal.':>9}{'discrim.':>9}{'uncert.':>9}")
for name in models:
    mine = model == name
    parts = cal.corp(right[mine], stated[mine])
    print(
        f"{name:<28}{parts.score:>7.3f}{parts.miscalibration:>9.3f}{parts.discrimination:>9.3f}{parts.uncertainty:>9.3f}"
    )

# %% [markdown]
# Where miscalibration is larger than discrimination, the stated confidence does more harm than
# good: by the Brier score, predicting the mean rate of the model for every answer would be better.
