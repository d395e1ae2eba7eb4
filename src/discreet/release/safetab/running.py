"""Deprecated, a name of version 0.1: see `discreet.release.safetab.run`."""

from discreet.release.safetab import moved, run

__getattr__ = moved(__name__, run)
