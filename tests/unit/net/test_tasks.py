import asyncio
import logging

import pytest

from kproxy.net import tasks
from kproxy.net.tasks import TaskKeeper
from tests.worlds.backing import CountedThings


async def fail() -> None:
    raise RuntimeError("broken")


async def test_a_task_is_kept_until_it_is_done() -> None:
    # Given
    keeper = TaskKeeper()
    may_end = asyncio.Event()

    async def wait() -> None:
        await may_end.wait()

    # When
    task = keeper.spawn(wait(), name="waiting")

    # Then
    assert len(keeper) == 1
    assert task.get_name() == "waiting"
    may_end.set()
    await task
    assert len(keeper) == 0


async def test_an_exception_that_escapes_is_logged_once_with_the_name_of_the_task(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        # Given
        keeper = TaskKeeper()

        # When
        with pytest.raises(RuntimeError):
            await keeper.spawn(fail(), name="failing")

        # Then
        assert len(keeper) == 0
    lines = [record for record in caplog.records if record.msg == "task_failed"]
    assert len(lines) == 1
    assert lines[0].exc_info is not None


async def test_close_ends_every_task_even_one_that_starts_another_while_ending() -> None:
    # Given
    keeper = TaskKeeper()
    ended: list[str] = []

    async def last_words() -> None:
        ended.append("last words")

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            keeper.spawn(last_words(), name="last words")
            ended.append("stubborn")

    keeper.spawn(stubborn(), name="stubborn")
    await asyncio.sleep(0)

    # When
    await keeper.close()

    # Then
    assert ended == ["stubborn"]
    assert len(keeper) == 0


async def test_what_is_spawned_after_close_never_runs() -> None:
    # Given
    keeper = TaskKeeper()
    await keeper.close()

    # When
    task = keeper.spawn(fail(), name="too late")

    # Then
    with pytest.raises(asyncio.CancelledError):
        await task
    assert keeper.is_closed


async def test_what_goes_on_for_ever_goes_on_after_a_fault_which_is_logged_and_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "FAULT_PAUSE_SECONDS", 0.001)

    with caplog.at_level(logging.ERROR):
        # Given
        counted = CountedThings()
        keeper = TaskKeeper(counted)
        begun, has_gone_on = 0, asyncio.Event()

        async def look_for_ever() -> None:
            nonlocal begun
            begun += 1
            if begun < 3:
                raise RuntimeError("broken")
            has_gone_on.set()
            await asyncio.Event().wait()

        # When
        keeper.keep_up(look_for_ever, name="looks of broker 7", kind="looks")

        # Then
        await has_gone_on.wait()
        await keeper.close()
        assert counted.of("task_faults", "looks") == 2
    assert [record.msg for record in caplog.records] == ["task_fault", "task_fault"]
