"""franz-go's share consumer, and kadm, its admin client: both through kproxy and on a stock broker's share groups."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.kafka.administered_groups import PARTITIONS, Groups, on_both
from tests.kafka.test_share_accounting import RECORDS, RULE
from tests.real_kafka import accounts, administration
from tests.real_kafka.accounts import counts_by_id, misaccounted, received_after_the_end
from tests.real_kafka.consumption import consume_together, settled
from tests.real_kafka.everyday import for_soak
from tests.real_kafka.go_programs import AdminRefused, Answers, GoShareAdmin, GoShareMember, programs
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    NATIVE,
    SHORT_LOCK_MS,
    EndpointsOfSession,
)
from tests.real_kafka.share_member import AcknowledgeType

pytestmark = pytest.mark.soak

OLDER = (for_soak(KPROXY_WITHOUT_SHARE_GROUPS), for_soak(KPROXY_OLDEST))


@pytest.mark.parametrize("behind", [KPROXY_REFERENCE, NATIVE, *OLDER])
def test_a_go_member_joins_receives_accepts_releases_rejects_and_leaves(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    administration.produce(endpoint.bootstrap_servers, topic, "abcdef")
    with (
        GoShareMember(endpoint.bootstrap_servers, group=group, topics=[topic]) as member,
        GoShareAdmin(endpoint.bootstrap_servers) as admin,
    ):
        # When
        first = member.poll_until_records()
        member.acknowledge([first[1], first[4]], AcknowledgeType.RELEASE)
        member.acknowledge([first[2]], AcknowledgeType.REJECT)
        member.acknowledge_all(AcknowledgeType.ACCEPT)
        errors = [outcome.error for outcome in member.commit()]
        again = member.poll_until_records()
        member.acknowledge_all(AcknowledgeType.ACCEPT)
        errors += [outcome.error for outcome in member.commit()]
        states = [answer["state"] for answer in admin.described(group)]
        member.close()

        # Then
        states += [answer["state"] for answer in admin.described(group)]
    assert counts_by_id(first) == {(0, offset): 1 for offset in range(6)}
    assert counts_by_id(again) == {(0, 1): 2, (0, 4): 2}
    assert errors == [None, None]
    assert states == ["Stable", "Empty"]
    received, last = received_after_the_end(
        GoShareMember, endpoint.bootstrap_servers, group=group, topic=topic
    )
    assert received == last


@pytest.mark.parametrize("behind", [KPROXY_REFERENCE, for_soak(NATIVE), *OLDER])
def test_three_go_members_settle_every_record_once_and_released_ones_come_again(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(partitions=8), endpoint.new_group(lock_ms=SHORT_LOCK_MS)
    produced = accounts.produce_to_every_partition(bootstrap_servers, topic, partitions=8, each=RECORDS // 8)

    # When
    with ExitStack() as stack:
        members = [
            stack.enter_context(GoShareMember(bootstrap_servers, group=group, topics=[topic]))
            for _ in range(3)
        ]
        deliveries = consume_together(members, RULE, until=settled(RECORDS))

    # Then
    assert misaccounted(deliveries, produced) == {}
    answered = Counter(delivery.how for delivery in deliveries if delivery.error is None)
    assert answered[AcknowledgeType.ACCEPT] == RECORDS * 3 // 4
    assert answered[AcknowledgeType.REJECT] == RECORDS // 4


def test_kadm_is_told_what_a_stock_broker_tells(share_endpoint: EndpointsOfSession) -> None:
    programs()  # to build them may take longer than the sessions of members last
    stock, through_kproxy = on_both(share_endpoint, told_to_kadm)

    assert isinstance(stock, dict)
    assert stock["list"] == [
        {"group_id": "busy", "protocol_type": "share", "state": "Stable"},
        {"group_id": "left", "protocol_type": "share", "state": "Empty"},
    ]
    assert through_kproxy == stock


@pytest.mark.parametrize("behind", OLDER)
def test_kadm_is_told_the_same_in_front_of_older_brokers(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    programs()
    stock, older = told_to_kadm(Groups(share_endpoint(NATIVE))), told_to_kadm(Groups(share_endpoint(behind)))

    assert older == stock


def told_to_kadm(groups: Groups) -> object:
    """What kadm says of these groups, of changes to them, and of their end."""
    busy, left, plain, nobody = groups.names.values()
    for partition in range(PARTITIONS):
        administration.produce(groups.address, groups.topic, "abc", partition=partition)
    ends = {0: 1, 1: 3}
    with GoShareAdmin(groups.address) as admin:
        told: dict[str, Answers | str] = {
            "list": admin.listed(),
            "list the empty": admin.listed("Empty"),
            "describe": admin.described(busy, left),
            "describe others": admin.described(plain, nobody),
            "offsets before any": admin.offsets(left, nobody),
            "alter": admin.altered(left, groups.topic, ends),
            "alter where nothing is": admin.altered(left, groups.topic, {PARTITIONS: 0}),
            "alter one with members": _refusal(lambda: admin.altered(busy, groups.topic, ends)),
            "alter a consumer group": _refusal(lambda: admin.altered(plain, groups.topic, ends)),
            "offsets": admin.offsets(left),
            "delete offsets of one with members": _refusal(lambda: admin.deleted_offsets(busy, groups.topic)),
            "delete offsets of nobody": _refusal(lambda: admin.deleted_offsets(nobody, groups.topic)),
            "delete offsets": admin.deleted_offsets(left, groups.topic, "no-such-topic"),
            "offsets after that": admin.offsets(left),
            "delete": admin.deleted(left, busy, nobody),
            "list what is left": admin.listed(),
        }
    return groups.labelled(told)


def _refusal(ask: Callable[[], Answers]) -> str:
    try:
        return f"not refused: {ask()}"
    except AdminRefused as refused:
        return refused.error
