"""Cases 9, 35, 49, 50 and 91 to 98: limits, restarts, the durable state, and what a broker alone can do."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient

from kproxy.error_codes import ErrorCode
from kproxy.net.cluster.broker_client import CLIENT_ID as KPROXY_CLIENT_ID
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.conformance import kio_requests, preparation
from tests.conformance.case import case
from tests.conformance.grounds import MOST_SESSIONS, Ground
from tests.conformance.member import (
    ACCEPT,
    BRIEF,
    BRIEF_MS,
    FINAL,
    PATIENT,
    REJECT,
    RELEASE,
    Member,
    Topic,
    ack,
    acknowledge_errors,
    acquired,
    partitions,
)
from tests.conformance.membership import Membership, settle
from tests.conformance.scenario import EARLIEST, Play
from tests.real_kafka import administration
from tests.real_kafka.share_state_client import Initialize, Read, ShareStateClient, Summarize, Write

LARGEST_MESSAGE: Final = "1048588"
"""Kafka's default, in bytes."""
ADMIN_SECONDS: Final = 30.0
LATE_EPOCH: Final = 50
UPDATES_PER_SNAPSHOT: Final = 500
SNAPSHOT_KEY, UPDATE_KEY = 0, 1
LOCKED_FOR_A_WHILE: Final = {**EARLIEST, "share.record.lock.duration.ms": "10000"}
AVAILABLE, ACKNOWLEDGED = 0, 2
QUOTA_BYTES_PER_SECOND: Final = 10_000
BIG: Final = 20_000
"""A quota is an average over ten seconds. With small steps it is exceeded by little, and the throttle time is short."""
QUOTA_VERSION: Final = 1


@case(9, ground=Ground.RESTARTED)
def a_session_beyond_the_limit_waits_and_is_refused_until_another_one_ends(play: Play) -> None:
    group = play.group(play.topic(), is_loaded=False)
    members = [group.member() for _ in range(MOST_SESSIONS + 1)]
    for member in members[:-1]:
        member.open_session()
    began = time.monotonic()
    refused = members[-1].fetch(epoch=0, terms=BRIEF)
    assert refused.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    play.say("it waited", time.monotonic() - began >= BRIEF_MS / 1000)
    members[0].acknowledge(epoch=FINAL)
    assert members[-1].fetch(epoch=0, terms=BRIEF).error_code == ErrorCode.NONE


@case(35, ground=Ground.RESTARTED)
def what_was_accepted_is_not_delivered_after_a_restart(play: Play) -> Iterator[None]:
    topic = play.topic()
    group = play.group(topic, is_loaded=False)
    play.produce_batches(topic, 5)
    member = group.member()
    assert acquired(member.fetch_records()) == [(0, 4, 1)]
    assert acknowledge_errors(member.acknowledge(ack(0, 4, ACCEPT))) == [ErrorCode.NONE]
    yield
    play.produce_batches(topic, 2)
    assert acquired(group.member().fetch_records()) == [(5, 6, 1)]


@case(49, ground=Ground.TWO_BROKERS)
def who_does_not_lead_says_who_does_and_has_nothing_to_acknowledge(play: Play) -> None:
    topic = play.topic()
    group_id = play.new_name("group")
    elsewhere = play.member(group_id, (topic,), member_id="elsewhere", connection=play.connection(node_id=2))
    play.wait_until(
        lambda: preparation.is_known(elsewhere.connection, topic.name), what="broker 2 knows the topic"
    )
    told = elsewhere.fetch(terms=BRIEF)
    [partition] = partitions(told)
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (partition.current_leader.leader_id, told.node_endpoints[0].node_id) == (1, 1)
    here = play.member(group_id, (topic,), member_id="here")
    assert here.fetch(wanted=(), terms=BRIEF).error_code == ErrorCode.NONE
    answer = here.acknowledge(ack(0, 0, ACCEPT))
    assert acknowledge_errors(answer) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


@case(50, ground=Ground.RESTARTED)
def what_could_not_be_written_is_held_as_before_until_its_lock_ends(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic, configs=LOCKED_FOR_A_WHILE)
    holder, other = group.member("holder"), group.member("other")
    play.produce_batches(topic, 3)
    assert acquired(holder.fetch()) == [(0, 2, 1)]
    with _refused_writes(play):
        failed = holder.acknowledge(ack(0, 2, ACCEPT))
        assert acknowledge_errors(failed) == [ErrorCode.UNKNOWN_SERVER_ERROR]
        assert acquired(other.fetch(terms=BRIEF)) == []
    assert acquired(other.fetch_records()) == [(0, 2, 2)]


