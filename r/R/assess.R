# A value with its noise floor, interval and p-value; and the difference of two models.

assess <- function(y, p, measure = "ls_ece", weight = NULL, cluster = NULL, ..., options = list()) {
  model <- one_model(y, p, weight, cluster)
  path <- predictions_file(model$columns)
  args <- c("assess", path, model$options, "--measure", measure, measure_options(options), as_options(list(...)))
  found <- run_command(args)$results[[1]]$measures[[1]]
  if (is.null(found$value)) stop(found$unavailable, call. = FALSE)
  structure(found, class = "calipers_assessment")
}

print.calipers_assessment <- function(x, ...) {
  cat(strwrap(x$sentence), sep = "\n")
  invisible(x)
}

compare <- function(y, models, measure = "ls_ece", weight = NULL, cluster = NULL, ..., options = list()) {
  if (!is.list(models) || length(models) < 2 || is.null(names(models)) || anyDuplicated(names(models))) {
    stop("models must be a list or data frame of at least two vectors with different names", call. = FALSE)
  }
  model <- one_model(y, models[[1]], weight, cluster)
  # Named by their places, so that no name is taken for that of another column.
  places <- sprintf("model_%d", seq_along(models))
  others <- model$columns[names(model$columns) != "prob"]
  columns <- c(others, stats::setNames(Map(as_column, models, names(models)), places))
  flags <- c(model$options[!model$options %in% c("--prob", "prob")], rbind("--prob", places))
  path <- predictions_file(columns)
  args <- c("compare", path, flags, "--measure", measure, measure_options(options), as_options(list(...)))
  found <- run_command(args)
  comparison <- found$comparisons[[1]]
  # Places become names in one pass, since a name may look like a place.
  named <- function(text) {
    hits <- gregexpr("model_[0-9]+", text)
    regmatches(text, hits) <- lapply(regmatches(text, hits), function(hit) names(models)[match(hit, places)])
    text
  }
  pair <- function(pair) {
    data.frame(
      first = named(pair$first), second = named(pair$second), difference = pair$difference,
      lower = pair$interval$lower, upper = pair$interval$upper,
      p_value = pair$p_value, p_adjusted = pair$p_adjusted
    )
  }
  values <- vapply(found$models, function(model) model$measures[[1]]$value, numeric(1))
  structure(
    list(
      values = stats::setNames(values, names(models)),
      pairs = do.call(rbind, lapply(comparison$pairs, pair)),
      sentence = named(comparison$sentence)
    ),
    class = "calipers_comparison"
  )
}

print.calipers_comparison <- function(x, ...) {
  cat(strwrap(x$sentence), sep = "\n")
  print(x$pairs, row.names = FALSE)
  invisible(x)
}
