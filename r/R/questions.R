# One function for each question; what it returns is a data frame.

account <- function(release, ..., delta = NULL, epsilon = NULL, neighbours = NULL, people = 1, certify = FALSE) {
  answer <- discreet_json(c(
    "account", release,
    options_of(delta = delta, epsilon = epsilon, neighbours = neighbours, people = people, certify = certify, ...)
  ))
  answer_frame(answer$results, answer, "results")
}

calibrate <- function(release, ..., delta, epsilon = NULL, zcdp = FALSE, by = NULL, out = NULL) {
  answer <- discreet_json(c(
    "calibrate", release,
    options_of(delta = delta, epsilon = epsilon, zcdp = zcdp, by = by, out = out, ...)
  ))
  rows <- by_query(answer$levels)
  if (!is.null(rows$margins)) {
    rows$margin_before <- vapply(rows$margins, function(both) as.numeric(both[[1]]), 0)
    rows$margin_after <- vapply(rows$margins, function(both) as.numeric(both[[2]]), 0)
    rows$margins <- NULL
  }
  answer_frame(rows, answer, "levels")
}

accuracy <- function(release, ..., tree = NULL) {
  if (is.numeric(tree)) tree <- paste(written(tree), collapse = ",")
  answer <- discreet_json(c("accuracy", release, options_of(tree = tree, ...)))
  answer_frame(by_query(answer$levels), answer, "levels")
}

estimate <- function(noisy, ..., out = tempfile("estimates-")) {
  answer <- discreet_json(c("estimate", noisy, options_of(out = out, format = "csv", ...)))
  file <- grep("^estimates(\\..*)?\\.csv$", answer$files, value = TRUE)
  if (length(file) != 1) {
    return(answer_frame(data.frame(file = answer$files), answer, "files"))
  }
  path <- file.path(out, file)
  # names and codes stay texts: the county 01 is not 1
  head <- names(read.csv(path, nrows = 1, check.names = FALSE))
  texts <- intersect(head, c("area", "unit", "parent", "level", "query", "cell"))
  kinds <- structure(rep("character", length(texts)), names = texts)
  rows <- read.csv(path, colClasses = kinds, check.names = FALSE, encoding = "UTF-8")
  answer_frame(rows, answer, character())
}

risk <- function(release, ..., prior = NULL, neighbours = NULL, people = 1) {
  answer <- discreet_json(c(
    "risk", "release", release,
    options_of(prior = prior, neighbours = neighbours, people = people, ...)
  ))
  answer_frame(answer$rows, answer, "rows")
}

# The queries of all levels below each other, each with what its level has beside them.
by_query <- function(levels) {
  own <- setdiff(names(levels), "queries")
  parts <- lapply(seq_len(nrow(levels)), function(at) {
    queries <- levels$queries[[at]]
    names(queries)[names(queries) == "name"] <- "query"
    level <- levels[rep(at, nrow(queries)), own, drop = FALSE]
    names(level)[names(level) == "name"] <- "level"
    same <- names(level) %in% names(queries)
    names(level)[same] <- paste0("level_", names(level)[same])
    cbind(level, queries)
  })
  do.call(rbind, parts)
}
