"""Audits of mechanisms, a guest: the command `discreet risk audit`."""
