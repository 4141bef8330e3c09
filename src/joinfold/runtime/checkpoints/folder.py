"""A directory on any file system that Spark knows, reached through Java."""

import uuid
from collections.abc import Collection, Iterable
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from joinfold.errors import RunError
from joinfold.runtime.failures import clear_error, unreadable


class Folder:
    """A directory. Names are relative to its root."""

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
        """The names in a folder, without hidden ones; none if there is no such folder."""
        path = self._path(name)
        listed = self.system.listStatus(path) if self.system.exists(path) else []
        return [found for found in (own.getPath().getName() for own in listed) if not found.startswith(".")]

    def has(self, name: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self.system.exists(self._path(name)))

    def numbers(self, name: str) -> list[int]:
        """The names in a folder that are numbers: the micro-batches of a log."""
        return [int(own) for own in self.names(name) if own.isdigit()]

    def files(self, name: str) -> list[str]:
        """All files below a folder, relative to the directory."""
        found, listed = [], self.system.listFiles(self._path(name), True)
        while listed.hasNext():
            found.append(str(listed.next().getPath().toString()).removeprefix(f"{self.location}/"))
        return found

    def text(self, name: str, most_bytes: int | None = None) -> str | None:
        """The text of a file; None if there is no such file, or if it is longer. Raises `UsageError` if damaged."""
        path = self._path(name)
        if not self.system.exists(path):
            return None
        if most_bytes is not None and self.system.getFileStatus(path).getLen() > most_bytes:
            return None
        try:
            return self.read(name)
        except Py4JError as error:  # Hadoop compares a file with its checksum
            raise unreadable(self.root, name, clear_error(error).message) from error

    def read(self, name: str) -> str:
        """The text of a file that is there."""
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

    def create(self, name: str, line: str) -> bool:
        """Writes a line of text into a new folder, all or nothing. False if another process was faster."""
        unfinished = f"{name}/.{uuid.uuid4().hex}"
        self.write(unfinished, f"{line}\n")
        if self.system.rename(self._path(unfinished), self._path(f"{name}/manifest.txt")):
            return True
        self.delete([unfinished])
        return False

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
