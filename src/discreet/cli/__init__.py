"""The command line: one file a command, thin: parse, call, print.

A command is one module with a cyclopts `app`, and one line in `discreet.cli.commands`.
"""

from __future__ import annotations


def main() -> int:
    """Run the program with the arguments of the shell and return its exit status."""
    from discreet.cli.commands import program

    return program()
