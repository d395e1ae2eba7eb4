# Rscript run_r_cells.R CELLS.json OUTPUTS.json: runs cells of R in one session, as a prompt does, and writes what
# each shows: its text, and its last figure as PNG. docs/make_notebooks.py calls it.
arguments <- commandArgs(trailingOnly = TRUE)
run_cell <- function(source) {
  figure <- tempfile(fileext = ".png")
  png(figure, width = 700, height = 380, res = 100)
  text <- capture.output(for (expression in parse(text = source, keep.source = FALSE)) {
    shown <- withVisible(eval(expression, globalenv()))
    if (shown$visible) print(shown$value)
  })
  dev.off()
  drawn <- if (file.exists(figure)) jsonlite::base64_enc(readBin(figure, "raw", file.size(figure))) else ""
  list(text = paste(text, collapse = "\n"), figure = gsub("\n", "", drawn, fixed = TRUE))
}
cells <- jsonlite::fromJSON(arguments[1])
options(width = 100, digits = 7)
writeLines(jsonlite::toJSON(lapply(cells, run_cell), auto_unbox = TRUE), arguments[2], useBytes = TRUE)
