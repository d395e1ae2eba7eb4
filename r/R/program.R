# The program: where it is, how it is run, and what its errors become.

discreet_program <- function() {
  given <- getOption("discreet.program", Sys.getenv("DISCREET_PROGRAM", ""))
  # an option may hold several words, such as c("python3", "-m", "discreet")
  if (any(nzchar(given))) given else unname(Sys.which("discreet"))
}

discreet_json <- function(arguments, input = NULL) {
  program <- discreet_program()
  if (!nzchar(program[1])) {
    signal("the program discreet is not found; put it on the PATH, or name it: options(discreet.program = \"/path/to/discreet\")")
  }
  files <- c(out = tempfile("discreet-"), err = tempfile("discreet-"), input = tempfile("discreet-"))
  on.exit(unlink(files))
  words <- c(program[-1], as.character(arguments), "--json")
  stdin <- ""
  if (!is.null(input)) {
    writeLines(enc2utf8(input), files[["input"]], useBytes = TRUE)
    stdin <- files[["input"]]
  }
  status <- suppressWarnings(
    system2(program[1], shQuote(words), stdout = files[["out"]], stderr = files[["err"]], stdin = stdin)
  )
  printed <- paste(readLines(files[["out"]], warn = FALSE, encoding = "UTF-8"), collapse = "\n")
  answer <- tryCatch(
    fromJSON(printed, simplifyVector = TRUE, simplifyMatrix = FALSE, flatten = TRUE),
    error = function(problem) NULL
  )
  if (is.null(answer)) {
    said <- readLines(files[["err"]], warn = FALSE, encoding = "UTF-8")
    last <- if (length(said)) said[length(said)] else "it printed nothing"
    signal(sprintf("%s ended with status %s: %s", program[1], status, last), status = status)
  }
  if (!is.null(answer$error)) {
    signal(answer$error, problems = answer$problems, status = answer$status)
  }
  answer
}

# Stop with a condition that can be caught as `discreet_error`; it has the problems one by one.
signal <- function(message, problems = message, status = NA_integer_) {
  stop(structure(
    class = c("discreet_error", "error", "condition"),
    list(message = message, call = NULL, problems = problems, status = status)
  ))
}

# Options of a command from named values: TRUE is a flag, several values repeat the option, NULL and FALSE
# leave it out. `more_words` and `--more-words` are the same name.
options_of <- function(...) {
  given <- list(...)
  if (length(given) && (is.null(names(given)) || !all(nzchar(names(given))))) {
    signal("an option has no name; write it as in delta = \"1e-10\"")
  }
  words <- character()
  for (name in names(given)) {
    value <- given[[name]]
    option <- paste0("--", gsub("_", "-", name))
    if (isTRUE(value)) {
      words <- c(words, option)
    } else if (!is.null(value) && !isFALSE(value)) {
      words <- c(words, rbind(option, written(value)))
    }
  }
  words
}

# Numbers as a person writes them: 1e-10 and 0.05, never 0.050000000000000003.
written <- function(value) {
  if (is.numeric(value)) vapply(value, format, "", digits = 15, trim = TRUE) else as.character(value)
}

# A data frame with the rest of the answer beside it.
answer_frame <- function(rows, answer, without) {
  listed <- vapply(rows, is.list, NA)
  rows[listed] <- lapply(rows[listed], function(column) {
    vapply(column, function(cell) paste(unlist(cell), collapse = ", "), "")
  })
  rownames(rows) <- NULL
  attr(rows, "details") <- answer[setdiff(names(answer), without)]
  class(rows) <- c("discreet_answer", "data.frame")
  rows
}

discreet_details <- function(answer) attr(answer, "details")

print.discreet_answer <- function(x, ...) {
  print(as.data.frame(unclass(x), stringsAsFactors = FALSE, check.names = FALSE), ...)
  kind <- discreet_details(x)$answer
  if (!is.null(kind) && !identical(kind$kind, "exact")) {
    cat(strwrap(paste0("Numbers are ", kind$says, ". ", paste(kind$reasons, collapse = " "))), sep = "\n")
  }
  for (caution in unlist(discreet_details(x)$cautions)) {
    cat(strwrap(paste("Note:", caution), exdent = 2), sep = "\n")
  }
  invisible(x)
}
