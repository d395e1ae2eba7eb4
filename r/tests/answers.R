# Answers as data frames. Without the program there is nothing to ask.
library(discreet)
if (!nzchar(discreet_program()[1])) {
  message("skipped: the program discreet is not found")
  quit(status = 0)
}

# account: the proved interval holds the value, and the paper's zCDP conversion is computed here again
found <- account("dhc-2022-08-25", delta = c("1e-10", "1e-5"), certify = TRUE)
stopifnot(
  is.data.frame(found), nrow(found) == 2,
  found$lower <= found$epsilon, found$epsilon <= found$upper, found$upper - found$lower < 1e-6
)
rho <- 73 / 20
zcdp <- rho + 2 * sqrt(rho * log(1 / found$delta))
stopifnot(
  identical(discreet_details(found)$rho, "73/20"),
  all.equal(found$zcdp_epsilon, zcdp, tolerance = 1e-12)
)
back <- account("dhc-2022-08-25", epsilon = found$epsilon[1])
stopifnot(all.equal(back$delta, 1e-10, tolerance = 1e-6), is.null(back$zcdp_epsilon))
two <- account("pl94-2020-units", delta = 1e-10, people = 2)
stopifnot(grepl("^[0-9]+, [0-9]+$", two$worst), identical(discreet_details(two)$people, 2L))
printed <- paste(capture.output(print(two)), collapse = " ")
stopifnot(grepl("Numbers are at most", printed))
stopifnot(!grepl("Numbers are", paste(capture.output(print(found)), collapse = " ")))

# a release from standard input
text <- c(
  'name = "two counts"', 'neighbours = "unbounded"', "[[levels]]", 'name = "State"', "[levels.queries]",
  '"total" = { variance = "5" }', '"sex" = { variance = "5" }'
)
piped <- discreet_json(c("account", "-", "--delta", "1e-10"), input = text)
# each query has sensitivity 1 to a record that is added or removed: rho is 2 / (2 * 5)
stopifnot(identical(piped$release, "two counts"), identical(piped$rho, "1/5"))

# calibrate: one factor for all variances, and no margin grows
less <- calibrate("dhc-2022-08-25", delta = "1e-10", zcdp = TRUE)
value <- function(texts) vapply(texts, function(text) eval(parse(text = text)), 0, USE.NAMES = FALSE)
stopifnot(
  nrow(less) == 80, identical(unique(less$level)[1:2], c("US", "State")),
  all.equal(value(less$after) / value(less$before), less$factor, tolerance = 1e-5),
  less$factor < 1, less$margin_after <= less$margin_before
)

# accuracy: combining all queries never makes an estimate worse than its own noise
planned <- accuracy("pl94-2020-units")
stopifnot(nrow(planned) == 6, planned$sd <= planned$noise_sd, planned$level[1] == "US")
stopifnot(identical(accuracy("pl94-2020-units", tree = c(51, 61.6, 23.2, 2.83, 34))$level, planned$level))

# risk: never below what is known without the release
learned <- risk("pl94-2020-units", prior = c("1/2", "1/10"))
stopifnot(
  learned$accuracy >= learned$baseline - 1e-12, sort(unique(learned$prior)) == c(0.1, 0.5),
  is.data.frame(discreet_details(learned)$detection)
)
