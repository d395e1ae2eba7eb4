"""Commands run in this process."""

from command_fixtures import discreet, refused, small  # noqa: F401
