"""How kproxy reads for share consumers: no group and no partition waits for another one."""

import time
from typing import Final

import pytest

from tests.real_kafka import accounts, administration
from tests.real_kafka.accounts import counts_by_id, values_by_id
from tests.real_kafka.everyday import clients_behind
from tests.real_kafka.share_endpoint import KPROXY_REFERENCE, NATIVE, EndpointsOfSession
from tests.real_kafka.share_members import ConfluentShareMember, ShareMemberFactory

PARTITIONS: Final = 100
SILENT_PARTITION: Final = 57
PROMPT_SECONDS: Final = 10.0
"""What a record may take from being produced to the hands of a member that polls, on a busy machine."""

everywhere = pytest.mark.parametrize("behind", [NATIVE, KPROXY_REFERENCE])


@everywhere
def test_two_groups_at_different_offsets_of_a_partition_each_get_what_they_lack(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    bootstrap_servers, topic = endpoint.bootstrap_servers, endpoint.new_topic()
    early_group, late_group = endpoint.new_group(), endpoint.new_group()
    old = accounts.produce_to_every_partition(bootstrap_servers, topic, each=200, batches=20, label="old")
    with (
        ConfluentShareMember(bootstrap_servers, group=early_group, topics=[topic]) as early,
        ConfluentShareMember(bootstrap_servers, group=late_group, topics=[topic]) as late,
    ):
        by_early = accounts.receive_all(early, old)

        # When
        new = accounts.produce_to_every_partition(bootstrap_servers, topic, each=20, batches=4, label="new")

        # Then
        by_early += accounts.receive_all(early, new)
        by_late = accounts.receive_all(late, old | new)
    assert values_by_id(by_early) == values_by_id(by_late) == old | new
    assert set(counts_by_id(by_early).values()) == set(counts_by_id(by_late).values()) == {1}
    assert len(by_early) == len(by_late) == len(old | new)


@clients_behind(KPROXY_REFERENCE, NATIVE)
def test_of_100_partitions_a_silent_one_holds_up_no_other_and_wakes_when_a_record_comes(
    share_endpoint: EndpointsOfSession, behind: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(partitions=PARTITIONS), endpoint.new_group()
    busy = {
        (partition, 0): f"record of partition {partition}"
        for partition in range(PARTITIONS)
        if partition != SILENT_PARTITION
    }
    for (partition, _), value in busy.items():
        administration.produce(bootstrap_servers, topic, [value], partition=partition)
    with start_member(bootstrap_servers, group=group, topics=[topic]) as member:
        # When
        received = accounts.receive_all(member, busy)

        # Then
        waits_seconds = []
        for number in range(3):
            administration.produce(bootstrap_servers, topic, [f"late {number}"], partition=SILENT_PARTITION)
            produced_at = time.monotonic()
            late = accounts.receive_all(member, {(SILENT_PARTITION, number)})
            waits_seconds.append(time.monotonic() - produced_at)
            assert values_by_id(late) == {(SILENT_PARTITION, number): f"late {number}"}
    assert values_by_id(received) == busy
    assert max(waits_seconds) < PROMPT_SECONDS
