# %% [markdown]
# # A scikit-learn classifier, end to end
#
# Train a model, ask whether its probabilities can be believed, look at where they go wrong, recalibrate, and show
# that this has helped. Everything here runs in a few seconds with numpy, scikit-learn, matplotlib and calipers.

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
print(f"{len(y_train):,} rows to train on, {len(y_test):,} to be judged by")

# %% [markdown]
# Naive Bayes takes features to be independent. Six of these are sums of others, so it counts the same evidence more
# than once, and is too sure of itself.

# %%
bayes = GaussianNB().fit(X_train, y_train)
said = bayes.predict_proba(X_test)[:, 1]
print(f"accuracy {accuracy_score(y_test, said > 0.5):.3f}")

# %% [markdown]
# ## One figure
#
# `ls_ece` is the mean gap between what is said and what happens. It is a float that also knows the numerical bound
# and the settings that made it. Sigma, the resolution on the scale of the logits, is chosen automatically from the
# number of rows and the spread of the predictions.

# %%
cal.ls_ece(y_test, said)

# %% [markdown]
# ## How much of it can be trusted?
#
# 6,000 outcomes are scattered about their probabilities, so even a calibrated model would show a gap: the *noise
# floor*. `assess` draws outcomes from the predictions to find it, and gives an interval and a p-value.

# %%
found = cal.assess(y_test, said)
print(found)

# %% [markdown]
# ## Where does it go wrong?
#
# The curve is the rate of outcomes at each predicted probability, and the band is where the curve of a calibrated
# model would lie. Below the diagonal on the right and above it on the left: too sure, on both sides.

# %%
_ = cal.ReliabilityDisplay.from_predictions(y_test, said, name="Naive Bayes")
# %% [markdown]
# The same in another form, without smoothing: rows in the order of their predictions, and the sum of what happened
# less what was said. Slopes are gaps; the band is where a calibrated model stays.

# %%
_ = cal.CumulativeDisplay.from_estimator(bayes, X_test, y_test, name="Naive Bayes")
# %% [markdown]
# Would the usual ECE say the same with another number of bins? Here it would: it moves hardly more than chance would
# move it.

# %%
_ = cal.SweepDisplay.from_estimator(bayes, X_test, y_test, name="Naive Bayes")
# %% [markdown]
# ## Recalibrate
#
# scikit-learn's `CalibratedClassifierCV` learns a map from scores to probabilities on folds of the training rows: a
# logistic curve ("sigmoid") or any curve that rises ("isotonic").

# %%
models = {"naive Bayes": bayes}
for method in ("sigmoid", "isotonic"):
    models[method] = CalibratedClassifierCV(GaussianNB(), method=method, cv=5).fit(X_train, y_train)
probabilities = {name: model.predict_proba(X_test)[:, 1] for name, model in models.items()}

compared = cal.compare(y_test, probabilities)
print(compared)

# %% [markdown]
# All models answered for the same rows, so that differences are known better than each figure is: `compare` subtracts
# them row by row. The sigmoid curve has the wrong shape for naive Bayes and makes it underconfident in part; the
# isotonic one shows no miscalibration.

# %%
chart = None
for name, each in probabilities.items():
    chart = cal.ReliabilityDisplay.from_predictions(y_test, each, name=name, ax=None if chart is None else chart.ax_)

# %% [markdown]
# A proper score sees calibration and sharpness together, and should not have become worse:

# %%
for name, each in probabilities.items():
    print(f"{name:<12} Brier score {cal.brier_score(y_test, each):.4f}, log loss {cal.log_loss(y_test, each):.4f}")

# %% [markdown]
# ## Cross-validation
#
# The functions have scikit-learn's order of arguments, so `make_scorer` takes them as they are. Larger is worse.

# %%
scorer = make_scorer(cal.ls_ece, greater_is_better=False, response_method="predict_proba")
for name, model in models.items():
    scores = -cross_validate(model, X, y, scoring=scorer, cv=5)["test_score"]
    print(f"{name:<12}", " ".join(f"{score:.4f}" for score in scores))

# %% [markdown]
# A word of caution: the mean over folds is not the figure of all rows. Each fold has its own noise floor, and a fifth
# of the rows has a higher one. To judge a procedure, put the predictions of all folds together and assess them once.

# %%
together = cross_val_predict(models["isotonic"], X, y, cv=5, method="predict_proba")[:, 1]
print(cal.assess(y, together).sentence)
