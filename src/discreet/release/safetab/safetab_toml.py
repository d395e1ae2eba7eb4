"""Deprecated, a name of version 0.1: see `discreet.release.safetab.configuration`."""

from discreet.release.safetab import configuration as _home
from discreet.release.safetab import moved

__getattr__ = moved(__name__, _home)
