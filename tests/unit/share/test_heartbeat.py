"""Heartbeats that contradict themselves (conformance cases 18, 70 and 73)."""

from dataclasses import replace

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import InvalidRequest
from kproxy.share.heartbeat import Heartbeat
from kproxy.share.identifiers import GroupId, MemberId
from tests.worlds.share_builders import ALICE, ORDERS

JOINING = Heartbeat(
    group_id=ORDERS,
    member_id=ALICE,
    member_epoch=0,
    rack_id=None,
    subscribed_topic_names=("paid",),
    client_id="client",
    client_host="/127.0.0.1",
)


@pytest.mark.parametrize(
    "heartbeat",
    [
        pytest.param(JOINING, id="joining"),
        pytest.param(replace(JOINING, rack_id="r1"), id="with a rack"),
        pytest.param(replace(JOINING, member_epoch=3, subscribed_topic_names=None), id="staying"),
        pytest.param(replace(JOINING, member_epoch=3, subscribed_topic_names=()), id="unsubscribing"),
        pytest.param(replace(JOINING, member_epoch=-1, subscribed_topic_names=None), id="leaving"),
    ],
)
def test_a_heartbeat_that_makes_sense_is_valid(heartbeat: Heartbeat) -> None:
    heartbeat.validate()


@pytest.mark.parametrize(
    ("heartbeat", "reason"),
    [
        pytest.param(replace(JOINING, member_id=MemberId("")), "0 characters", id="no member id"),
        pytest.param(replace(JOINING, member_id=MemberId("m" * 37)), "37 characters", id="long member id"),
        pytest.param(replace(JOINING, group_id=GroupId("")), "group id", id="no group id"),
        pytest.param(replace(JOINING, rack_id=""), "rack id", id="empty rack id"),
        pytest.param(replace(JOINING, group_id=GroupId("g" * 32_768)), "32767 bytes", id="long group id"),
        pytest.param(replace(JOINING, rack_id="r" * 500_000), "500000 bytes", id="more than a record holds"),
        pytest.param(replace(JOINING, member_epoch=-2), "epoch -2", id="epoch -2"),
        pytest.param(replace(JOINING, subscribed_topic_names=None), "one topic", id="joining without topics"),
        pytest.param(replace(JOINING, subscribed_topic_names=()), "one topic", id="joining with no topic"),
    ],
)
def test_a_heartbeat_that_contradicts_itself_is_refused(heartbeat: Heartbeat, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason) as refusal:
        heartbeat.validate()

    assert refusal.value.error_code is ErrorCode.INVALID_REQUEST


def test_epoch_0_joins_and_epoch_minus_1_leaves() -> None:
    assert JOINING.is_joining
    assert not JOINING.is_leaving
    assert replace(JOINING, member_epoch=-1).is_leaving
    assert not replace(JOINING, member_epoch=3).is_joining
