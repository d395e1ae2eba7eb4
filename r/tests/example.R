# The example runs, and codes of areas stay texts.
library(discreet)
if (!nzchar(discreet_program()[1])) {
  message("skipped: the program discreet is not found")
  quit(status = 0)
}
source(system.file("examples", "survey.R", package = "discreet"), echo = TRUE)
stopifnot(
  nrow(estimates) == 150, is.character(estimates$unit), made$not_private,
  estimates$lower95 <= estimates$lower90, estimates$upper90 <= estimates$upper95,
  identical(unique(planned$level), c("Nation", "Region", "District")),
  all(planned$sd <= planned$noise_sd, na.rm = TRUE)
)

folder <- tempfile("codes-")
dir.create(folder)
noisy <- file.path(folder, "noisy.csv")
writeLines(c("unit,query,cell,value,variance", "01,total,all,12,5", "02,total,all,30,5"), noisy)
coded <- estimate(noisy)
stopifnot(identical(sort(unique(coded$unit)), c("01", "02")))
