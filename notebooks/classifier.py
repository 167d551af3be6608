# %% [markdown]
# # A scikit-learn classifier, end to end
#
# This notebook trains a model, measures whether its probabilities are calibrated, shows where they
# are wrong, recalibrates the model, and tests whether that helped. It runs in a few seconds with
# numpy, scikit-learn, matplotlib and calipers.

# %%
import calipers as cal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import cross_val_predict, cross_validate, train_test_split
from sklearn.naive_bayes import GaussianNB

X, y = make_classification(
    n_samples=9_000, n_features=20, n_informative=4, n_redundant=6, class_sep=0.6, flip_y=0.05, random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=3_000, random_state=0)
print(f"{len(y_train):,} rows to train on, {len(y_test):,} to test on")

# %% [markdown]
# Naive Bayes assumes that features are independent. Six of these features are sums of others, so
# naive Bayes counts the same evidence more than once and is overconfident.

# %%
bayes = GaussianNB().fit(X_train, y_train)
predicted = bayes.predict_proba(X_test)[:, 1]
print(f"accuracy {accuracy_score(y_test, predicted > 0.5):.3f}")

# %% [markdown]
# ## Measure it
#
# `ls_ece` is the mean gap between predicted probability and observed frequency. The result is a
# float that also has the numerical bound and the settings that made it. Sigma, the amount of
# smoothing on the logit scale, is chosen automatically from the number of rows and the spread of
# the predictions.

# %%
cal.ls_ece(y_test, predicted)

# %% [markdown]
# ## Is it more than chance?
#
# The 6,000 outcomes scatter about their probabilities, so even a perfectly calibrated model does
# not score 0. Its score is the *noise floor*: the value that a perfectly calibrated model would get
# on the same data by chance alone. `assess` computes it from resamples, together with an interval
# and a p-value.

# %%
found = cal.assess(y_test, predicted)
print(found)

# %% [markdown]
# ## Where is it wrong?
#
# The curve shows the observed frequency at each predicted probability. The band shows where the
# curve of a perfectly calibrated model would lie. This curve is above the diagonal on the left and
# below it on the right: the model is overconfident on both sides.

# %%
_ = cal.ReliabilityDisplay.from_predictions(y_test, predicted, name="Naive Bayes")
# %% [markdown]
# The next chart shows the same without smoothing. Rows are in the order of their predictions, and
# the curve is the sum of outcome minus probability. Slopes are gaps. A perfectly calibrated model
# stays in the band.

# %%
_ = cal.CumulativeDisplay.from_estimator(bayes, X_test, y_test, name="Naive Bayes")
# %% [markdown]
# Would ECE be the same with another number of bins? Here it would: it hardly moves more than chance
# would move it.

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
# All models predict the same rows, so their differences are known better than each value is.
# `compare` uses the differences row by row. The sigmoid curve has the wrong shape for naive Bayes
# and makes it partly underconfident. For the isotonic curve there is no evidence of miscalibration.

# %%
chart = None
for name, each in probabilities.items():
    chart = cal.ReliabilityDisplay.from_predictions(y_test, each, name=name, ax=None if chart is None else chart.ax_)

# %% [markdown]
# A proper score measures calibration and sharpness together. Recalibration should not make it
# worse:

# %%
for name, each in probabilities.items():
    print(f"{name:<12} Brier score {cal.brier_score(y_test, each):.4f}, log loss {cal.log_loss(y_test, each):.4f}")

# %% [markdown]
# ## Cross-validation
#
# The functions take their arguments in scikit-learn's order, so `make_scorer` accepts them
# directly. Larger values are worse.

# %%
scorer = make_scorer(cal.ls_ece, greater_is_better=False, response_method="predict_proba")
for name, model in models.items():
    scores = -cross_validate(model, X, y, scoring=scorer, cv=5)["test_score"]
    print(f"{name:<12}", " ".join(f"{score:.4f}" for score in scores))

# %% [markdown]
# The mean over folds is not the value of all rows. Each fold has a noise floor of its own, which is
# higher because a fold has a fifth of the rows. To judge a procedure, collect the predictions of
# all folds and assess them once.

# %%
together = cross_val_predict(models["isotonic"], X, y, cv=5, method="predict_proba")[:, 1]
print(cal.assess(y, together).sentence)
