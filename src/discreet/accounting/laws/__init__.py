"""Accounts of any laws together: tables, powers, continuous noise, beside discrete Gaussian and Laplace."""
