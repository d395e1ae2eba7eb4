"""Certified values: intervals from ball arithmetic that provably contain the answer."""
