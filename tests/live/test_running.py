"""`joinfold run` and `joinfold demo` end to end: in this process on the tests' Spark, and in separate processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as parquet
import pytest

from joinfold import Session, cli
from joinfold.workloads import generate

pytestmark = pytest.mark.spark

JOINFOLD = str(Path(sys.executable).with_name("joinfold"))
QUERY = """
SELECT a.location, COUNT(*) AS alarms, MAX(b.strength) AS smoke
FROM   temperature a [10 MINUTE SLIDE 1 MINUTE], smoke b [10 MINUTE SLIDE 1 MINUTE]
WHERE  a.location = b.location AND a.celsius >= 40 AND b.strength > 0.6
GROUP BY a.location CHANGES
"""


class Result(NamedTuple):
    status: int
    output: str
    error: str


Run = Callable[..., Result]


@pytest.fixture
def run(spark: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["joinfold", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        result = Result(int(exit_.value.code or 0), *capsys.readouterr())
        assert "Traceback" not in result.error
        return result

    return run


@pytest.fixture(scope="module")
def building(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("data") / "building"
    generate("sensors", rows=20_000, directory=directory)
    return directory


def streams(building: Path) -> list[str]:
    return [f"--stream={name}={building / name}" for name in ("temperature", "smoke")]


def test_bounded_streams_end_with_a_summary(run: Run, building: Path) -> None:
    result = run("run", QUERY, *streams(building), "--once", "--sink=memory", "--json")
    assert result.status == 0
    rows = [json.loads(line) for line in result.output.splitlines()]
    assert rows[0] == {
        "instant": "2025-01-01T00:05:00Z",
        "change": "insert",
        "location": "floor-2/room-12",
        "alarms": 6,
        "smoke": 0.884,
    }
    assert rows == sorted(rows, key=lambda row: row["instant"])
    assert {row["change"] for row in rows} == {"insert", "update", "delete"}
    assert "no --checkpoint: the state is kept in a temporary directory" in result.error
    assert "20,000 rows (10,000 of a, 10,000 of b) in 1 micro-batch" in result.error
    assert "33 instants answered, up to the watermark 2025-01-01 00:33:19" in result.error


def test_files_of_text_and_rows_that_cannot_be_read(run: Run, tmp_path: Path) -> None:
    for name, text in (
        ("csv", "k,ts\nx,2025-01-01 00:00:01\nx,2025-01-01 00:00:03\n"),
        ("json", '{"k": "x", "ts": "2025-01-01 00:00:00.5"}\n{"ts": "2025-01-01 00:00:02.5", "k": "x"}\n'),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"1.{name}").write_text(text, encoding="utf-8")
    arguments = [
        "SELECT a.k, COUNT(*) AS n FROM a [TUMBLE 2 SECOND], b [UNBOUNDED] WHERE a.k = b.k GROUP BY a.k",
        f"--stream=a={tmp_path / 'csv'}",
        f"--stream=b={tmp_path / 'json'}",
        *(f"--schema={name}=k STRING, ts TIMESTAMP" for name in "ab"),
        "--once",
    ]
    result = run("run", *arguments)
    assert result.status == 0
    assert result.output == "instant              k  n\n2025-01-01 00:00:02  x  1\n"
    (tmp_path / "json" / "2.json").write_text('{"k": "x", "ts": "soon"}\n', encoding="utf-8")
    result = run("run", *arguments)
    assert (result.status, result.output) == (1, "")
    (message,) = [line for line in result.error.splitlines() if line.startswith("RunError: ")]
    assert "2.json" in message
    assert "The value 'soon'" in message


def test_answers_by_window_ids_are_printed(run: Run, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        lines = "".join(f"x,2025-01-01 00:00:0{second}\n" for second in range(9))
        (tmp_path / name / "1.csv").write_text(f"k,ts\n{lines}", encoding="utf-8")
    arguments = [
        "run",
        "SELECT COUNT(*) AS n FROM a [TUMBLE 2 SECOND], b [TUMBLE 4 SECOND] WHERE a.k = b.k SYNC ON WINDOW ID",
        *(f"--stream={name}={tmp_path / name}" for name in "ab"),
        *(f"--schema={name}=k STRING, ts TIMESTAMP" for name in "ab"),
        "--once",
    ]
    console = run(*arguments)
    assert (console.status, [line.split()[-1] for line in console.output.splitlines()]) == (0, ["n", "8", "8"])
    written = run(*arguments, "--format=csv").output.splitlines()
    assert [line.split(",")[-1] for line in written] == ["n", "8", "8"] and ",2025-01-01T00:00:04Z," in written[1]
    printed = run(*arguments, "--json")
    rows = [json.loads(line) for line in printed.output.splitlines()]
    assert (printed.status, [(row["wid"], row["n"]) for row in rows]) == (0, [(0, 8), (1, 8)])


def test_an_error_in_a_worker_is_told_in_one_message(run: Run, building: Path) -> None:
    query = "SELECT SUM(CAST(celsius AS BIGINT) * 9000000000000000) AS x FROM temperature [10 MINUTE SLIDE 1 MINUTE]"
    result = run("run", query, *streams(building)[:1], "--once")
    assert result.status == 1
    assert result.error.splitlines()[-1].startswith("EvaluationError: ")
    assert result.error.splitlines()[-1].endswith(" does not fit BIGINT")


def test_lines_of_a_socket(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[list[str]] = []

    def print_and_stop(line: str) -> None:
        printed.append(line.split())
        if len(printed) == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(cli.run, "print_line", print_and_stop)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for second in range(5):
                    connection.sendall(f'{{"k": 1, "ts": "2025-01-01 00:00:0{second}"}}\n'.encode())
                stopped.wait(60)

        stopped = threading.Event()
        serving = threading.Thread(target=serve)
        serving.start()
        query = "SELECT COUNT(*) AS n FROM s [TUMBLE 2 SECOND]"
        result = run("run", query, f"--stream=s=socket:127.0.0.1:{port}", "--schema=s=k INT, ts TIMESTAMP")
        stopped.set()
        serving.join()
    assert result.status == 0
    assert printed == [["instant", "n"], ["2025-01-01", "00:00:02", "2"], ["2025-01-01", "00:00:04", "2"]]
    assert result.error.splitlines()[-1] == "stopped"


def test_answers_of_another_run_are_not_mixed_with_new_ones(run: Run, building: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "_spark_metadata").mkdir(parents=True)
    result = run("run", QUERY, *streams(building), "--sink=parquet", f"--output={tmp_path / 'out'}")
    assert result.status == 2
    assert f"the folder '{tmp_path / 'out'}' holds the answers of another run" in result.error


def test_ctrl_c_stops_and_a_second_start_goes_on(run: Run, spark: Any, building: Path, tmp_path: Path) -> None:
    """One process is interrupted after half of the files; this process continues and answers all of them."""
    for name in ("temperature", "smoke"):
        (tmp_path / name).mkdir()
    rows = {name: parquet.read_table(building / name) for name in ("temperature", "smoke")}
    for name, table in rows.items():
        parquet.write_table(table.slice(0, 5000), tmp_path / name / "1.parquet")
    arguments = ["run", QUERY, *streams(tmp_path), f"--checkpoint={tmp_path / 'checkpoint'}", "--json"]
    first = subprocess.Popen(
        [JOINFOLD, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert first.stderr is not None
    while "answered" not in first.stderr.readline():  # a micro-batch that is not committed would be answered again
        assert first.poll() is None
    os.killpg(first.pid, signal.SIGINT)  # as a terminal does: to the process and its children
    output, error = first.communicate(timeout=60)
    assert (first.returncode, "Traceback" in error) == (0, False)
    assert error.splitlines()[-1] == "stopped; start again with the same --checkpoint to continue"
    for name, table in rows.items():
        parquet.write_table(table.slice(5000), tmp_path / name / "2.parquet")
    second = run(*arguments, "--once")
    assert second.status == 0
    assert "10,000 rows (5,000 of a, 5,000 of b)" in second.error
    session = Session(spark)
    for name, table in rows.items():
        session.stream(name, table, time="ts")
    expected = [
        (f"{row['instant']:%Y-%m-%dT%H:%M:%SZ}", *list(row.values())[1:])
        for row in session.sql(QUERY).collect().to_pylist()
        if row["instant"].minute <= 33 and row["instant"].hour == 0  # where the streams' last watermark is
    ]
    answers = [tuple(json.loads(line).values()) for line in (output + second.output).splitlines()]
    assert 0 < len(output.splitlines()) < len(answers)
    assert sorted(answers) == sorted(expected)


def test_the_demo_ends_by_itself(run: Run) -> None:
    result = run("demo", "--seconds=5")
    assert result.status == 0
    assert "Answer: at every move of a window, changes only" in result.output
    assert "rooms in alarm" in result.output
    assert "+ 00:01:00  floor-2/room-04  alarm" in result.output
    assert "readings and" in result.output
    assert "alarms raised" in result.output
