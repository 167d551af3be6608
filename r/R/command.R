# The command that computes, and the files through which it is called.

# Where the command is: the option calipers.command, the variable CALIPERS, or the search path.
calipers_command <- function() {
  named <- getOption("calipers.command", Sys.getenv("CALIPERS"))
  if (!nzchar(named)) named <- "calipers"
  found <- unname(Sys.which(named))
  if (nzchar(found)) return(found)
  stop("the calipers command is not found at \"", named, "\"; run pip install calipers-cli, or set ",
       "options(calipers.command = \"/path/to/calipers\")", call. = FALSE)
}

# Runs the command and returns its JSON. An error of the command is an error here.
run_command <- function(args) {
  printed <- tempfile("calipers-")
  errors <- tempfile("calipers-")
  on.exit(unlink(c(printed, errors)))
  args <- c(args, "--json")
  status <- system2(calipers_command(), shQuote(args), stdout = printed, stderr = errors)
  if (status != 0) {
    text <- paste(readLines(errors, encoding = "UTF-8", warn = FALSE), collapse = "\n")
    if (!nzchar(text)) text <- paste("the calipers command ended with exit code", status)
    stop(in_terms_of_r(text), call. = FALSE)
  }
  jsonlite::fromJSON(printed, simplifyVector = FALSE)
}

# The command knows a file with a header, and flags: the caller knows vectors and arguments.
in_terms_of_r <- function(text) {
  text <- sub("^calipers: (\\S*calipers-[0-9a-f]+\\.csv: )?", "", text)
  line <- regmatches(text, regexec("in line ([0-9]+)", text))[[1]]
  if (length(line) == 2) text <- sub(line[1], paste("in row", as.integer(line[2]) - 1L), text, fixed = TRUE)
  text <- gsub("--invalid count", "invalid = \"count\"", text, fixed = TRUE)
  text <- gsub("--scale 100", "scale = 100", text, fixed = TRUE)
  text <- gsub("--from-logits", "from_logits = TRUE", text, fixed = TRUE)
  # Other flags become names of arguments, which have underscores.
  flags <- unique(regmatches(text, gregexpr("--[a-z][a-z-]*", text))[[1]])
  for (flag in flags) text <- gsub(flag, gsub("-", "_", sub("--", "", flag), fixed = TRUE), text, fixed = TRUE)
  text
}

# Options of a call as those of the command: n_bins = 10 becomes --n-bins 10. NULL leaves one out,
# and TRUE is an option without a value.
as_options <- function(options) {
  options <- options[!vapply(options, is.null, logical(1))]
  if (length(options) > 0 && (is.null(names(options)) || any(!nzchar(names(options))))) {
    stop("further arguments must have names, such as sigma = 0.5", call. = FALSE)
  }
  named <- function(name) paste0("--", gsub("_", "-", name, fixed = TRUE))
  one <- function(name) {
    value <- options[[name]]
    if (isTRUE(value)) return(named(name))
    if (isFALSE(value)) return(character(0))
    as.vector(rbind(named(name), number_text(value)))
  }
  unlist(lapply(names(options), one), use.names = FALSE)
}

# Options of a measure that are no flags: list(smoother = "loess") becomes --option smoother=loess.
measure_options <- function(options) {
  if (length(options) == 0) return(character(0))
  if (!is.list(options) || is.null(names(options)) || any(!nzchar(names(options)))) {
    stop("options must be a list with names, such as list(smoother = \"loess\")", call. = FALSE)
  }
  values <- vapply(options, function(value) number_text(value)[1], character(1))
  as.vector(rbind("--option", paste0(names(options), "=", values)))
}

# Numbers with all their digits; other values as they are.
number_text <- function(values) {
  if (is.double(values)) sprintf("%.17g", values) else as.character(values)
}

# 0 and 1 from outcomes. The second level of a factor is the event, as in glm().
as_outcomes <- function(y) {
  if (is.factor(y)) {
    if (nlevels(y) != 2) stop("y has ", nlevels(y), " levels; it must have 2", call. = FALSE)
    return(as.integer(y) - 1L)
  }
  if (is.logical(y)) return(as.integer(y))
  if (!is.numeric(y)) stop("y must be numeric, logical or a factor with 2 levels", call. = FALSE)
  as_column(y, "y")
}

# A vector of numbers. Names in errors are those of arguments.
as_column <- function(values, name) {
  if (!is.null(dim(values)) && length(dim(values)) > 1) {
    stop(name, " must be a vector, got ", paste(dim(values), collapse = " x "), " values; ",
         "the command itself measures several classes", call. = FALSE)
  }
  if (!is.numeric(values)) stop(name, " must be numeric, got ", class(values)[1], call. = FALSE)
  as.vector(values)
}

# Writes predictions as CSV, which is removed when the caller ends. Missing values are empty cells,
# which the command reports with their row.
predictions_file <- function(columns, caller = parent.frame()) {
  lengths <- vapply(columns, length, integer(1))
  if (length(unique(lengths)) != 1) {
    stop("all vectors must have the same length, got ", paste(lengths, collapse = ", "), call. = FALSE)
  }
  path <- tempfile("calipers-", fileext = ".csv")
  do.call(on.exit, list(substitute(unlink(path), list(path = path)), add = TRUE), envir = caller)
  # NaN is a number that went wrong, and stays one.
  cells <- lapply(columns, function(column) ifelse(is.na(column) & !is.nan(column), "", number_text(column)))
  names(cells) <- NULL
  header <- paste(sprintf("\"%s\"", gsub("\"", "\"\"", names(columns), fixed = TRUE)), collapse = ",")
  writeLines(enc2utf8(c(header, do.call(paste, c(cells, sep = ",")))), path, useBytes = TRUE)
  path
}

# The columns of a call with one model, and the options that name them.
one_model <- function(y, p, weight, cluster) {
  if (!is.null(weight)) weight <- as_column(weight, "weight")
  columns <- list(label = as_outcomes(y), prob = as_column(p, "p"), weight = weight, cluster = cluster)
  columns <- columns[!vapply(columns, is.null, logical(1))]
  options <- c("--label", "label", "--prob", "prob")
  if (!is.null(weight)) options <- c(options, "--weight", "weight")
  if (!is.null(cluster)) {
    columns$cluster <- as.integer(factor(cluster))
    options <- c(options, "--cluster", "cluster")
  }
  list(columns = columns, options = options)
}
