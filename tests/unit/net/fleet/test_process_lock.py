"""Locks of processes that live, are stopped, fork, and are killed: real ones."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import pytest

from kproxy.net.fleet import process_lock
from kproxy.net.fleet.process_lock import MOST_KEPT, ProcessLock
from tests.worlds.fleet_members import end_like_its_process

PROGRAM: Final = """
import os, sys, threading, time
from pathlib import Path
from kproxy.net.fleet.process_lock import ProcessLock
lock = ProcessLock.take(Path(sys.argv[1]))
print(lock.client_id, flush=True)
{then}
sys.stdin.read()
"""
FORKS: Final = """
if os.fork() == 0:
    print("forked", flush=True)
    sys.stdin.read()
    os._exit(0)
"""
ENDS_ITS_MAIN_THREAD: Final = """
import ctypes
threading.Thread(target=sys.stdin.read).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
"""
"""`exit(2)`, which ends one thread; the process looks like a zombie, and works on."""


class Other:
    """Another process with a lock."""

    def __init__(self, folder: Path, then: str) -> None:
        command = [sys.executable, "-c", PROGRAM.format(then=then), str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.member_id = f"{self.line()}-uuid"
        if then is FORKS:
            assert self.line() == "forked"

    def line(self) -> str:
        return _stream(self.process.stdout).readline().strip()

    def end(self, signal_number: int = signal.SIGKILL) -> None:
        self.process.send_signal(signal_number)
        self.process.wait(10)

    def close(self) -> None:
        """End it, and its child by the end of the input of both."""
        self.process.kill()
        self.process.wait(10)
        _stream(self.process.stdin).close()
        _stream(self.process.stdout).close()


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


@contextmanager
def another_process(folder: Path, *, then: str = "") -> Iterator[Other]:
    other = Other(folder, then)
    try:
        yield other
    finally:
        other.close()


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[ProcessLock]:
    lock = ProcessLock.take(tmp_path)
    yield lock
    lock.release()


def a_dead_one(folder: Path) -> str:
    """Return the member id of a process that is dead."""
    lock = ProcessLock.take(folder)
    end_like_its_process(lock)
    return f"{lock.client_id}-uuid"


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_a_process_is_dead_when_it_was_killed_and_not_before(tmp_path: Path, mine: ProcessLock) -> None:
    with another_process(tmp_path) as other:
        assert mine.dead_among([other.member_id]) == set()

        # When
        other.end()

        # Then
        assert mine.dead_among([other.member_id, "kproxy-uuid"]) == {other.member_id}


def test_a_process_that_is_stopped_lives(tmp_path: Path, mine: ProcessLock) -> None:
    with another_process(tmp_path) as other:
        # When
        other.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, other.process.pid, os.WSTOPPED | os.WNOWAIT)

        # Then
        assert mine.dead_among([other.member_id]) == set()


def test_a_process_without_its_main_thread_lives(tmp_path: Path, mine: ProcessLock) -> None:
    with another_process(tmp_path, then=ENDS_ITS_MAIN_THREAD) as other:
        # When
        until(lambda: state_of(other.process.pid) == "Z")

        # Then
        assert mine.dead_among([other.member_id]) == set()
        other.end()
        assert mine.dead_among([other.member_id]) == {other.member_id}


def test_a_process_lives_as_long_as_a_child_that_it_forked(tmp_path: Path, mine: ProcessLock) -> None:
    with another_process(tmp_path, then=FORKS) as other:
        # When
        other.end()

        # Then
        assert mine.dead_among([other.member_id]) == set()
        other.close()
        until(lambda: mine.dead_among([other.member_id]) == {other.member_id})


def test_a_process_does_not_take_itself_for_dead(mine: ProcessLock) -> None:
    assert mine.dead_among([f"{mine.client_id}-uuid"]) == set()


def test_who_is_on_another_machine_is_not_known_to_be_dead(tmp_path: Path, mine: ProcessLock) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert mine.dead_among([a_dead_one(elsewhere)]) == set()


def be_of_another_boot(path: Path) -> None:
    path.write_text("00000000-0000-0000-0000-000000000000")


def be_a_link(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def be_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def be_unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("change", [be_of_another_boot, be_a_link, be_a_pipe, be_unreadable, Path.unlink])
def test_a_file_that_no_kproxy_wrote_here_proves_nothing(
    tmp_path: Path, mine: ProcessLock, change: Callable[[Path], None]
) -> None:
    # Given
    member_id = a_dead_one(tmp_path)
    assert mine.dead_among([member_id]) == {member_id}
    (path,) = [each for each in files(tmp_path) if each.name.rpartition("-")[2] in member_id]

    # When
    change(path)

    # Then
    assert mine.dead_among([member_id]) == set()


def test_a_file_of_another_user_proves_nothing(
    tmp_path: Path, mine: ProcessLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    member_id = a_dead_one(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert mine.dead_among([member_id]) == set()


def test_several_who_look_do_not_take_each_other_for_the_owner(tmp_path: Path, mine: ProcessLock) -> None:
    # Given
    member_id = a_dead_one(tmp_path)
    found: list[frozenset[str]] = []

    def look() -> None:
        found.extend(mine.dead_among([member_id]) for _ in range(200))

    # When
    lookers = [threading.Thread(target=look) for _ in range(4)]
    for looker in lookers:
        looker.start()
    for looker in lookers:
        looker.join()

    # Then
    assert set(found) == {frozenset({member_id})}


def test_the_file_is_for_its_user_alone_and_goes_when_the_process_ends_in_order(
    tmp_path: Path, mine: ProcessLock
) -> None:
    (path,) = files(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    mine.release()
    mine.release()
    assert files(tmp_path) == []


def test_the_files_of_the_dead_go_when_they_are_in_no_group_any_more(
    tmp_path: Path, mine: ProcessLock
) -> None:
    # Given
    dead = a_dead_one(tmp_path)

    # When
    mine.forget([dead, f"{mine.client_id}-uuid", "kproxy-uuid"])

    # Then
    assert [path.name.rpartition("-")[2] in mine.client_id for path in files(tmp_path)] == [True]


def test_the_files_of_few_of_the_dead_stay(tmp_path: Path) -> None:
    # Given
    living = ProcessLock.take(tmp_path)
    note = tmp_path / "a note"
    note.touch()
    oldest = a_dead_one(tmp_path)
    (path,) = [each for each in files(tmp_path) if each.name.rpartition("-")[2] in oldest]
    os.utime(path, (1, 1))
    for _ in range(MOST_KEPT):
        a_dead_one(tmp_path)

    # When
    another = ProcessLock.take(tmp_path)

    # Then
    assert len(files(tmp_path)) == MOST_KEPT + 3
    assert another.dead_among([oldest]) == set()
    assert note.exists()
    for lock in (living, another):
        lock.release()


@pytest.mark.parametrize("lacks", ["folder", "boot id"])
def test_where_no_lock_can_be_had_nobody_is_known_to_be_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    # Given
    dead = a_dead_one(tmp_path)
    if lacks == "boot id":
        monkeypatch.setattr(process_lock, "BOOT_ID", tmp_path / "none")

    # When
    lock = ProcessLock.take(tmp_path / "none" if lacks == "folder" else tmp_path)

    # Then
    assert lock.dead_among([dead]) == set()
    assert len(files(tmp_path)) == 1
    lock.release()


def state_of(pid: int) -> str:
    """Return the letter that `/proc` has for the state of a process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def until(is_so: Callable[[], bool]) -> None:
    """Return when it is so."""
    for _ in range(100_000):
        if is_so():
            return
        os.sched_yield()
    raise AssertionError("it did not come to it")
