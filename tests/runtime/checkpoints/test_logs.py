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
    directory.write("sources/1/0", 'v1\n{"path":"file:///rows/b.json"}\n')
    check(directory, lost)


@pytest.mark.parametrize("name", ["offsets/2", "offsets/3", "commits/3", "sources/0/2", "sources/0/1.compact"])
@pytest.mark.parametrize(
    "text",
    ["", "v", 'v1\n{"path":"a', 'v1\n{"path":"\N{REPLACEMENT CHARACTER}"}'],
    ids=["empty", "cut short", "cut in a line", "not UTF-8"],
)
def test_a_log_that_is_damaged_is_named(directory: LocalDirectory, name: str, text: str) -> None:
    """On a disk without checksums Spark would say only what its parser met."""
    directory.write_as_spark(["1.compact", "2"])
    check(directory, None)
    directory.write(name, text)
    with pytest.raises(jf.UsageError, match=f"the file '{name}' of the checkpoint '.*' cannot be read: "):
        refuse_lost_files(directory, 10)


def test_a_log_of_files_without_a_path_is_named(directory: LocalDirectory) -> None:
    directory.write_as_spark()
    directory.write("sources/0/2", 'v1\n{"pat8":"file:///rows/a.json"}\n')
    with pytest.raises(jf.UsageError, match=r"the file 'sources/0/2' of .* cannot be read: a line has no path"):
        refuse_lost_files(directory, 10)


@pytest.mark.parametrize("number", [2, 3])
def test_offsets_of_the_micro_batch_before_are_refused(directory: LocalDirectory, number: int) -> None:
    """Its rows would be read twice."""
    directory.write_as_spark()
    directory.write(f"offsets/{number}", directory.text(f"offsets/{number - 1}") or "")
    with pytest.raises(
        jf.UsageError, match=rf"the file 'offsets/{number}' of .*: it is a copy of 'offsets/{number - 1}'"
    ):
        refuse_lost_files(directory, 10)


@pytest.mark.parametrize("name", ["sources/0/1.compact", "sources/0/2"])
def test_another_file_of_the_log_of_files_is_refused(directory: LocalDirectory, name: str) -> None:
    directory.write_as_spark(["1.compact", "2"])
    directory.write(name, 'v1\n{"path":"file:///rows/a.json","batchId":0}\n')
    with pytest.raises(jf.UsageError, match=f"the file '{name}' of .*: it is a copy of number 0 of the log"):
        refuse_lost_files(directory, 10)


SCHEMA, OPERATOR = "state/0/_stateSchema/default/0_5e57", "state/0/_metadata/v2/0"


def write_operator(directory: LocalDirectory) -> None:
    """A stateful operator as Spark describes it."""
    directory.write_as_spark()
    directory.write(SCHEMA, "v3")
    text = f'v2\n{{"stateStoreInfo":[{{"stateSchemaFilePaths":["file:/x/{SCHEMA}"]}}]}}'
    directory.write(OPERATOR, text)
    check(directory, None)


def test_an_operator_that_was_lost_is_named(directory: LocalDirectory) -> None:
    write_operator(directory)
    (directory.path / OPERATOR).unlink()
    check(directory, OPERATOR)


@pytest.mark.parametrize("text", ["", 'v2\n{"stateStore', f'v2\n{{"paths":["file:/x/{SCHEMA}8"]}}'])
def test_an_operator_that_is_damaged_is_named(directory: LocalDirectory, text: str) -> None:
    write_operator(directory)
    directory.write(OPERATOR, text)
    with pytest.raises(jf.UsageError, match=f"the file '{OPERATOR}' of the checkpoint '.*' cannot be read: "):
        refuse_lost_files(directory, 10)
