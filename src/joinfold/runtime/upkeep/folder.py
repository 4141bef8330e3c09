"""The directory of a checkpoint, and that of its copy, on any file system that Spark knows."""

from collections.abc import Collection, Iterable
from typing import Any

from pyspark.sql import SparkSession

from joinfold.errors import RunError, UsageError
from joinfold.runtime.checkpoint import Manifest, recorded_manifest


def open_checkpoint(spark: SparkSession, checkpoint: str, into: str) -> tuple[Manifest, "Folder", "Folder"]:
    """The manifest of a checkpoint, its directory, and the directory for its copy.

    Raises `UsageError` if there is no checkpoint, or if the directory for the copy is not empty.
    """
    manifest = recorded_manifest(spark, checkpoint)
    if manifest is None:
        raise UsageError(
            f"there is no checkpoint in '{checkpoint}'", "give the directory that the query was started with."
        )
    copy = Folder(spark, into)
    if copy.names(""):
        raise UsageError(f"the directory '{into}' is not empty", "give a new directory for the copy.")
    return manifest, Folder(spark, checkpoint), copy


class Folder:
    """A directory on any file system that Spark knows."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm = spark._jvm
        assert jvm is not None
        self.jvm: Any = jvm
        self.root = path.rstrip("/")
        self.settings = spark._jsc.hadoopConfiguration()
        self.system = self._path("").getFileSystem(self.settings)

    @property
    def location(self) -> str:
        """The directory with the scheme of its file system."""
        return str(self.system.makeQualified(self._path("")).toString())

    def _path(self, name: str) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(f"{self.root}/{name}" if name else self.root)

    def names(self, name: str) -> list[str]:
        """The names in a folder; none if there is no such folder."""
        path = self._path(name)
        return [own.getPath().getName() for own in self.system.listStatus(path)] if self.system.exists(path) else []

    def numbers(self, name: str) -> list[int]:
        """The names in a folder that are numbers: the micro-batches of a log."""
        return [int(own) for own in self.names(name) if own.isdigit()]

    def files(self, name: str) -> list[str]:
        """All files below a folder, relative to the directory."""
        found, listed = [], self.system.listFiles(self._path(name), True)
        while listed.hasNext():
            found.append(str(listed.next().getPath().toString()).removeprefix(f"{self.location}/"))
        return found

    def read(self, name: str) -> str:
        """The text of a file."""
        stream = self.system.open(self._path(name))
        try:
            return str(self.jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Writes a file."""
        stream = self.system.create(self._path(name), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def delete(self, names: Iterable[str]) -> None:
        """Deletes files."""
        for name in list(names):
            self.system.delete(self._path(name), False)

    def rename(self, name: str, new_name: str) -> None:
        """Gives a file another name. Raises `RunError` if the file system refuses."""
        if not self.system.rename(self._path(name), self._path(new_name)):
            raise RunError(
                f"'{self.root}/{name}' could not be renamed to '{new_name}'", "begin again with a new directory."
            )

    def remove(self, name: str) -> None:
        """Deletes a folder with everything in it, or a file."""
        self.system.delete(self._path(name), True)

    def make(self, name: str = "") -> None:
        """Makes a folder, if it is not there."""
        self.system.mkdirs(self._path(name))

    def copy_to(self, other: "Folder", without: Collection[str]) -> None:
        """Copies everything but some files and folders."""
        other.make()
        for name in self.names(""):
            if name not in without:
                paths = (self.system, self._path(name), other.system, other._path(name))
                self.jvm.org.apache.hadoop.fs.FileUtil.copy(*paths, False, self.settings)
