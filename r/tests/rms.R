# The indices of val.prob() in the package rms, beside those of calipers on the same rows.
# CALIPERS_EXAMPLES is the folder examples/ of the repository, CALIPERS the command.

if (!requireNamespace("rms", quietly = TRUE)) {
  message("not compared with rms: it is not installed (apt-get install r-cran-rms)")
  quit(status = 0)
}
examples <- Sys.getenv("CALIPERS_EXAMPLES")
if (!nzchar(examples) || !nzchar(Sys.which(Sys.getenv("CALIPERS", "calipers")))) {
  message("not tested: set CALIPERS_EXAMPLES and CALIPERS")
  quit(status = 0)
}
library(calipers)
rows <- read.csv(file.path(examples, "breast_cancer.csv"))

close_to <- function(what, ours, theirs, tolerance) {
  far <- abs(ours - theirs)
  if (!(far <= tolerance)) stop(sprintf("%s is %.17g, and %.17g in R: %g apart", what, ours, theirs, far))
}

for (model in c("logistic_regression", "naive_bayes", "random_forest", "mlp")) {
  # val.prob() drops probabilities of 0 and 1 from its regression, calipers moves them to 1e-15.
  inner <- rows[[model]] > 1e-15 & rows[[model]] < 1 - 1e-15
  y <- rows$label[inner]
  p <- rows[[model]][inner]
  theirs <- rms::val.prob(p, y, pl = FALSE)
  of <- function(name, ...) measure(y, p, name, options = list(...))$value
  by_loess <- function(name) of(name, smoother = "loess", degree = 1, span = 2 / 3)
  close_to("Brier score", of("brier_score"), theirs[["Brier"]], 1e-12)
  close_to("slope", of("calibration_slope", clip = 1e-15), theirs[["Slope"]], 1e-6)
  close_to("intercept", of("calibration_intercept", clip = 1e-15), theirs[["Intercept"]], 1e-6)
  close_to("Emax", by_loess("emax"), theirs[["Emax"]], 1e-8)
  # lowess() fits no slope where a window is narrower than 0.1 % of the axis, as most are for naive Bayes.
  if (model == "naive_bayes") next
  # By default lowess() fits at one place for each 1 % of the axis, and E90 has a quantile between rows.
  gaps <- abs(p - approx(lowess(p, y, iter = 0, delta = 0), xout = p, ties = mean)$y)
  close_to("Eavg", by_loess("ici"), mean(gaps), 1e-8)
  close_to("E90", by_loess("e90"), quantile(gaps, 0.9, type = 2), 1e-8)
  close_to("Eavg of val.prob", by_loess("ici"), theirs[["Eavg"]], 1e-6)
  close_to("E90 of val.prob", by_loess("e90"), theirs[["E90"]], 1e-5)
}
cat("indices and coefficients are those of rms::val.prob and lowess\n")
