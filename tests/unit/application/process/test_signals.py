"""What SIGHUP does to the level of log lines."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kproxy.application.process.signals import Hangups, handle_signals
from kproxy.settings import LoadedSettings, assignment_of_override, load_settings
from kproxy.telemetry import logs
from tests.worlds.waiting import until


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    logs.configure("json", "info")
    yield
    logs.configure("json", "info")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "kproxy.properties", "kproxy.log.level=info")


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(("bootstrap.servers=kafka:9092", *lines)))
    return path


def read(file: Path | None = None, *overrides: str) -> LoadedSettings:
    return load_settings(
        file=file, environment={}, command_line=[assignment_of_override(text) for text in overrides]
    )


def test_the_level_is_read_from_the_file_again(file: Path) -> None:
    # Given
    hangups = Hangups(read(file))
    write(file, "kproxy.log.level=debug")

    # When
    hangups.follow()

    # Then
    assert logs.level() == "debug"


def test_without_a_file_debug_lines_are_turned_on_and_off_again() -> None:
    # Given
    hangups = Hangups(read(None, "kproxy.log.level=warning"))
    logs.change_level("warning", by="the configuration")

    # When
    levels = []
    for _ in range(3):
        hangups.follow()
        levels.append(logs.level())

    # Then
    assert levels == ["debug", "warning", "debug"]


def test_where_debug_is_configured_and_no_file_debug_lines_can_be_turned_off() -> None:
    # Given
    hangups = Hangups(read(None, "kproxy.log.level=debug"))
    logs.change_level("debug", by="the configuration")

    # When
    hangups.follow()

    # Then
    assert logs.level() == "info"


def test_what_wins_over_the_file_at_the_start_wins_again(file: Path) -> None:
    # Given
    hangups = Hangups(read(file, "kproxy.log.level=error"))
    write(file, "kproxy.log.level=debug")

    # When
    hangups.follow()

    # Then
    assert logs.level() == "error"


def test_a_file_that_cannot_be_used_changes_nothing_and_is_told(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Given
    hangups = Hangups(read(file))
    write(file, "kproxy.log.level=loud")

    # When
    hangups.follow()

    # Then
    assert logs.level() == "info"
    [line] = [each for each in caplog.records if each.msg == "configuration_not_read_again"]
    assert "'loud'" in str(line.__dict__["event_keys"]["detail"])


def test_other_keys_that_changed_are_named_and_wait_for_a_restart(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Given
    hangups = Hangups(read(file))
    write(file, "kproxy.log.level=debug", "max.connections=7")

    # When
    hangups.follow()

    # Then
    [line] = [each for each in caplog.records if each.msg == "restart_needed"]
    assert line.__dict__["event_keys"]["keys"] == ["max.connections"]
    assert logs.level() == "debug"


async def test_the_signal_changes_the_level_of_a_process_that_runs_by_itself(file: Path) -> None:
    # Given
    drained: list[str] = []
    loop = asyncio.get_running_loop()
    handle_signals(loop, lambda: drained.append("drain"), read(file), is_attended=lambda: False)
    write(file, "kproxy.log.level=debug")

    # When
    os.kill(os.getpid(), signal.SIGHUP)
    await until(lambda: logs.level() == "debug")

    # Then
    assert drained == []
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)


async def test_a_terminal_that_is_closed_drains_the_process_in_it(file: Path) -> None:
    # Given
    drained: list[str] = []
    loop = asyncio.get_running_loop()
    handle_signals(loop, lambda: drained.append("drain"), read(file), is_attended=lambda: True)

    # When
    os.kill(os.getpid(), signal.SIGHUP)
    await until(lambda: bool(drained))

    # Then
    assert drained == ["drain"]
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)
