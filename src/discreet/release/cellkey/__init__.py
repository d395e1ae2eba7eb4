"""The cell-key method applied to records: keys of cells, noise from a perturbation table, and the cost."""
