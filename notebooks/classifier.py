# %% [markdown]
# # A scikit-learn classifier, end to end
#
# This notebook trains a classifier, tests whether its probabilities are calibrated, shows where
# they are wrong, recalibrates them, and checks the result. It runs in a few seconds with numpy,
# scikit-learn, matplotlib and calipers.

# %%
import calipers as cal
import calipers.sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB

X, y = make_classification(
    n_samples=9_000, n_features=20, n_informative=4, n_redundant=6, class_sep=0.6, flip_y=0.05, random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=3_000, random_state=0)
print(f"{len(y_train):,} rows to train on, {len(y_test):,} to be judged by")

# %% [markdown]
# Naive Bayes assumes that features are independent. Six of these features are sums of others, so
# naive Bayes counts the same evidence more than once, and is overconfident.

# %%
bayes = GaussianNB().fit(X_train, y_train)
said = bayes.predict_proba(X_test)[:, 1]
print(f"accuracy {accuracy_score(y_test, said > 0.5):.3f}")

# %% [markdown]
# ## Measure the calibration error
#
# `ls_ece` is the mean gap between predicted probabilities and outcome rates. The result is a float
# that also has the numerical bound and the settings. Sigma, the resolution on the logit scale, is
# chosen automatically from the number of rows and the spread of the predictions.

# %%
cal.ls_ece(y_test, said)

# %% [markdown]
# ## Test whether it is more than chance
#
# 6,000 outcomes vary about their probabilities, so even a perfectly calibrated model would get a
# value above 0 by chance alone: the *noise floor*. `assess` resamples outcomes from the predictions
# to compute it, and returns an interval and a p-value.

# %%
found = cal.assess(y_test, said)
print(found)

# %% [markdown]
# ## Find where the predictions are wrong
#
# The curve is the outcome rate at each predicted probability. The band is where the curve of a
# calibrated model would be. The curve is below the diagonal on the right and above it on the left:
# the model is overconfident on both sides.

# %%
_ = cal.ReliabilityDisplay.from_predictions(y_test, said, name="Naive Bayes")
# %% [markdown]
# The next chart shows the same without smoothing: the rows are in the order of their predictions,
# and the line is the sum of outcomes minus predictions. Its slope is the gap. A calibrated model
# stays inside the band.

# %%
_ = cal.CumulativeDisplay.from_estimator(bayes, X_test, y_test, name="Naive Bayes")
# %% [markdown]
# The usual ECE depends on the number of bins. Here it changes hardly more than chance explains.

# %%
_ = cal.SweepDisplay.from_estimator(bayes, X_test, y_test, name="Naive Bayes")
# %% [markdown]
# ## Recalibrate
#
# scikit-learn's `CalibratedClassifierCV` learns a map from scores to probabilities on folds of the
# training rows: a logistic curve ("sigmoid") or any increasing curve ("isotonic").

# %%
models = {"naive Bayes": bayes}
for method in ("sigmoid", "isotonic"):
    models[method] = CalibratedClassifierCV(GaussianNB(), method=method, cv=5).fit(X_train, y_train)
probabilities = {name: model.predict_proba(X_test)[:, 1] for name, model in models.items()}

compared = cal.compare(y_test, probabilities)
print(compared)

# %% [markdown]
# All models predict the same rows, so differences are more precise than the values: `compare`
# subtracts them row by row. The sigmoid curve has the wrong shape for naive Bayes and makes it
# partly underconfident. What is left for the isotonic curve is hardly more than chance: its
# interval reaches down to 0.

# %%
_ = cal.ReliabilityDisplay.from_models(y_test, probabilities)
# %% [markdown]
# A proper score depends on calibration and sharpness together, and should not have become worse:

# %%
for name, each in probabilities.items():
    print(f"{name:<12} Brier score {cal.brier_score(y_test, each):.4f}, log loss {cal.log_loss(y_test, each):.4f}")

# %% [markdown]
# ## Cross-validation
#
# `calipers.sklearn` has a scorer for each measure. scikit-learn takes more for better, so a score
# is less the value.

# %%
for name, model in models.items():
    scores = -cross_val_score(model, X, y, scoring=cal.sklearn.ls_ece_scorer, cv=5)
    print(f"{name:<12}", " ".join(f"{score:.4f}" for score in scores))

# %% [markdown]
# Note that the mean over folds is not the value of all rows. Each fold has its own noise floor,
# which is higher for a fifth of the rows. To evaluate a procedure, assess the predictions of all
# folds together: each row is predicted by a model that was fitted on the other folds.

# %%
print(cal.sklearn.assess(models["isotonic"], X, y, cv=5).sentence)
