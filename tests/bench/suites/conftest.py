"""The fixture that runs a command, for the suites."""

from tests.cli.conftest import run  # noqa: F401 - a fixture
