# %% [markdown]
# # Ten classes from raw scores
#
# This notebook compares the calibration of three classifiers that read digits. Their raw scores
# ("logits") for 1,797 images are in [examples/](../examples/README.md), so that the notebook runs
# in a clone with numpy, matplotlib and calipers. Each image is scored by a model that was not
# trained on it.

# %%
import calipers as cal
import numpy as np

files = {"logistic regression": "logistic_regression", "naive Bayes": "naive_bayes", "neural network": "mlp"}
scores = {}
for name, file in files.items():
    with np.load(f"../examples/digits_{file}.npz") as arrays:
        scores[name], labels = arrays["logits"], arrays["labels"]

for name, each in scores.items():
    print(f"{name:<20} accuracy {np.mean(each.argmax(axis=1) == labels):.4f}, scores {each.dtype} {each.shape}")

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
    print(f"{name:<20} {n_certain:>5} rows at exactly 1; clipped {from_softmax:.6f}, from scores {from_scores:.6f}")

# %% [markdown]
# With ten classes, calipers measures the confidence of the top class by default. Rows that are
# nearly certain and right add little to a mean gap, so clipping changes little here. Raw scores are
# still safer, because nothing has to be clipped.
#
# ## Assess one model

# %%
print(cal.assess(labels, scores["naive Bayes"], from_logits=True))

# %% [markdown]
# ## Show all three
#
# One call draws all models, at one sigma. A line is bold where chance does not explain its distance
# from the diagonal, and the legend has the value of each model with its interval.

# %%
_ = cal.ReliabilityDisplay.from_models(labels, scores, from_logits=True)
# %% [markdown]
# ## Compare in pairs
#
# The models score the same images. An image that is hard for one model is hard for the others, so
# the *difference* of two values is more precise than either. `compare` subtracts row by row.

# %%
compared = cal.compare(labels, scores, from_logits=True)
print(compared)

# %% [markdown]
# Naive Bayes takes the pixels of an image for independent, so it counts the same evidence many
# times and is far too sure. The last column is adjusted for three pairs.
#
# ## Does the result depend on sigma?

# %%
print("sigma   " + "  ".join(f"{name:>19}" for name in scores))
for sigma in (0.05, 0.1, 0.2, 0.3, 0.5, 1.0):
    print(
        f"{sigma:<6}  "
        + "  ".join(f"{cal.ls_ece(labels, each, from_logits=True, sigma=sigma):>19.4f}" for each in scores.values())
    )

# %% [markdown]
# The order of the three is the same at every sigma. The next cell shows how the usual ECE depends
# on its bins.

# %%
swept = cal.sweep(labels, scores["neural network"], from_logits=True)
print(swept.verdict)
_ = cal.SweepDisplay.from_predictions(labels, scores["neural network"], from_logits=True, name="neural network")
# %% [markdown]
# ## Measure each class
#
# The cells above measure the top class. The class-wise value measures the probability of each class
# against the rest, and takes the mean. `per_class` has the classes behind the mean.

# %%
for name, each in scores.items():
    classwise = cal.ls_ece(labels, each, from_logits=True, multiclass="classwise")
    worst = int(np.argmax(classwise.per_class))
    print(f"{name:<20} class-wise LS-ECE {classwise:.5f}; largest for digit {worst}: {classwise.per_class[worst]:.5f}")