@case(91, ground=Ground.RESTARTED)
def what_was_held_at_a_restart_is_delivered_again_and_what_was_accepted_is_not(play: Play) -> Iterator[None]:
    topic = play.topic()
    group = play.group(topic, is_loaded=False)
    play.produce_batches(topic, 5)
    member = group.member()
    assert acquired(member.fetch_records()) == [(0, 4, 1)]
    assert acknowledge_errors(member.acknowledge(ack(0, 1, ACCEPT))) == [ErrorCode.NONE]
    yield
    assert acquired(group.member().fetch_records()) == [(2, 4, 1)]


@case(92, ground=Ground.RESTARTED)
def a_released_record_keeps_its_count_over_a_restart(play: Play) -> Iterator[None]:
    topic = play.topic()
    group = play.group(topic, is_loaded=False)
    play.produce_batches(topic, 5)
    member = group.member()
    assert acquired(member.fetch_records()) == [(0, 4, 1)]
    assert acknowledge_errors(member.acknowledge(ack(0, 4, RELEASE))) == [ErrorCode.NONE]
    yield
    assert acquired(group.member().fetch_records()) == [(0, 4, 2)]


@case(93)
def a_leader_that_the_state_has_left_behind_says_that_it_does_not_lead(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    member = group.member()
    play.produce_batches(topic, 3)
    assert acquired(member.fetch()) == [(0, 2, 1)]
    with ShareStateClient(play.target.address(), group=group.group_id, topic=topic.name) as coordinator:
        assert coordinator.ask(Read(LATE_EPOCH)).error_code == ErrorCode.NONE
    answer = member.acknowledge(ack(0, 2, ACCEPT))
    assert acknowledge_errors(answer) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


@case(94)
def a_snapshot_is_written_after_so_many_updates(play: Play) -> None:
    topic = play.topic()
    group = play.new_name("group")
    with ShareStateClient(play.target.address(), group=group, topic=topic.name) as coordinator:
        _initialize(play, coordinator)
        for offset in range(UPDATES_PER_SNAPSHOT + 1):
            batch = (2 * offset, 2 * offset, ACKNOWLEDGED, 1)
            written = coordinator.ask(Write(0, 0, 0, 0, (batch,)))
            assert written.error_code == ErrorCode.NONE
        state = coordinator.ask(Read(0))
    batches = state.batches or ()
    play.say("state", (state.start_offset, state.state_epoch, len(batches), batches[0], batches[-1]))
    kinds = Counter(kind for kind, owner in play.state_record_keys() if owner == group)
    play.say("records", sorted(kinds.items()))
    assert kinds == {SNAPSHOT_KEY: 2, UPDATE_KEY: UPDATES_PER_SNAPSHOT}


@case(95)
def of_overlapping_batches_the_higher_count_counts(play: Play) -> None:
    topic = play.topic()
    with ShareStateClient(
        play.target.address(), group=play.new_name("group"), topic=topic.name
    ) as coordinator:
        _initialize(play, coordinator)
        for operation in (
            Write(0, 0, 0, 0, ((0, 9, AVAILABLE, 2),)),
            Write(0, 0, 0, 0, ((5, 14, AVAILABLE, 3),)),
            Write(0, 0, 0, 0, ((3, 6, ACKNOWLEDGED, 1),)),
            Write(0, 0, 0, 0, ((10, 12, ACKNOWLEDGED, 3),)),
        ):
            assert coordinator.ask(operation).error_code == ErrorCode.NONE
        state, summary = coordinator.ask(Read(0)), coordinator.ask(Summarize())
    play.say("state", (state.start_offset, state.batches, summary.start_offset, summary.complete_count))


@case(96)
def a_topic_that_is_created_anew_begins_anew(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    member = group.member()
    play.produce_batches(topic, 3)
    assert acquired(member.fetch()) == [(0, 2, 1)]
    admin = AdminClient({"bootstrap.servers": play.target.address()})
    admin.delete_topics([topic.name], operation_timeout=ADMIN_SECONDS)[topic.name].result(ADMIN_SECONDS)
    play.wait_until(
        lambda: not preparation.is_known(play.helper, topic.name), what=f"{topic.name} is deleted"
    )
    created = play.topic(name=topic.name)
    play.name_id(topic.topic_id, "old id")
    fetched = member.fetch(terms=BRIEF)
    play.as_kafka_4_4("a fetch with a topic that was deleted in its session is not refused as a whole")
    if play.target.is_reference:
        # NONE where the broker that was asked has not heard of it yet.
        assert fetched.error_code in (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE)
        assert fetched.responses == []
    else:
        assert fetched.error_code == ErrorCode.NONE
    late = acknowledge_errors(member.acknowledge(ack(0, 2, ACCEPT)))
    assert late in ([ErrorCode.UNKNOWN_TOPIC_ID], [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
    again = Membership(play.member(group.group_id, (created,), member_id="again"), (created,))
    group.founder_leaves()
    settle(again, sizes=[1])
    play.produce_batches(created, 2)
    assert acquired(again.member.fetch_records()) == [(0, 1, 1)]


@case(97, ground=Ground.TWO_BROKERS)
def a_fetch_beyond_the_quota_is_answered_with_nothing_but_the_time_to_wait(play: Play) -> None:
    """What a member fetches is charged to its client id by Kafka; what kproxy reads for all of them, to kproxy's."""
    topic = play.topic()
    group = play.group(topic)
    client_id = play.new_name("client")
    member = group.member(connection=play.connection(client_id=client_id))
    with _quota(play, client_id if play.target.is_reference else KPROXY_CLIENT_ID):
        throttled = _first_throttled(play, member, topic)
    assert (throttled.error_code, throttled.responses) == (ErrorCode.NONE, [])
    play.say("lock duration", throttled.acquisition_lock_timeout_ms)


@case(98, missing="dead letters: only Kafka 4.4 has them")
def where_there_are_no_dead_letters_a_rejected_record_is_archived(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    member = group.member()
    with pytest.raises(preparation.Refused) as refused:
        group.configure({"errors.deadletterqueue.topic.name": "letters"})
    assert refused.value.error_code == ErrorCode.INVALID_CONFIG
    play.produce_batches(topic, 3)
    assert acquired(member.fetch()) == [(0, 2, 1)]
    assert acknowledge_errors(member.acknowledge(ack(0, 2, REJECT))) == [ErrorCode.NONE]
    assert acquired(member.fetch(terms=BRIEF)) == []


def _initialize(play: Play, coordinator: ShareStateClient) -> None:
    """Initialize partition 0, as soon as the share coordinator has heard of the topic."""
    play.wait_until(
        lambda: coordinator.ask(Initialize(0, 0)).error_code == ErrorCode.NONE,
        what="a share-partition is initialized",
    )


@contextmanager
def _refused_writes(play: Play) -> Iterator[None]:
    """A time in which the topic that holds the state takes no record: each is too large for it."""
    servers, topic = play.target.cluster.bootstrap_servers, play.target.state_topic
    probe = play.topic()
    for refusing in (topic, probe.name):
        administration.set_topic_settings(servers, refusing, {"max.message.bytes": "1"})
    # The broker applies settings some time after the controller has answered, and in their order.
    play.wait_until(lambda: _is_too_large(play, probe), what=f"{probe.name} takes no record")
    try:
        yield
    finally:
        administration.set_topic_settings(servers, topic, {"max.message.bytes": LARGEST_MESSAGE})


def _is_too_large(play: Play, topic: Topic) -> bool:
    """Tell whether the smallest record is refused as too large."""
    try:
        play.produce(topic, "")
    except preparation.Refused as refused:
        return refused.error_code == ErrorCode.MESSAGE_TOO_LARGE
    return False


def _first_throttled(play: Play, member: Member, topic: Topic) -> ShareFetchResponse:
    """Fetch one record after the other until that is too much; how many it takes is not compared."""
    terms = replace(PATIENT, max_wait_ms=BRIEF_MS)
    answers: list[ShareFetchResponse] = []

    def is_throttled() -> bool:
        play.produce(topic, "x" * BIG)
        member.send_fetch(terms=terms)
        answers.append(member.receive_fetch(terms=terms, is_noted=False))
        return bool(answers[-1].throttle_time_ms)

    # A broker heeds a quota some time after the controller has answered.
    play.wait_until(is_throttled, what="a fetch is throttled")
    return answers[-1]


@contextmanager
def _quota(play: Play, client_id: str) -> Iterator[None]:
    """A time in which a client may fetch so many bytes a second."""
    _set_quota(play, client_id, remove=False)
    try:
        yield
    finally:
        _set_quota(play, client_id, remove=True)


def _set_quota(play: Play, client_id: str, *, remove: bool) -> None:
    request = kio_requests.kio_module("alter_client_quotas", QUOTA_VERSION, "request")
    response = kio_requests.kio_module("alter_client_quotas", QUOTA_VERSION, "response")
    entity = request.EntityData(entity_type="client-id", entity_name=client_id)
    value = request.OpData(key="consumer_byte_rate", value=float(QUOTA_BYTES_PER_SECOND), remove=remove)
    entry = request.EntryData(entity=(entity,), ops=(value,))
    asked = request.AlterClientQuotasRequest(entries=(entry,), validate_only=False)
    answer = kio_requests.ask(play.helper, asked, response.AlterClientQuotasResponse)
    assert not answer.entries[0].error_code, answer
