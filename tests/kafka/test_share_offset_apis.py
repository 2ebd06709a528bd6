"""DescribeShareGroupOffsets, AlterShareGroupOffsets and DeleteShareGroupOffsets on the wire.

What a stock 4.3.1 with share groups answers, kproxy answers: in front of the reference version,
and of one that knows nothing of share groups.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from tests.real_kafka import administration
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    KPROXY_THREE_BROKERS,
    KPROXY_WITHOUT_SHARE_GROUPS,
    NATIVE,
    EndpointsOfSession,
    ShareEndpoint,
)
from tests.real_kafka.share_offset_client import Answer, ShareOffsetClient

ACCEPT: Final = 1
RECORDS: Final = 10
"""In each of partitions 0 and 1 of the scenario's first topic; the third one is empty."""

Step = tuple[str, object]
"""What was done, and what was answered, with the names of the scenario in place of real ones."""


@pytest.fixture(scope="module")
def answered_by_stock(share_endpoint: EndpointsOfSession) -> Sequence[Step]:
    return list(Scenario(share_endpoint(NATIVE)).play())


@pytest.mark.parametrize("behind", [KPROXY_REFERENCE, KPROXY_WITHOUT_SHARE_GROUPS, KPROXY_OLDEST])
def test_administrators_are_answered_as_by_a_stock_broker(
    share_endpoint: EndpointsOfSession, answered_by_stock: Sequence[Step], behind: str
) -> None:
    # When
    answered = list(Scenario(share_endpoint(behind)).play())

    # Then
    assert answered == answered_by_stock
    assert len(answered) > 30


def test_an_offset_that_cannot_be_is_refused_by_kproxy_and_stored_by_a_stock_broker(
    share_endpoint: EndpointsOfSession,
) -> None:
    # When
    answers = []
    for behind in (NATIVE, KPROXY_REFERENCE):
        endpoint = share_endpoint(behind)
        topic, group = endpoint.new_topic(), endpoint.new_group()
        with ShareOffsetClient.of_coordinator(endpoint.bootstrap_servers, group=group) as client:
            altered = client.alter(group, {topic: {0: -2}})
            [described] = client.describe({group: {topic: [0]}})
            answers.append((altered[2][3], described[3][3]))  # type: ignore[index]

    # Then
    assert answers == [(ErrorCode.NONE, -2), (ErrorCode.INVALID_REQUEST, -1)]


def test_on_the_port_of_another_broker_it_is_told_who_does_not_coordinate_the_group(
    share_endpoint: EndpointsOfSession,
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_THREE_BROKERS)
    assert endpoint.kproxy is not None
    topic, group = endpoint.new_topic(partitions=3, replicas=3), endpoint.new_group()
    with ShareOffsetClient.of_coordinator(endpoint.bootstrap_servers, group=group) as coordinator:
        coordinator.alter(group, {topic: {1: 0}})

        # When
        codes = {}
        for address in endpoint.kproxy.broker_addresses.values():
            with ShareOffsetClient(address) as client:
                [everything], [named] = client.describe({group: None}), client.describe({group: {topic: [1]}})
                answers = (everything, named, client.alter(group, {topic: {1: 0}}), client.delete(group))
                codes[address] = [everything[1], named[1], answers[2][0], answers[3][0]]  # type: ignore[index]

    # Then
    elsewhere = [ErrorCode.NOT_COORDINATOR, ErrorCode.NONE, *[ErrorCode.NOT_COORDINATOR] * 2]
    assert codes.pop(coordinator.address) == [ErrorCode.NONE] * 4
    assert list(codes.values()) == [elsewhere] * 2


