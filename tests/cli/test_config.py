"""The configuration file and environment variables: who comes first, and what is refused."""

from pathlib import Path

import pytest

from joinfold.live.run import RunSettings
from tests.cli.commands import QUERY, Run, check_refused

Asked = list[RunSettings]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asked:
    """The settings of the runs that were asked for, in an empty folder."""
    found: Asked = []
    monkeypatch.setattr("joinfold.live.run.run", lambda settings, console, line: found.append(settings))
    monkeypatch.chdir(tmp_path)
    return found


FILE = f"""
[run]
query = "{QUERY}"
stream = {{ A = "rate:1", B = "rate:2" }}
delay = ["A=5 seconds", "B=1 minute"]
checkpoint = "of the file"
partitions = 3
json = true
once = true

[explain]
stage = "windows"
"""


def test_a_file_has_the_options_of_a_command(run: Run, asked: Asked) -> None:
    Path("joinfold.toml").write_text(FILE, encoding="utf-8")
    assert run("run").status == 0
    (settings,) = asked
    assert (settings.query, settings.checkpoint, settings.partitions) == (QUERY, "of the file", 3)
    assert (settings.format, settings.trigger) == ("json", "available")
    assert list(settings.streams) == ["A", "B"]
    assert settings.stream_options["delay"] == {"A": "5 seconds", "B": "1 minute"}


def test_an_option_comes_before_a_variable_and_a_variable_before_the_file(
    run: Run, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("mine.toml").write_text(FILE, encoding="utf-8")
    run("--config=mine.toml", "run")
    monkeypatch.setenv("JOINFOLD_RUN_CHECKPOINT", "of the environment")
    monkeypatch.setenv("JOINFOLD_CONFIG", "mine.toml")
    run("run")
    run("run", "--checkpoint=of the command line")
    monkeypatch.delenv("JOINFOLD_CONFIG")
    run("run", QUERY, "--stream=A=rate:1")
    assert [settings.checkpoint for settings in asked] == [
        "of the file",
        "of the environment",
        "of the command line",
        "of the environment",
    ]
    assert asked[-1].partitions is None


def test_a_variable_may_have_several_values(run: Run, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOINFOLD_RUN_STREAM", "A=rate:1; B=rate:2;")
    monkeypatch.setenv("JOINFOLD_RUN_DELAY", "A=5 seconds")
    monkeypatch.setenv("JOINFOLD_RUN_SAFE", "true")
    monkeypatch.setenv("JOINFOLD_RUN_PARTITIONS", "4")
    assert run("run", QUERY).status == 0
    (settings,) = asked
    assert (list(settings.streams), settings.stream_options["delay"]) == (["A", "B"], {"A": "5 seconds"})
    assert (settings.is_safe, settings.partitions) == (True, 4)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[runn]\n",
            "has a command 'runn', which does not exist\nHint: did you mean 'run'? The commands are: explain, ",
        ),
        (
            "[run]\nchekpoint = 'x'",
            "has 'chekpoint' for run, which does not exist\nHint: did you mean 'checkpoint'? Run ",
        ),
        ("run = 5", "'run' in the configuration 'joinfold.toml' is not a table\nHint: write [run], and its options "),
        (
            "[run]\nsink = ['console']",
            "'sink' in the configuration 'joinfold.toml' has several values\nHint: it takes ",
        ),
        ("[run", "the configuration 'joinfold.toml' is not TOML: "),
    ],
)
def test_files_that_mean_nothing(run: Run, asked: Asked, text: str, told: str) -> None:
    Path("joinfold.toml").write_text(text, encoding="utf-8")
    refused = run("run", QUERY, "--stream=A=rate:1")
    assert told in refused.error and refused.status == 2
    assert asked == []


def test_a_file_that_is_not_there(run: Run, asked: Asked) -> None:
    error = (
        "UsageError: cannot read the configuration 'none.toml': No such file or directory\nHint: give --config a file"
    )
    check_refused(run("--config=none.toml", "run", QUERY), error)
    Path("bytes.toml").write_bytes(b"\xff")
    check_refused(run("--config=bytes.toml", "run", QUERY), "UsageError: the configuration 'bytes.toml' is not text")


def test_a_wrong_value_is_refused_by_the_option(run: Run, asked: Asked) -> None:
    Path("joinfold.toml").write_text("[run]\npartitions = 'many'", encoding="utf-8")
    refused = run("run", QUERY, "--stream=A=rate:1")
    assert refused.status == 2 and "integer" in refused.error and "--partitions" in refused.error
