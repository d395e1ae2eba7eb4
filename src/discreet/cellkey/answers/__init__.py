"""What the results of the cell-key method tell."""
