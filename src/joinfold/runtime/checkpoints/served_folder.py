"""A directory that only the server of Spark Connect can reach: its files are read and written as DataFrames."""

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from joinfold.runtime.failures import clear_error, unreadable

_NO_FILE, _FOLDER_IS_THERE = "PATH_NOT_FOUND", "PATH_ALREADY_EXISTS"


class ServedFolder:
    """A directory on any file system that the server knows. Every call is a job."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark = spark
        self.root = path.rstrip("/")

    def names(self, name: str) -> list[str]:
        """The names in a folder, without hidden ones; none if there is no such folder."""
        folder = f"/{self.root}/{name}/".replace("//", "/")
        files = self._files(f"{name}/*")
        paths = [] if files is None else [str(row[0]) for row in files.select(f.url_decode("path")).collect()]
        return sorted({path.rpartition(folder)[2].partition("/")[0] for path in paths})

    def has(self, name: str) -> bool:
        """Whether there is such a file, or a folder with files."""
        return self._files(name) is not None

    def text(self, name: str, most_bytes: int | None = None) -> str | None:
        """The text of a file; None if there is no such file, or if it is longer. Raises `UsageError` if damaged."""
        files = self._files(name)
        if files is None:
            return None
        try:
            rows = files.where(f.lit(True) if most_bytes is None else f.col("length") <= most_bytes)
            found = rows.select("content").collect()
            return bytes(found[0][0]).decode() if found else None
        except PySparkException as error:
            raise unreadable(self.root, name, clear_error(error).message) from error
        except ValueError as error:
            raise unreadable(self.root, name, str(error)) from error

    def create(self, name: str, line: str) -> bool:
        """Writes a line of text into a new folder, all or nothing. False if another process was faster."""
        try:
            row = self.spark.createDataFrame([(line,)], "value STRING").coalesce(1)
            row.write.mode("error").text(f"{self.root}/{name}")
        except AnalysisException as error:
            if _FOLDER_IS_THERE not in str(error):
                raise
            return False
        return True

    def _files(self, name: str) -> DataFrame | None:
        """The files at a path, in which ``*`` stands for any name; None if there are none."""
        files = self.spark.read.format("binaryFile").load(f"{self.root}/{name}")
        try:
            files.schema  # noqa: B018 - asks the server whether they exist
        except AnalysisException as error:
            if _NO_FILE not in str(error):
                raise
            return None
        return files
