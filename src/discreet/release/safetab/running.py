"""Deprecated, a name of version 0.1: see `discreet.release.safetab.run`."""

from discreet.release.safetab import moved

__getattr__ = moved(__name__, "discreet.release.safetab.run")
