# %% [markdown]
# # Stated confidence: few values, many ties
#
# A language model that is asked how sure it is, a forecaster or a doctor states round numbers, for
# example "95 %". This notebook measures whether stated confidence is calibrated. It draws its data
# itself, so that it runs anywhere with numpy, matplotlib and calipers, and so that the truth is
# known: three assistants answer the same 6,000 questions, 20 on each of 300 topics, and each of
# them is right with a probability of its own. *Honest* states that probability, rounded. *Sure*
# states more than that, and *flat* knows little about its own answers.

# %%
import calipers as cal
import numpy as np

rng = np.random.default_rng(0)
n_topics, per_topic = 300, 20
topic = np.repeat(np.arange(n_topics), per_topic)
ease = np.repeat(rng.normal(1.0, 0.8, n_topics), per_topic) + rng.normal(0.0, 1.0, topic.size)
habits = np.array([0.0, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0])


def logistic(logits):
    return 1 / (1 + np.exp(-logits))


def stated_as(probabilities):
    """The nearest number that people say."""
    return habits[np.abs(probabilities[:, None] - habits).argmin(axis=1)]


right = rng.random(topic.size) < logistic(ease)
stated = {
    "honest": stated_as(logistic(ease)),
    "sure": stated_as(logistic(1.6 * ease + 0.8)),
    "flat": stated_as(logistic(0.4 * ease + 1.6 + rng.normal(0.0, 0.7, topic.size))),
}
print(f"{topic.size:,} answers, {np.mean(right):.3f} of them right")
for name, each in stated.items():
    print(f"  {name}: {np.mean(each):.3f} was stated on average")

# %% [markdown]
# ## Stated confidence has few distinct values

# %%
for value, count in zip(*np.unique(stated["sure"], return_counts=True), strict=True):
    print(f"  said {value:>4.0%}: {count:>5,} answers, right in {np.mean(right[stated['sure'] == value]):.1%}")

# %% [markdown]
# With so few values, the table shows the gaps directly. A measure has to combine them, and ties are
# a common source of errors: bins with an edge at 0.9 or 0.95 put thousands of answers on one side
# or the other. calipers pools ties, and LS-ECE has no edges. But "100 %" and "0 %" have no finite
# logit. They are clipped, by default to one in a million, and counted.

# %%
error = cal.ls_ece(right, stated["sure"])
print(f"LS-ECE {error:.4f}, {error.n_clipped:,} of {error.n:,} rows clipped")
for clip in (1e-2, 1e-3, 1e-6):
    print(f"  clipped to [{clip:g}, 1 - {clip:g}]: {cal.ls_ece(right, stated['sure'], clip=clip):.4f}")
for n_bins in (10, 15, 20):
    print(f"  ECE with {n_bins} bins: {cal.expected_calibration_error(right, stated['sure'], n_bins=n_bins):.4f}")

# %% [markdown]
# The clip has little effect: an answer that was stated as certain and is wrong counts as a gap of
# nearly 1 in any case.
#
# ## Assess each assistant
#
# The questions of one topic are easy or hard together, so answers are not independent: topics are
# clusters. Each assistant has its noise floor: the value that an assistant with calibrated
# confidence would get on the same data by chance alone.

# %%
for name, each in stated.items():
    found = cal.assess(right, each, cluster=topic)
    print(f"{name}: {found.sentence}\n")

# %% [markdown]
# ## Compare them
#
# All three answered the same questions, so differences are taken question by question.

# %%
print(cal.compare(right, stated, cluster=topic))

# %% [markdown]
# ## Two curves
#
# The smoothed curve is a mean over neighbours on the logit scale. A line is bold where chance does
# not explain its distance from the diagonal.

# %%
_ = cal.ReliabilityDisplay.from_models(right, stated, cluster=topic)
# %% [markdown]
# Sure and flat have nearly the same curve. Flat is worse since more of its answers are at places
# where the gap is large, as the bars below the chart show.
#
# The CORP curve is the best increasing curve through the stated values, without any smoothing. For
# round values it is the more literal picture, but it cannot show a decreasing curve.

# %%
_ = cal.ReliabilityDisplay.from_models(right, stated, kind="corp", cluster=topic)
# %% [markdown]
# ## Is the stated confidence useful?
#
# CORP divides the Brier score into miscalibration (the gain of recalibration), discrimination (the
# information in the stated values) and uncertainty (the score of always stating the mean rate).

# %%
print(f"{'assistant':<12}{'Brier':>7}{'miscal.':>9}{'discrim.':>9}{'uncert.':>9}")
for name, each in stated.items():
    parts = cal.corp(right, each)
    print(
        f"{name:<12}{parts.score:>7.3f}{parts.miscalibration:>9.3f}{parts.discrimination:>9.3f}{parts.uncertainty:>9.3f}"
    )

# %% [markdown]
# If miscalibration is larger than discrimination, the stated confidence is worse than no
# confidence: by the Brier score, stating the mean rate for every answer would be better. That is so
# for flat. Sure knows as much as honest does; recalibration would give it the same score.
