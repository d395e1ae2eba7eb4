# A release of one's own, from plan to estimates: an invented health survey.
library(discreet)

folder <- tempfile("survey-")
discreet_json(c("example", folder))
release <- file.path(folder, "release.toml")
units <- file.path(folder, "units.csv")

# What would it cost one person, and how accurate would the estimates be?
account(release, delta = "1e-10")
planned <- accuracy(release, tree = units)
planned[planned$level == "District", c("query", "noise_sd", "sd", "margin95")]

# What could the best adversary learn?
learned <- risk(release, prior = "1/2")
tail(learned[c("scope", "what", "baseline", "accuracy")], 1)

# A rehearsal: noise that can be repeated and protects nobody.
noisy <- file.path(folder, "noisy")
made <- discreet_json(c(
  "measure", release, "--records", file.path(folder, "records.csv"), "--units", units,
  "--out", noisy, "--rehearsal", 1
))

# The best estimates, with 95 % intervals.
estimates <- estimate(noisy, query = "adult * limitation")
head(estimates[c("unit", "cell", "estimate", "lower95", "upper95")])
