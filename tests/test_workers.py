"""How tests are shared out between workers, and how such a run ends."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.real_kafka.paths import PROJECT_ROOT
from tests.workers import FILES_WITH_SPARK, LAST, LONGEST_FIRST, SPARK, share_of

END_TIMEOUT_SECONDS: Final = 120.0
TWO_WORKERS: Final = ("-p", "tests.workers", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile")

AS_FROM_A_TERMINAL: Final = """
import signal, sys, pytest

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main(sys.argv[1:]))
"""
"""What a shell starts in the background ignores Ctrl-C, and so does all that it starts."""

WAITS_WITH_A_CHILD: Final = """
import sys
from pathlib import Path

from tests.real_kafka.child import Child

def test_waits():
    with Child("child", [Path(sys.executable), "-c", "print(1, flush=True); import time; time.sleep(600)"]) as child:
        child.next_line(timeout_seconds=60)
        Path(__file__).with_suffix(".child").write_text(str(child.process_id))
        child.next_line(timeout_seconds=600)
"""
TELLS_ITS_WORKER: Final = """
import os
from pathlib import Path

def test_tells():
    Path(__file__).with_suffix(".worker").write_text(os.environ["PYTEST_XDIST_WORKER"])

def test_fails():
    assert "{name}" != "test_b.py"
"""
ENDS_ITS_WORKER: Final = """
import os

def test_before():
    pass

def test_ends():
    os._exit(3)

def test_after():
    pass
"""
ENDS_AT_LAST: Final = """
import os

def test_ends():
    os._exit(3)
"""

LET_THE_LAST_WORKER_WAIT: Final = """
import os
from pathlib import Path

def pytest_collection_finish(session):
    while os.environ.get("PYTEST_XDIST_WORKER") == "gw3" and not Path(__file__).with_name("test_c.worker").exists():
        pass
"""
"""In its collection, until a test of another file was run."""


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text.replace("{name}", name))
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {PROJECT_ROOT}\n")
    return folder


@contextmanager
def started(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Begin a run as a shell would, in a process group of its own; nothing of the group is left behind."""
    with subprocess.Popen(
        [sys.executable, "-c", AS_FROM_A_TERMINAL, *TWO_WORKERS, str(folder)],
        cwd=PROJECT_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        try:
            yield run
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)


def test_what_needs_spark_is_one_share_and_every_other_file_one_of_its_own() -> None:
    # When
    shares = [share_of(f"{file}::test_x[1]") for file in ("tests/spark/test_a.py", *FILES_WITH_SPARK[1:])]
    others = [share_of(f"tests/kafka/{name}.py::test_x") for name in ("test_a", "test_b")]

    # Then
    assert set(shares) == {SPARK}
    assert others == ["tests/kafka/test_a.py", "tests/kafka/test_b.py"]


def test_the_files_that_have_a_place_in_the_order_are_there() -> None:
    # When
    missing = [
        file for file in (*LONGEST_FIRST, *LAST, *FILES_WITH_SPARK) if not (PROJECT_ROOT / file).exists()
    ]

    # Then
    assert missing == [SPARK]


def test_a_failure_on_one_worker_fails_the_run_and_both_workers_take_part(tmp_path: Path) -> None:
    # Given
    folder = written(tmp_path, dict.fromkeys(("test_a.py", "test_b.py"), TELLS_ITS_WORKER))

    # When
    with started(folder) as run:
        told, _ = run.communicate(timeout=END_TIMEOUT_SECONDS)

    # Then
    assert run.returncode == 1
    assert "1 failed, 3 passed in" in told.splitlines()[-1]
    assert {(folder / f"test_{name}.worker").read_text() for name in "ab"} == {"gw0", "gw1"}


def test_a_test_that_ends_its_worker_fails_once_and_the_rest_of_its_file_is_run(tmp_path: Path) -> None:
    # Given
    files = {"test_a.py": ENDS_ITS_WORKER, "test_b.py": TELLS_ITS_WORKER, "test_c.py": ENDS_AT_LAST}
    folder = written(tmp_path, files)

    # When
    with started(folder) as run:
        told, _ = run.communicate(timeout=END_TIMEOUT_SECONDS)

    # Then
    assert run.returncode == 1
    assert "3 failed, 3 passed in" in told.splitlines()[-1]
    assert "crashed while running 'test_a.py::test_ends'" in told


def test_workers_that_replace_others_need_not_be_ready_together(tmp_path: Path) -> None:
    # Given
    tests = {"test_a.py": ENDS_AT_LAST, "test_b.py": ENDS_AT_LAST}
    tests |= dict.fromkeys(("test_c.py", "test_d.py"), TELLS_ITS_WORKER)
    folder = written(tmp_path, tests | {"conftest.py": LET_THE_LAST_WORKER_WAIT})

    # When
    with started(folder) as run:
        told, _ = run.communicate(timeout=END_TIMEOUT_SECONDS)

    # Then
    assert run.returncode == 1, told
    assert "2 failed, 4 passed in" in told.splitlines()[-1]


def test_an_interrupted_run_leaves_no_process_behind(tmp_path: Path) -> None:
    # Given
    folder = written(tmp_path, dict.fromkeys(("test_a.py", "test_b.py"), WAITS_WITH_A_CHILD))
    with started(folder) as run:
        noted = [folder / f"test_{name}.child" for name in "ab"]
        while not all(note.exists() and note.read_text() for note in noted):
            with pytest.raises(subprocess.TimeoutExpired):
                run.wait(0.1)
        family = psutil.Process(run.pid).children(recursive=True)

        # When
        os.killpg(run.pid, signal.SIGINT)
        told, _ = run.communicate(timeout=END_TIMEOUT_SECONDS)
        _, survivors = psutil.wait_procs(family, timeout=END_TIMEOUT_SECONDS)

    # Then
    assert run.returncode == 2, told
    assert {int(note.read_text()) for note in noted} <= {process.pid for process in family}
    assert survivors == []
