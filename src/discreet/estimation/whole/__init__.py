"""Whole numbers for one family of areas: the nearest table that adds up, and its rounding."""
