"""The version of joinfold that runs."""

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """The version of joinfold in this process; 'unknown' if it runs from sources that are not installed."""
    try:
        return version("joinfold")
    except PackageNotFoundError:
        return "unknown"


__version__ = own_version()
