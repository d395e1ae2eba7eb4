# An error of the program is a condition with the same sentence.
library(discreet)

caught <- function(code) tryCatch(code, discreet_error = identity)

old <- options(discreet.program = file.path(tempdir(), "no-such-program"))
found <- caught(account("dhc-2020"))
stopifnot(inherits(found, "discreet_error"), grepl("no-such-program ended with status 127", conditionMessage(found)))
options(old)

path <- Sys.getenv("PATH")
program <- discreet_program()
if (!nzchar(Sys.getenv("DISCREET_PROGRAM")) && is.null(getOption("discreet.program"))) {
  Sys.setenv(PATH = tempdir())
  found <- caught(account("dhc-2020"))
  Sys.setenv(PATH = path)
  stopifnot(grepl("the program discreet is not found; put it on the PATH", conditionMessage(found)))
}
stopifnot(grepl("an option has no name", conditionMessage(caught(account("dhc-2020", "1e-10")))) || !nzchar(program[1]))

if (!nzchar(program[1])) {
  message("skipped: the program discreet is not found")
  quit(status = 0)
}

found <- caught(account("dhc-2021"))
stopifnot(
  identical(
    conditionMessage(found),
    "'dhc-2021' is neither a preset nor a file; did you mean \"dhc-2020\"? `discreet presets` lists all names"
  ),
  identical(found$status, 2L), identical(found$problems, conditionMessage(found)), inherits(found, "error")
)
stopifnot(grepl("delta is 2; it must lie", conditionMessage(caught(account("dhc-2020", delta = 2)))))
stopifnot(grepl("Unknown option", conditionMessage(caught(account("dhc-2020", no_such_option = 1)))))

# several problems are told one by one
folder <- tempfile("survey-")
invisible(discreet_json(c("example", folder)))
records <- file.path(folder, "records.csv")
lines <- readLines(records)
lines[2:3] <- c("1,Nowhere,0-17,none", "2,Orb,0-17,often")
writeLines(lines, records)
found <- caught(discreet_json(c(
  "tabulate", folder, "--records", records, "--units", file.path(folder, "units.csv"),
  "--out", file.path(folder, "counts")
)))
stopifnot(
  length(found$problems) == 2, grepl("^2 kinds of problems: 1\\. ", conditionMessage(found)),
  !file.exists(file.path(folder, "counts"))
)

# a value with spaces, quotes and other signs of a shell arrives as it is
odd <- caught(account("no such $(file) 'here' \"there\".toml"))
stopifnot(identical(conditionMessage(odd), "there is no file no such $(file) 'here' \"there\".toml"))
