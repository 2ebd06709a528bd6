"""Signs of life in the log, and what a kproxy that starts makes of them."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.state_log.signs_of_life import ALIVE_MS, SIGN_MS, SignsOfLife, warn_of_living_owner
from kproxy.statelog.group_records import RecoveryPoint, SignOfLife, decode_group_record
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.state_log_process import Process
from tests.worlds.state_logs import GROUPS_ID, NOW_MS, StateLogBacking, alarms, groups_log


def signs(cluster: ScriptedStateLog) -> list[SignOfLife]:
    """Return the signs of life in slot 0 of the log, in order."""
    found = [decode_group_record(record).record for record in cluster.records(groups_log())]
    return [point.sign for point in found if isinstance(point, RecoveryPoint) and point.sign is not None]


async def warned(backing: StateLogBacking) -> None:
    """Do what a start does before it claims."""
    await warn_of_living_owner(await backing.found(), backing.reader, backing.wall_clock)


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, float]]:
    """Return the warnings: event, owner without its token, and how long ago it was alive."""
    lines = [getattr(line, "event_keys", {}) | {"event": line.msg} for line in alarms(caplog)]
    return [(line["event"], line["owner"].partition(" (")[0], line["alive_seconds_ago"]) for line in lines]


async def test_a_first_start_has_nobody_to_warn_of(
    caplog: pytest.LogCaptureFixture, backing: StateLogBacking
) -> None:
    await warned(backing)
    assert said(caplog) == []


async def test_whoever_claimed_a_moment_ago_is_named_before_it_is_overtaken(
    caplog: pytest.LogCaptureFixture, backing: StateLogBacking
) -> None:
    await Process(backing, "kproxy at host-1").serves()
    backing.wall_clock.advance(3_000)
    await warned(backing)
    assert said(caplog) == [("living_owner_found", "kproxy at host-1", 3.0)]


async def test_an_owner_with_nothing_to_do_is_known_by_its_signs(
    caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    slots = await backing.ready_slots()
    giving = SignsOfLife(slots, "kproxy at host-1 (a0b1)", wall_clock=backing.wall_clock)
    for _ in range(10):
        backing.wall_clock.advance(SIGN_MS)
        await giving.look()
    backing.wall_clock.advance(4_000)
    await giving.look()
    await warned(backing)
    assert [sign.alive_at_ms for sign in signs(cluster)] == [
        NOW_MS + SIGN_MS * number for number in range(1, 11)
    ]
    assert said(caplog) == [("living_owner_found", "kproxy at host-1", 4.0)]


async def test_an_owner_that_gave_no_sign_for_long_is_no_reason_to_warn(
    caplog: pytest.LogCaptureFixture, backing: StateLogBacking
) -> None:
    await backing.ready_slots()
    backing.wall_clock.advance(ALIVE_MS + 1)
    await warned(backing)
    assert said(caplog) == []


async def test_an_owner_that_ended_in_order_is_no_reason_to_warn(
    caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    process = await Process(backing).serves()
    await process.service.leave()
    await warned(backing)
    assert [sign.has_left for sign in signs(cluster)] == [True]
    assert said(caplog) == []


async def test_whoever_claims_after_another_one_has_left_is_alive(
    caplog: pytest.LogCaptureFixture, backing: StateLogBacking
) -> None:
    await (await Process(backing, "kproxy at host-1").serves()).service.leave()
    await Process(backing, "kproxy at host-2").serves()
    await warned(backing)
    assert said(caplog) == [("living_owner_found", "kproxy at host-2", 0.0)]


async def test_an_idle_owner_learns_from_its_next_look_that_it_was_overtaken_and_gives_no_sign_any_more(
    caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    slots = await backing.ready_slots()
    giving = SignsOfLife(slots, "kproxy at host-1", wall_clock=backing.wall_clock)
    await Process(backing, "kproxy at host-2").serves()
    backing.wall_clock.advance(SIGN_MS)
    await giving.look()
    assert signs(cluster) == []
    assert "another kproxy took the state log over: kproxy at host-2" in slots.problem()
    assert [line.msg for line in alarms(caplog) if line.levelname == "ERROR"] == ["slot_stepped_down"]


async def test_a_log_that_cannot_be_looked_at_holds_up_no_start(
    caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    topics = await backing.found()
    cluster.refuse(GROUPS_ID, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    await warn_of_living_owner(topics, backing.reader, backing.wall_clock)
    assert said(caplog) == []
