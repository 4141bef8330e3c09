"""The manifest: what is written is read, and what is damaged, lost or by another joinfold is refused."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import joinfold as jf
from joinfold.operators.codec import VERSION
from joinfold.runtime.checkpoints import manifest
from joinfold.runtime.checkpoints.manifest import FOLDER, OLD_FILE, Manifest, read_manifest, write_manifest
from tests.runtime.checkpoints.local_directory import MANIFEST, LocalDirectory, rewrite

TEXT = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [TUMBLE 1 MINUTE] GROUP BY k"


@pytest.fixture
def directory(tmp_path: Path) -> LocalDirectory:
    return LocalDirectory(tmp_path)


@pytest.fixture
def written(directory: LocalDirectory) -> Manifest:
    session = jf.Session()
    session.stream("a", "ts TIMESTAMP, k INT, v BIGINT", delay="5 seconds", idle="1 hour")
    made = Manifest.of(session.sql(TEXT).plan, "UTC", 2)
    assert write_manifest(directory, made)
    return made


def test_what_is_written_is_read(directory: LocalDirectory, written: Manifest) -> None:
    assert read_manifest(directory) == written
    assert len((directory.text(MANIFEST) or "").splitlines()) == 1


def test_a_new_directory_has_none(directory: LocalDirectory) -> None:
    assert read_manifest(directory) is None


def test_the_file_of_an_earlier_version_is_read(directory: LocalDirectory, written: Manifest) -> None:
    (directory.path / MANIFEST).unlink()
    (directory.path / FOLDER / "1").rmdir()
    directory.write(OLD_FILE, json.dumps(asdict(written), indent=2))
    assert read_manifest(directory) == written


def test_a_file_that_spark_connect_has_written_is_read(directory: LocalDirectory, written: Manifest) -> None:
    file = directory.path / MANIFEST
    file.rename(file.with_name("part-00000-7d0f.txt"))
    directory.write(f"{FOLDER}/1/_SUCCESS", "")
    assert read_manifest(directory) == written


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"partitions": "two"}, "'partitions' cannot be \"two\""),
        ({"partitions": True}, "'partitions' cannot be true"),
        ({"inputs": 5}, "'inputs' cannot be 5"),
        ({"inputs": [5]}, "5 stands where an object belongs"),
        ({"inputs": [{"alias": "a"}]}, "'columns' is missing"),
        ({"query": None}, "'query' cannot be null"),
        ({"sampler": 7}, "'sampler' cannot be 7"),
        ({"colour": "red"}, "'colour' is unknown"),
    ],
)
def test_wrong_fields_are_refused_with_the_field(
    directory: LocalDirectory, written: Manifest, facts: dict[str, Any], told: str
) -> None:
    rewrite(directory, **facts)
    with pytest.raises(jf.UsageError) as refused:
        read_manifest(directory)
    assert str(refused.value) == (
        f"the file '_joinfold/1' of the checkpoint '{directory.root}' cannot be read: {told}\n"
        "Hint: restore the file from a copy of the checkpoint, or use a new checkpoint directory."
    )


@pytest.mark.parametrize("text", ["", "{", "[]", '{"partitions": ', '{"id": "46`a"}'])
def test_a_damaged_file_of_an_earlier_version_is_named(directory: LocalDirectory, text: str) -> None:
    directory.write(OLD_FILE, text)
    with pytest.raises(jf.UsageError, match=f"the file '{OLD_FILE}' of the checkpoint '.*' cannot be read: "):
        read_manifest(directory)


def test_every_changed_character_is_noticed(directory: LocalDirectory, written: Manifest) -> None:
    text = directory.text(MANIFEST) or ""
    for place in range(len(text) - 1):
        directory.write(MANIFEST, text[:place] + ("x" if text[place] != "x" else "y") + text[place + 1 :])
        with pytest.raises(jf.UsageError, match=r"differs from its checksum"):
            read_manifest(directory)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_a_file_that_is_cut_short_is_refused(directory: LocalDirectory, written: Manifest, part: float) -> None:
    text = directory.text(MANIFEST) or ""
    directory.write(MANIFEST, text[: int(part * len(text))])
    with pytest.raises(jf.UsageError, match=r"differs from its checksum"):
        read_manifest(directory)


def test_a_manifest_is_not_empty_and_not_doubled(directory: LocalDirectory, written: Manifest) -> None:
    directory.write(f"{FOLDER}/1/part-1.txt", directory.text(MANIFEST) or "")
    with pytest.raises(jf.UsageError, match="has 2 manifests: two queries were started on it at once"):
        read_manifest(directory)
    for name in ("manifest.txt", "part-1.txt"):
        directory.write(f"{FOLDER}/1/{name}", "")
    with pytest.raises(
        jf.UsageError, match=r"the file '_joinfold/1/.*' of the checkpoint '.*' cannot be read: it is empty"
    ):
        read_manifest(directory)


def test_logs_without_a_manifest_are_those_of_another_query(directory: LocalDirectory) -> None:
    directory.write_as_spark()
    with pytest.raises(jf.UsageError, match="was not made by joinfold"):
        read_manifest(directory)


def test_a_layout_of_a_later_version_is_refused(directory: LocalDirectory, written: Manifest) -> None:
    directory.write(f"{FOLDER}/2/manifest.txt", "something else")
    with pytest.raises(jf.UsageError, match=re.escape("has layout 2, not 1")):
        read_manifest(directory)


@pytest.mark.parametrize("reads", [VERSION - 1, VERSION + 1])
def test_a_checkpoint_of_another_joinfold_is_told_apart_from_a_damaged_one(
    directory: LocalDirectory, written: Manifest, reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "VERSION", reads)
    with pytest.raises(jf.UsageError, match=f"holds blobs of version {VERSION}"):
        read_manifest(directory)
