"""Suites are run by their command, too."""

from tests.cli.conftest import run  # noqa: F401 - a fixture
