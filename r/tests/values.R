# Values of the package are those that the command prints for the same rows, to the last digit.
# CALIPERS_EXAMPLES is the folder examples/ of the repository, CALIPERS the command.

library(calipers)

rejects <- function(call, text) {
  message <- tryCatch({ call; "no error" }, error = conditionMessage)
  if (!grepl(text, message, fixed = TRUE)) stop("expected: ", text, "\ngot: ", message)
}

examples <- Sys.getenv("CALIPERS_EXAMPLES")
if (!nzchar(examples) || !nzchar(Sys.which(Sys.getenv("CALIPERS", "calipers")))) {
  message("not tested: set CALIPERS_EXAMPLES and CALIPERS")
  quit(status = 0)
}
file <- file.path(examples, "breast_cancer.csv")
rows <- read.csv(file)
y <- rows$label
p <- rows$naive_bayes

# What the command prints for the file itself.
asked <- function(...) {
  lines <- system2(calipers_command(), shQuote(c(..., "--json")), stdout = TRUE)
  jsonlite::fromJSON(paste(lines, collapse = "\n"), simplifyVector = FALSE)
}
of_file <- function(verb, ...) asked(verb, file, "--label", "label", "--prob", "naive_bayes", ...)
first <- function(answer) answer$results[[1]]$measures[[1]]

plain <- c("--floor", "never", "--measure")
stopifnot(
  identical(ls_ece(y, p), first(of_file("measure", plain, "ls_ece"))$value),
  identical(ls_ece(y, p, sigma = 0.3), first(of_file("measure", plain, "ls_ece", "--sigma", "0.3"))$value),
  identical(ece(y, p), first(of_file("measure", plain, "expected_calibration_error"))$value),
  identical(ece(y, p, n_bins = 10), first(of_file("measure", plain, "expected_calibration_error", "--n-bins", "10"))$value),
  identical(ls_ece(y == 1, p), ls_ece(y, p)),
  identical(ls_ece(factor(y, labels = c("benign", "malignant")), p), ls_ece(y, p)),
  abs(ece(y, p, weight = rep(2, length(y))) - ece(y, p)) < 1e-12
)

# The definition of the binned error, written out.
bins <- pmax(ceiling(p * 15), 1)
gaps <- tapply(y, bins, sum) - tapply(p, bins, sum)
stopifnot(abs(ece(y, p) - sum(abs(gaps)) / length(y)) < 1e-12)

found <- assess(y, p, sigma = 0.3, n_resamples = 100)
printed <- first(of_file("assess", "--measure", "ls_ece", "--sigma", "0.3", "--n-resamples", "100"))
stopifnot(
  identical(found$value, printed$value), identical(found$interval, printed$interval),
  identical(found$p_value, printed$p_value), identical(found$sentence, printed$sentence)
)
clustered <- assess(y, p, sigma = 0.3, n_resamples = 100, cluster = rep_len(letters, length(y)))
stopifnot(clustered$n_clusters == 26)

models <- list("naive Bayes" = p, "model_1" = rows$mlp)
compared <- compare(y, models, sigma = 0.3, n_resamples = 100)
printed <- asked("compare", file, "--label", "label", "--prob", "naive_bayes", "--prob", "mlp",
                 "--measure", "ls_ece", "--sigma", "0.3", "--n-resamples", "100")
pair <- printed$comparisons[[1]]$pairs[[1]]
stopifnot(
  identical(compared$pairs$difference, pair$difference), identical(compared$pairs$p_value, pair$p_value),
  identical(names(compared$values), names(models)), grepl("naive Bayes", compared$sentence, fixed = TRUE),
  setequal(unlist(compared$pairs[c("first", "second")]), names(models))
)

map <- recalibrate(y, p, method = "platt", n_resamples = 50)
repaired <- predict(map, p)
stopifnot(
  length(repaired) == length(p), all(repaired > 0 & repaired < 1), !is.unsorted(repaired[order(p)]),
  ls_ece(y, repaired, sigma = 0.3) < ls_ece(y, p, sigma = 0.3)
)
# Without its ridge, Platt's map is a logistic regression on the logits.
inner <- pmin(pmax(rows$mlp, 1e-4), 1 - 1e-4)
fit <- glm(y ~ qlogis(inner), family = binomial, epsilon = 1e-14)
platt <- recalibrate(y, inner, method = "platt", ridge = 0, n_resamples = 50)
stopifnot(max(abs(fitted(fit) - predict(platt, inner))) < 1e-8)

# CORP: the Brier score less that of the isotonic regression, which reliabilitydiag reports as miscalibration.
pooled <- isoreg(p, y)
corp <- mean((y - p)^2) - mean((y[pooled$ord] - pooled$yf)^2)
stopifnot(abs(measure(y, p, "corp_miscalibration")$value - corp) < 1e-12)

rejects(ls_ece(y, 100 * p), "pass scale = 100")
rejects(ls_ece(y + 1, p), "label in row 1 must be 0 or 1, got 2; the labels are")
rejects(ls_ece(y + 1, p), "name the positive label with pos_label")
stopifnot(identical(ls_ece(y + 1, p, pos_label = 2), ls_ece(y, p)))
rejects(ls_ece(y, replace(p, 17, NaN)), "probability in row 17 must be in [0, 1], got NaN; correct it, or pass invalid = \"count\"")
rejects(ls_ece(y, replace(p, 17, 1.5)), "probability in row 17 must be in [0, 1], got 1.5")
rejects(ls_ece(y, cbind(p, 1 - p)), "p must be a vector, got 569 x 2 values")
rejects(ls_ece(y, as.character(p)), "p must be numeric, got character")
rejects(measure(y, p, "ls_ec"), "ls_ece")
rejects(measure(y, p, "ici", options = c(smoother = "loess")), "options must be a list with names")
rejects(compare(y, list(a = p, b = letters[1 + y])), "b must be numeric, got character")
known <- options(calipers.command = "/nowhere/calipers")
rejects(ls_ece(y, p), "the calipers command is not found at \"/nowhere/calipers\"; run pip install calipers-cli")
options(known)
rejects(ls_ece(y[-1], p), "all vectors must have the same length, got 568, 569")
rejects(ls_ece(letters[1 + y], p), "y must be numeric, logical or a factor with 2 levels")
rejects(compare(y, list(p, p)), "models must be a list")
rejects(ls_ece(y, p, 0.3, NULL, 0.5), "further arguments must have names")
rejects(
  ls_ece(y, replace(p, 17, NA)),
  "probability in row 17 is missing; correct it, or pass invalid = \"count\" to leave such rows out"
)
stopifnot(is.numeric(ls_ece(y, replace(p, 17, NA), invalid = "count")))
cat("values of R are those of the command\n")
stopifnot(length(list.files(tempdir(), "^calipers-")) == 0)
