# Values without chance: what is measured on these rows.

measure <- function(y, p, measure = "ls_ece", weight = NULL, ..., options = list()) {
  model <- one_model(y, p, weight, NULL)
  path <- predictions_file(model$columns)
  args <- c("measure", path, model$options, "--measure", measure, "--floor", "never")
  args <- c(args, measure_options(options), as_options(list(...)))
  found <- run_command(args)$results[[1]]$measures[[1]]
  if (is.null(found$value)) stop(found$unavailable, call. = FALSE)
  found[c("value", "numerical_bound", "settings", "definition")]
}

ls_ece <- function(y, p, sigma = NULL, weight = NULL, ...) {
  measure(y, p, "ls_ece", weight = weight, sigma = sigma, ...)$value
}

ece <- function(y, p, n_bins = 15, weight = NULL, ...) {
  measure(y, p, "expected_calibration_error", weight = weight, n_bins = n_bins, ...)$value
}
