"""Tests that are coroutines really run, on the loop they name, and what goes wrong in their loop fails them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.event_loops import BOTH_LOOPS
from tests.real_kafka.paths import PROJECT_ROOT

BEGINNING = """
import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from tests import event_loops
from tests.event_loops import async_fixture


@async_fixture
async def world() -> AsyncIterator[list[str]]:
    loop = asyncio.get_running_loop()
    said = [type(loop).__module__.partition(".")[0]]
    yield said
    assert asyncio.get_running_loop() is loop
    said.append("ended")
    print(said)

"""


def outcome_of(tests: str, folder: Path) -> str:
    """Run tests that may have `world` in a process of their own; return what pytest says."""
    file = folder / "test_written.py"
    file.write_text(BEGINNING + tests)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.event_loops",
        "-p",
        "no:cacheprovider",
        "-s",
        str(file),
    ]
    ended = subprocess.run(
        [*command, f"--rootdir={folder}"],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ended.stdout


def test_a_coroutine_runs_in_the_loop_of_its_fixtures_which_end_after_it(tmp_path: Path) -> None:
    # When
    outcome = outcome_of(
        """
async def test_it(world: list[str]) -> None:
    await asyncio.sleep(0)
    world.append("tested")
""",
        tmp_path,
    )

    # Then
    assert "['asyncio', 'tested', 'ended']" in outcome
    assert "1 passed" in outcome


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
def test_the_loop_is_the_one_that_the_test_is_parametrized_with(loop_kind: str, tmp_path: Path) -> None:
    # When
    outcome = outcome_of(
        f"""
@pytest.mark.parametrize("loop_kind", ["{loop_kind}"])
async def test_it(world: list[str]) -> None:
    assert world == ["{loop_kind}"]
""",
        tmp_path,
    )

    # Then
    assert "1 passed" in outcome


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("assert world == []", "1 failed"),
        ("asyncio.get_running_loop().call_soon(lambda: 1 / 0); await asyncio.sleep(0)", "ZeroDivisionError"),
        ("event_loops.LIMIT_SECONDS; await asyncio.sleep(10)", "TimeoutError"),
    ],
    ids=["a failure", "an exception in a callback", "a test that takes too long"],
)
def test_what_goes_wrong_in_a_coroutine_fails_the_test_and_its_fixtures_end(
    body: str, said: str, tmp_path: Path
) -> None:
    # When
    outcome = outcome_of(
        f"""
event_loops.LIMIT_SECONDS = 1.0


async def test_it(world: list[str]) -> None:
    {body}
""",
        tmp_path,
    )

    # Then
    assert said in outcome
    assert "['asyncio', 'ended']" in outcome


def test_an_alarm_while_the_fixtures_end_fails_a_test_that_looks_at_log_lines(tmp_path: Path) -> None:
    # When
    outcome = outcome_of(
        """
@async_fixture
async def noisy() -> AsyncIterator[None]:
    yield
    logging.getLogger("kproxy").warning("late")


async def test_who_looks(noisy: None, caplog: pytest.LogCaptureFixture) -> None:
    assert caplog.records == []


async def test_who_does_not_look(noisy: None) -> None:
    await asyncio.sleep(0)
""",
        tmp_path,
    )

    # Then
    assert "logged while the fixtures ended: ['late']" in outcome
    assert "2 passed, 1 error" in outcome
