# A map that repairs probabilities: fitted here, applied with predict().

recalibrate <- function(y, p, method = NULL, weight = NULL, cluster = NULL, ...) {
  model <- one_model(y, p, weight, cluster)
  path <- predictions_file(model$columns)
  file <- tempfile("calipers-", fileext = ".json")
  on.exit(unlink(file), add = TRUE)
  args <- c("recalibrate", "fit", path, model$options, "-o", file, as_options(list(method = method, ...)))
  found <- run_command(args)$result
  map <- paste(readLines(file, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  structure(list(map = map, result = found), class = "calipers_map")
}

predict.calipers_map <- function(object, p, ...) {
  path <- predictions_file(list(prob = as_column(p, "p")))
  map <- tempfile("calipers-", fileext = ".json")
  applied <- tempfile("calipers-", fileext = ".csv")
  on.exit(unlink(c(map, applied)), add = TRUE)
  writeLines(enc2utf8(object$map), map, useBytes = TRUE)
  run_command(c("recalibrate", "apply", path, "--prob", "prob", "--map", map, "-o", applied))
  utils::read.csv(applied, colClasses = "numeric")$prob_recalibrated
}

print.calipers_map <- function(x, ...) {
  cat(sprintf("Map by the method %s, fitted to %d rows\n", x$result$method, x$result$n))
  cat(sprintf(
    "Log loss on new rows falls by %.3g (%g %% interval %.3g to %.3g): %s\n", x$result$gain,
    100 * x$result$interval$level, x$result$interval$lower, x$result$interval$upper, x$result$verdict
  ))
  invisible(x)
}