class Scenario:
    """A group in all its states, and every request about its offsets in each of them."""

    def __init__(self, endpoint: ShareEndpoint) -> None:
        self._endpoint = endpoint
        self._topic, self._other = endpoint.new_topic(partitions=3), endpoint.new_topic()
        self._group = endpoint.new_group()
        self._names = {self._topic: "topic", self._other: "other", self._group: "group"}
        for partition in (0, 1):
            values = [str(number) for number in range(RECORDS)]
            administration.produce(endpoint.bootstrap_servers, self._topic, values, partition=partition)

    def play(self) -> Iterator[Step]:
        """Do everything in order."""
        with ShareOffsetClient.of_coordinator(self._endpoint.bootstrap_servers, group=self._group) as client:
            self._wake_share_coordinator(client)
            yield from self._of_nobody(client)
            yield from self._of_members(client)
            yield from self._of_an_empty_group(client)
            yield from self._of_a_group_that_was_altered(client)
            yield from self._of_what_was_deleted(client)
            yield from self._of_a_new_group(client)

    def _wake_share_coordinator(self, client: ShareOffsetClient) -> None:
        """Join another group: a stock broker creates its state topic then, and administrators wait until then."""
        with RawShareMember(client.address, group=f"{self._group}-first", topic=self._topic) as member:
            member.join_until_assigned(partitions=3)

    def _of_nobody(self, client: ShareOffsetClient) -> Iterator[Step]:
        topic, group = self._topic, self._group
        yield self._step("describe nobody", client.describe({group: None}))
        # Not a partition beyond the last one: a stock broker asks its share coordinator again for half a minute.
        asked = {group: {topic: [0], "unknown": [0, -1]}}
        yield self._step("describe what is not there", client.describe(asked))
        yield self._step("describe no topics, no groups", client.describe({group: {}}) + client.describe({}))
        yield self._step("describe all of no group id", client.describe({"": None}))
        for name, asked in {"negative": {group: {topic: [-1]}}, "nameless": {"": {topic: [0]}}}.items():
            yield f"describe {name}", [answer[1] for answer in client.describe(asked)]  # type: ignore[index]
        yield self._step("delete of nobody", client.delete(group, topic))
        yield self._step("delete of no group id", client.delete("", topic))
        yield self._step("alter no group id", client.alter("", {topic: {0: 1}}))
        yield self._step("alter unknown topics only", client.alter(group, {"unknown": {0: 1}}))
        yield self._step("alter nothing", client.alter(group, {}))
        yield self._step("that made no group", client.delete(group, topic))

    def _of_members(self, client: ShareOffsetClient) -> Iterator[Step]:
        topic, group = self._topic, self._group
        with self._member(client) as member:
            yield self._step("alter with members", client.alter(group, {topic: {0: 1}, "unknown": {0: 1}}))
            yield self._step("delete with members", client.delete(group, topic, "unknown"))
            yield self._step("describe what nobody fetched", client.describe({group: None}))
            yield "fetched", _fetched(member, [0])
            yield self._step("describe what was merely fetched", client.describe({group: None}))
            for first, last in ((0, 3), (6, 7)):
                member.acknowledge(first, last, ACCEPT)
                yield self._step(f"describe after {first} to {last}", client.describe({group: None}))
            yield self._step("describe in version 0", client.describe({group: {topic: [0]}}, version=0))
            member.leave_group()
        yield self._step("describe after the last member", client.describe({group: None}))

    def _of_an_empty_group(self, client: ShareOffsetClient) -> Iterator[Step]:
        topic, group = self._topic, self._group
        asked = {topic: {0: 2, 1: 5, 9: 1}, "unknown": {0: 1, -1: 1}}
        yield self._step("alter what is there and what is not", client.alter(group, asked))
        yield self._step("describe", client.describe({group: None}))
        yield "alter a negative partition", client.alter(group, {topic: {0: 3, -1: 5}})[0]
        yield self._step("describe", client.describe({group: None}))
        for offset in (1000, -1, 2):
            yield self._step(f"alter to {offset}", client.alter(group, {topic: {0: offset}}))
            yield self._step("describe", client.describe({group: None}))

    def _of_a_group_that_was_altered(self, client: ShareOffsetClient) -> Iterator[Step]:
        with self._member(client) as member:
            yield "fetched anew", _fetched(member, [0, 1])
            yield self._step("describe after a fetch", client.describe({self._group: None}))
            member.leave_group()

    def _of_what_was_deleted(self, client: ShareOffsetClient) -> Iterator[Step]:
        topic, group = self._topic, self._group
        yield self._step("delete", client.delete(group, "unknown", self._other, topic))
        yield self._step("describe all", client.describe({group: None}))
        yield self._step("describe by name", client.describe({group: {topic: [0, 1, 2]}}))
        yield self._step("delete again", client.delete(group, topic))
        yield self._step("delete nothing", client.delete(group))
        with self._member(client) as member:
            yield "fetched by the auto reset", _fetched(member, [0])
            member.leave_group()

    def _of_a_new_group(self, client: ShareOffsetClient) -> Iterator[Step]:
        topic, group = self._topic, f"{self._group}-new"
        with ShareOffsetClient.of_coordinator(self._endpoint.bootstrap_servers, group=group) as own:
            yield self._step("alter a new group", own.alter(group, {topic: {1: 7}}))
            yield self._step("describe two", client.describe({group: {topic: [1]}, self._group: None}))
            yield self._step("delete", own.delete(group, topic))

    def _member(self, client: ShareOffsetClient) -> RawShareMember:
        member = RawShareMember(client.address, group=self._group, topic=self._topic)
        member.join_until_assigned(partitions=3)
        return member

    def _step(self, what: str, answer: Answer) -> Step:
        told = repr(answer)
        for name in sorted(self._names, key=len, reverse=True):
            told = told.replace(name, self._names[name])
        return what, told


def _fetched(member: RawShareMember, partitions: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Fetch until something came from each of `partitions`: partition, first and last offset, delivery count."""
    found: dict[int, tuple[int, int, int, int]] = {}
    deadline = time.monotonic() + 30
    while found.keys() != set(partitions):
        assert time.monotonic() < deadline, found
        for data in member.fetch(partitions):
            for run in data.acquired_records:
                number = data.partition_index
                found[number] = (number, run.first_offset, run.last_offset, run.delivery_count)
    return [found[number] for number in partitions]
