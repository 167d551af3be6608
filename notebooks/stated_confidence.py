# %% [markdown]
# # What a language model says of its own confidence
#
# Eleven language models answered questions (true or false, multiple choice), and said in words how sure they were:
# "95 %". Can that be believed? The data are from
# [NoamMichael/Comparing-Confidence-in-LLMs](https://github.com/NoamMichael/Comparing-Confidence-in-LLMs) (MIT), and
# not part of this repository: `CALIPERS_DATA` says where they are.

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
# ## Round figures
#
# Stated confidence is not a number that a network computes: it comes in round figures, and few of them.

# %%
values, counts = np.unique(stated, return_counts=True)
frequent = np.argsort(-counts)[:10]
print(f"{len(values)} different figures; the ten most frequent are {counts[frequent].sum() / counts.sum():.0%} of all:")
for at in frequent:
    here = stated == values[at]
    print(f"  said {values[at]:>4.0%}: {counts[at]:>6,} answers, right in {np.mean(right[here]):.1%}")

# %% [markdown]
# Where all that is said is a handful of figures, the gaps can be read off the table. A measure has to put them
# together, and ties are where measures go wrong: bins with an edge at 0.9 or 0.95 put thousands of answers on one
# side or the other. calipers pools ties, and LS-ECE has no edges. But "100 %" and "0 %" have no finite logit: they
# are clipped, to one in a million unless set, and counted.

# %%
everything = cal.ls_ece(right, stated)
print(f"LS-ECE {everything:.4f}, {everything.n_clipped:,} of {everything.n:,} rows clipped")
for clip in (1e-2, 1e-3, 1e-6):
    print(f"  clipped to [{clip:g}, 1 - {clip:g}]: {cal.ls_ece(right, stated, clip=clip):.4f}")
for n_bins in (10, 15, 20):
    print(f"  ECE with {n_bins} bins: {cal.expected_calibration_error(right, stated, n_bins=n_bins):.4f}")

# %% [markdown]
# The clip hardly matters: an answer that was stated as certain and is wrong counts as a gap of all but 1, whichever
# way.
#
# ## Model by model
#
# At one sigma for all, each with its noise floor: what a model whose stated confidence is right would show for these
# very figures.

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
# All are far above their floors: with more than 6,000 answers each, chance is not what this is about. Floors differ
# although the numbers of rows do not: a model that says "100 %" most of the time has little chance to be scattered,
# since a calibrated model that is certain is never wrong.
#
# Two notes on the intervals. The same questions were put to all models, so that rows of *different* models are not
# independent: the table is about one model at a time, and no figure here is about all of them. And a paired
# comparison (`cal.compare`) would need the questions in the same order, which the file does not have.
#
# ## Two curves of one model

# %%
name = max(found, key=lambda each: found[each].value)
mine = model == name
chart = cal.ReliabilityDisplay.from_predictions(right[mine], stated[mine], name=name)

# %%
_ = cal.ReliabilityDisplay.from_predictions(right[mine], stated[mine], kind="corp", name=name)
# %% [markdown]
# The smoothed curve is a mean over neighbours on the scale of the logits. CORP's is the best curve that rises: it has
# a step where many answers share a figure, and knows nothing between figures that nobody said. For round figures CORP
# is the more literal picture; it cannot show a curve that falls. Where smoothed and rising curve disagree, confidence
# does not even put answers in order.
#
# ## How much would it help to listen?
#
# CORP splits the Brier score into miscalibration (what recalibration would gain), discrimination (what the stated
# figures tell) and uncertainty (what always saying the mean rate would cost).

# %%
print(f"{'model':<28}{'Brier':>7}{'miscal.':>9}{'discrim.':>9}{'uncert.':>9}")
for name in models:
    mine = model == name
    parts = cal.corp(right[mine], stated[mine])
    print(
        f"{name:<28}{parts.score:>7.3f}{parts.miscalibration:>9.3f}{parts.discrimination:>9.3f}{parts.uncertainty:>9.3f}"
    )

# %% [markdown]
# Where miscalibration is larger than discrimination, the stated confidence as it is does more harm than good: by the
# Brier score, saying the model's mean rate for every answer would be better.
