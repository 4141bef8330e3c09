"""What joinfold reads and writes in the directory of a checkpoint, on any file system that Spark knows.

With a Spark of its own, joinfold reaches the files through Java (`Folder`). Over Spark Connect only the server does, so
they are read and written as DataFrames (`ServedFolder`). Both give and take the same files.
"""

from typing import Protocol

from pyspark.sql import SparkSession

from joinfold.runtime.checkpoints.folder import Folder
from joinfold.runtime.checkpoints.served_folder import ServedFolder
from joinfold.runtime.sessions.settings import is_connect


class Directory(Protocol):
    """A directory, of which names are relative to its root."""

    @property
    def root(self) -> str:
        """The path of the directory."""

    def names(self, name: str) -> list[str]:
        """The names in a folder, without hidden ones; none if there is no such folder."""

    def has(self, name: str) -> bool:
        """Whether there is such a file or folder. Over Spark Connect, an empty folder is not seen."""

    def text(self, name: str, most_bytes: int | None = None) -> str | None:
        """The text of a file; None if there is no such file, or if it is longer. Raises `UsageError` if damaged."""

    def create(self, name: str, line: str) -> bool:
        """Writes a line of text into a new folder, all or nothing. False if another process was faster."""


def directory_of(spark: SparkSession, path: str) -> Directory:
    """The directory at a path."""
    return ServedFolder(spark, path) if is_connect(spark) else Folder(spark, path)


def numbers(directory: Directory, name: str) -> set[int]:
    """The names in a folder that are numbers: the micro-batches of a log."""
    return {int(own) for own in directory.names(name) if own.isdigit()}
