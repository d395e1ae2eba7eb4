"""Trees of areas, what is laid out on them, and tables as they are written."""
