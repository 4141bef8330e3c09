"""The Spark that joinfold starts: its settings, its Java."""

from pathlib import Path
from typing import Any

import pytest

import joinfold as jf
from joinfold.runtime.sessions import local


@pytest.mark.parametrize("name", local.JAVA_VARIABLES)
def test_java_keeps_the_collector_that_the_environment_chooses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in local.JAVA_VARIABLES:
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, "-Xmx2g -XX:+UseDynamicNumberOfGCThreads")
    assert local._java_options() == "-XX:+UseParallelGC"
    monkeypatch.setenv(name, "-Xmx2g -XX:+UseZGC")
    assert local._java_options() == ""


def fake_java(folder: Path, version: str) -> Path:
    """A home of Java that says which version it is."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize("version", ["17.0.15", "17", "21-ea"])
def test_a_java_that_is_new_enough_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    local.require_java()


@pytest.mark.parametrize(
    ("version", "told"), [("16.0.1", "is version 16"), ("1.8.0_302", "is version 1"), ("none", "is version 0")]
)
def test_an_old_java_is_refused_with_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, told: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    with pytest.raises(
        jf.SetupError, match=f"Spark needs Java 17 or newer, and '{tmp_path}/bin/java' {told}"
    ) as refused:
        local.require_java()
    assert refused.value.hint is not None and "apt-get install openjdk-17" in refused.value.hint


def test_without_java_it_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(jf.SetupError, match="no 'java' was found"):
        local.require_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(jf.SetupError, match="no 'java' was found"):
        local.require_java()


@pytest.mark.spark
def test_a_session_that_is_there_is_taken(spark: Any) -> None:
    assert local.start_local_spark().sparkContext is spark.sparkContext
