"""The small country of `release_country` as fixtures."""

from country_fixtures import country, release, table  # noqa: F401
