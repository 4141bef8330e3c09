"""Spark's logs in a checkpoint: what is lost or damaged is named."""

from pathlib import Path

import pytest

import joinfold as jf
from joinfold.runtime.checkpoints.logs import METADATA, refuse_lost_files
from tests.runtime.checkpoints.local_directory import LocalDirectory


@pytest.fixture
def directory(tmp_path: Path) -> LocalDirectory:
    return LocalDirectory(tmp_path)


def check(directory: LocalDirectory, lost: str | None, interval: int = 10) -> None:
    if lost is None:
        refuse_lost_files(directory, interval)
        return
    with pytest.raises(jf.UsageError, match=f"has lost its file '{lost}'"):
        refuse_lost_files(directory, interval)


def test_a_new_checkpoint_has_lost_nothing(directory: LocalDirectory) -> None:
    check(directory, None)


@pytest.mark.parametrize("name", ["metadata", "offsets/2", "offsets/3"])
def test_a_file_that_was_lost_is_named(directory: LocalDirectory, name: str) -> None:
    directory.write_as_spark()
    check(directory, None)
    (directory.path / name).unlink()
    check(directory, name)


def test_a_micro_batch_may_be_unfinished(directory: LocalDirectory) -> None:
    directory.write_as_spark()
    (directory.path / "commits/3").unlink()
    check(directory, None)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"partitions": ', '{"id": "46`a"}'])
def test_metadata_that_are_damaged_are_named(directory: LocalDirectory, text: str) -> None:
    directory.write_as_spark()
    directory.write(METADATA, text)
    with pytest.raises(jf.UsageError, match=r"the file 'metadata' of the checkpoint '.*' cannot be read: "):
        refuse_lost_files(directory, 10)


@pytest.mark.parametrize(
    ("kept", "interval", "lost"),
    [
        (["0", "1", "2"], 10, None),
        (["0", "1"], 10, "sources/0/2"),
        (["0", "2"], 10, "sources/0/1"),
        (["1.compact", "2"], 10, None),  # the compacted file has what was before it
        (["2"], 2, "sources/0/1.compact"),
    ],
)
def test_a_file_source_that_has_lost_a_part_of_its_log_is_refused(
    directory: LocalDirectory, kept: list[str], interval: int, lost: str | None
) -> None:
    """Spark itself would say only that a batch does not exist."""
    directory.write_as_spark(kept)
    check(directory, lost, interval)


@pytest.mark.parametrize(("kept", "lost"), [(["0", "1", "2"], None), (["0", "2"], "sources/0/1")])
def test_a_source_that_is_read_twice_has_one_log(directory: LocalDirectory, kept: list[str], lost: str | None) -> None:
    """Spark writes its offset twice, and then comes the offset of the next source."""
    directory.write_as_spark(kept, '{"logOffset":2}\n{"logOffset":2}\n{"logOffset":0}')
    directory.write("sources/1/0", "v1\n{}\n")
    check(directory, lost)


@pytest.mark.parametrize("name", ["offsets/3", "commits/3", "sources/0/2", "sources/0/1.compact"])
@pytest.mark.parametrize("text", ["", "v", 'v1\n{"path":"a'], ids=["empty", "cut short", "cut in a line"])
def test_a_log_that_is_cut_short_is_named(directory: LocalDirectory, name: str, text: str) -> None:
    """On a disk without checksums Spark would say only what its parser met."""
    directory.write_as_spark(["1.compact", "2"])
    check(directory, None)
    directory.write(name, text)
    with pytest.raises(jf.UsageError, match=f"the file '{name}' of the checkpoint '.*' cannot be read: "):
        refuse_lost_files(directory, 10)
