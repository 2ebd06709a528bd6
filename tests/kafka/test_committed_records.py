"""Groups that read committed records only, with real transactions, real clients, and the reference beside kproxy."""

import pytest
from click.testing import CliRunner

from kproxy.cli.main import cli
from tests.conformance import preparation
from tests.real_kafka import administration
from tests.real_kafka.accounts import receive_values
from tests.real_kafka.everyday import clients_behind
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    NATIVE,
    EndpointsOfSession,
    ShareEndpoint,
)
from tests.real_kafka.share_members import ShareMemberFactory
from tests.real_kafka.transactions import TransactionalProducer, wait_until_stable

ISOLATION = "share.isolation.level"
ACCEPT, RELEASE = 1, 2

ReceivedRange = tuple[int, int, int]
"""First and last offset, and how often they were delivered."""

beside_the_reference = pytest.mark.parametrize("behind", [KPROXY_REFERENCE, NATIVE])


def configure(endpoint: ShareEndpoint, group: str, isolation: str) -> None:
    """Say which records a group is given from now on; a stock broker answers before it goes by that."""
    settings = {ISOLATION: isolation}
    if endpoint.kproxy is None:
        with RawConnection(endpoint.bootstrap_servers) as broker:
            preparation.alter_group_configs(broker, group, settings)
    else:
        administration.set_group_settings(endpoint.bootstrap_servers, group, settings)


def a_producer(endpoint: ShareEndpoint, topic: str) -> TransactionalProducer:
    """A producer whose transactions nobody else's are."""
    name = administration.unique_name("transactional")
    return TransactionalProducer(endpoint.bootstrap_servers, topic, transactional_id=name)


def acquired(member: RawShareMember, *, max_wait_ms: int = 2_000) -> list[ReceivedRange]:
    """Fetch, and return what was acquired; once more if that was nothing, as a stock broker may say so early."""
    for _ in range(3):
        for partition in member.fetch(max_wait_ms=max_wait_ms):
            if partition.acquired_records:
                return [
                    (run.first_offset, run.last_offset, run.delivery_count)
                    for run in partition.acquired_records
                ]
    return []


@clients_behind(KPROXY_REFERENCE, NATIVE, KPROXY_OLDEST)
def test_share_consumers_receive_what_was_committed_of_two_producers_that_also_abort(
    share_endpoint: EndpointsOfSession, behind: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    configure(endpoint, group, "read_committed")
    anna, bert = a_producer(endpoint, topic), a_producer(endpoint, topic)
    wanted = list[str]()
    for turn in range(6):
        written = [f"{who}{turn}-{number}" for who in "ab" for number in range(2 * 5)]
        for part in (0, 5):
            anna.write(written[part : part + 5])
            bert.write(written[10 + part : 15 + part])
        administration.produce(endpoint.bootstrap_servers, topic, [f"plain{turn}"])
        if turn % 2:
            anna.commit()
            bert.abort()
        else:
            bert.commit()
            anna.abort()
        wanted += written[:10] if turn % 2 else written[10:]
        wanted.append(f"plain{turn}")

    # When
    with start_member(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        received = receive_values(member, len(wanted))
        more = [record for _ in range(3) for record in member.poll(timeout_ms=300)]

    # Then
    assert sorted(map(str, received)) == sorted(wanted)
    assert more == []


@beside_the_reference
def test_aborted_batches_are_cut_out_and_what_lies_behind_an_open_transaction_waits(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    """Cases 66 and 68: 0-1 committed, marker 2, 3-4 aborted, 5 plain, marker 6; 7-8 open, 9 plain, marker 10."""
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    configure(endpoint, group, "read_committed")
    producer = a_producer(endpoint, topic)
    producer.write("ab")
    producer.commit()
    producer.write("cd")
    administration.produce(endpoint.bootstrap_servers, topic, "e")
    producer.abort()
    producer.write("fg")
    administration.produce(endpoint.bootstrap_servers, topic, "h")

    # When
    with RawShareMember(endpoint.bootstrap_servers, group=group, topic=topic) as member:
        member.join()
        before = acquired(member)
        while_open = acquired(member, max_wait_ms=300)
        producer.commit()
        wait_until_stable(endpoint.bootstrap_servers, topic)
        after = acquired(member)

    # Then
    assert before == [(0, 2, 1), (5, 6, 1)]
    assert while_open == []
    assert after == [(7, 10, 1)]


@pytest.mark.parametrize("behind", [KPROXY_REFERENCE, KPROXY_OLDEST])
def test_the_command_why_names_the_transaction_that_records_wait_for(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    kproxy = endpoint.kproxy
    assert kproxy is not None
    topic, group = endpoint.new_topic(), endpoint.new_group()
    configure(endpoint, group, "read_committed")
    administration.produce(endpoint.bootstrap_servers, topic, "a")
    producer = a_producer(endpoint, topic)
    producer.write("bc")

    # When
    with RawShareMember(endpoint.bootstrap_servers, group=group, topic=topic) as member:
        member.join()
        before = acquired(member)
        member.acknowledge(0, 0, ACCEPT)
        (found,) = kproxy.group_item(group)["sharePartitions"]
        said = CliRunner().invoke(cli, ["why", "-g", group, "--admin-url", kproxy.admin_url]).stdout
    producer.commit()

    # Then
    assert before == [(0, 0, 1)]
    assert (found["startOffset"], found["lastStableOffset"], found["logEndOffset"]) == (1, 1, 3)
    assert "and what is next, offset 1, waits for a transaction to end" in said
    assert "next:         nothing, until the transaction that began at offset 1 ends" in said


@beside_the_reference
def test_a_live_group_goes_by_its_isolation_level_from_its_next_fetch_on(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    """0-1 aborted, marker 2, 3-4 aborted, marker 5: the first are released before the group reads committed records."""
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    producer = a_producer(endpoint, topic)
    producer.write("ab")
    producer.abort()
    wait_until_stable(endpoint.bootstrap_servers, topic)

    # When
    with RawShareMember(endpoint.bootstrap_servers, group=group, topic=topic) as member:
        member.join()
        uncommitted = acquired(member)
        member.acknowledge(0, 2, RELEASE)
        configure(endpoint, group, "read_committed")
        committed = acquired(member)
        accepted = member.acknowledge(2, 2, ACCEPT)
        configure(endpoint, group, "read_uncommitted")
        producer.write("cd")
        producer.abort()
        wait_until_stable(endpoint.bootstrap_servers, topic)
        uncommitted_again = acquired(member)

    # Then
    assert uncommitted == [(0, 2, 1)]
    assert (committed, accepted) == ([(2, 2, 2)], 0)
    assert uncommitted_again == [(3, 5, 1)]
