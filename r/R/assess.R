# A value with its noise floor, interval and p-value; and the difference of two models.

assess <- function(y, p, measure = "ls_ece", weight = NULL, cluster = NULL, ...) {
  model <- one_model(y, p, weight, cluster)
  path <- predictions_file(model$columns)
  args <- c("assess", path, model$options, "--measure", measure, as_options(list(...)))
  found <- run_command(args)$results[[1]]$measures[[1]]
  if (is.null(found$value)) stop(found$unavailable, call. = FALSE)
  structure(found, class = "calipers_assessment")
}

print.calipers_assessment <- function(x, ...) {
  cat(strwrap(x$sentence), sep = "\n")
  invisible(x)
}

compare <- function(y, models, measure = "ls_ece", weight = NULL, cluster = NULL, ...) {
  if (!is.list(models) || length(models) < 2 || is.null(names(models)) || anyDuplicated(names(models))) {
    stop("models must be a list or data frame of at least two vectors with different names", call. = FALSE)
  }
  model <- one_model(y, models[[1]], weight, cluster)
  # Named by their places, so that no name is taken for that of another column.
  places <- sprintf("model_%d", seq_along(models))
  columns <- c(model$columns[names(model$columns) != "prob"], stats::setNames(as.list(models), places))
  options <- c(model$options[!model$options %in% c("--prob", "prob")], rbind("--prob", places))
  path <- predictions_file(columns)
  found <- run_command(c("compare", path, options, "--measure", measure, as_options(list(...))))
  comparison <- found$comparisons[[1]]
  # Places in sentences and pairs become the names of the models, the last places first: model_1 is in model_10.
  named <- function(text) {
    for (place in rev(seq_along(models))) text <- gsub(places[place], names(models)[place], text, fixed = TRUE)
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
