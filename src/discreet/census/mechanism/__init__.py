"""Mechanisms that release tables, each with its specifications as data."""
