import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.broker_client import dial
from kproxy.net.cluster.share_support import (
    PROBED_GROUP_ID,
    ShareSupport,
    ShareSupportWatch,
    probe_share_groups,
)
from kproxy.net.deadlines import MonotonicClock
from kproxy.net.tasks import TaskKeeper
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import DescribedGroup, ShareGroupDescribeResponse
from tests.in_memory.answering_broker import AnsweringBroker
from tests.worlds.backing import LIMITS, CountedThings

DESCRIBE = ApiKey.SHARE_GROUP_DESCRIBE


async def probe(broker: AnsweringBroker) -> ShareSupport:
    async with broker:
        return await probe_share_groups(await dial(broker.address, LIMITS))


def described(*error_codes: int) -> AnsweringBroker:
    groups = [DescribedGroup(error_code=error_code) for error_code in error_codes]
    response = ShareGroupDescribeResponse(groups=groups)
    return AnsweringBroker({DESCRIBE: lambda _: response}, version_ranges={DESCRIBE: (1, 1)})


@pytest.mark.parametrize(
    ("error_code", "support"),
    [
        (ErrorCode.UNSUPPORTED_VERSION, ShareSupport.ABSENT),
        (ErrorCode.GROUP_ID_NOT_FOUND, ShareSupport.SERVED),
        (ErrorCode.NONE, ShareSupport.SERVED),
        (ErrorCode.NOT_COORDINATOR, ShareSupport.SERVED),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, ShareSupport.SERVED),
    ],
)
async def test_the_answer_about_a_group_that_nobody_has_tells(
    error_code: ErrorCode, support: ShareSupport
) -> None:
    broker = described(error_code)
    assert await probe(broker) is support
    asked = broker.asked(DESCRIBE)[0].message
    assert isinstance(asked, ShareGroupDescribeRequest)
    assert asked.group_ids == [PROBED_GROUP_ID]


async def test_an_answer_about_no_group_is_none() -> None:
    with pytest.raises(BrokerUnavailable, match="answered ShareGroupDescribe about no group"):
        await probe(described())


async def test_an_odd_answer_is_none() -> None:
    with pytest.raises(BrokerUnavailable, match=r"with UNKNOWN_SERVER_ERROR \(-1\), which tells nothing"):
        await probe(described(ErrorCode.UNKNOWN_SERVER_ERROR))


async def test_a_broker_without_the_api_serves_no_share_groups() -> None:
    assert await probe(AnsweringBroker()) is ShareSupport.ABSENT


async def test_a_broker_of_the_early_access_serves_them() -> None:
    assert await probe(AnsweringBroker(version_ranges={DESCRIBE: (0, 0)})) is ShareSupport.SERVED


class Watching:
    """A watch whose probes give one answer after the other; an exception is raised."""

    def __init__(self, *answers: ShareSupport | Exception) -> None:
        self.answers = list(answers)
        self.changes: list[tuple[ShareSupport, str]] = []
        self.tasks = TaskKeeper()
        self.counted = CountedThings()
        self.watch = ShareSupportWatch(
            self._probe,
            clock=MonotonicClock(),
            tasks=self.tasks,
            counting=self.counted,
            on_change=lambda: self.changes.append((self.watch.current, self.watch.failure)),
        )

    async def look(self) -> None:
        self.watch.look()
        await asyncio.wait(self.tasks._tasks)

    async def _probe(self) -> ShareSupport:
        await asyncio.sleep(0)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_watch_tells_only_of_changes() -> None:
    # Given
    absent, served = ShareSupport.ABSENT, ShareSupport.SERVED
    watching = Watching(absent, absent, BrokerUnavailable("away"), served)
    assert watching.watch.current is ShareSupport.UNKNOWN

    # When
    for _ in range(4):
        await watching.look()

    # Then
    assert watching.changes == [(absent, ""), (served, "")]
    assert watching.watch.current is served


@pytest.mark.parametrize("oddity", [BrokerUnavailable("it hangs"), ShareSupport.UNKNOWN, KeyError("a fault")])
async def test_what_was_said_once_stands_although_a_later_probe_tells_nothing(
    oddity: ShareSupport | Exception,
) -> None:
    # Given
    watching = Watching(ShareSupport.ABSENT, oddity)
    await watching.look()

    # When
    await watching.look()

    # Then
    assert watching.watch.current is ShareSupport.ABSENT
    assert watching.changes == [(ShareSupport.ABSENT, "")]
    assert watching.answers == []


@pytest.mark.parametrize("oddity", [BrokerUnavailable("it hangs"), ShareSupport.UNKNOWN, KeyError("a fault")])
async def test_until_somebody_said_something_a_watch_goes_on_by_itself(
    oddity: ShareSupport | Exception,
) -> None:
    # Given
    watching = Watching(oddity, oddity, ShareSupport.ABSENT)

    # When
    watching.watch.look()
    await watching.watch.known(10)

    # Then
    assert watching.watch.current is ShareSupport.ABSENT
    assert watching.counted.counts == {
        ("upstream_probe", "unknown"): 2,
        ("upstream_probe", "absent"): 1,
    }


async def test_why_nobody_said_anything_is_told_whenever_it_is_another_reason() -> None:
    # Given
    away, odd = BrokerUnavailable("away"), BrokerUnavailable("odd")
    watching = Watching(away, away, odd, ShareSupport.SERVED)

    # When
    await watching.look()

    # Then
    unknown, served = ShareSupport.UNKNOWN, ShareSupport.SERVED
    assert watching.changes == [(unknown, "away"), (unknown, "odd"), (served, "")]


async def test_a_first_probe_that_told_nothing_is_a_first_look_and_no_knowledge() -> None:
    # Given
    watching = Watching(BrokerUnavailable("away"), ShareSupport.ABSENT)

    # When
    watching.watch.look()
    await watching.watch.looked(10)
    told = watching.watch.current, watching.watch.failure
    await watching.watch.known(0.001)

    # Then
    assert told == (ShareSupport.UNKNOWN, "away")
    assert watching.watch.current is ShareSupport.UNKNOWN
    await asyncio.wait(watching.tasks._tasks)


async def test_a_watch_does_not_look_twice_at_a_time() -> None:
    # Given
    watching = Watching(ShareSupport.ABSENT, ShareSupport.SERVED)
    watching.watch.look()

    # When
    await watching.look()

    # Then
    assert watching.answers == [ShareSupport.SERVED]
    assert watching.changes == [(ShareSupport.ABSENT, "")]
