"""Who is asked, and asked again: over brokers that a test scripts."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

from kproxy.clients.cluster.cluster_client import ClusterClient, connected_cluster
from kproxy.clients.cluster.connection import BrokerAddress, ConnectionLost
from kproxy.clients.cluster.deadline import Deadline
from kproxy.clients.cluster.refusals import require_success
from kproxy.clients.failures import CannotConnect, ClientFailed
from kproxy.error_codes import ErrorCode
from kproxy.errors import ExitCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from tests.in_memory.answering_broker import Answer, AnsweringBroker, Reply
from tests.in_memory.loop_in_a_thread import LoopInAThread, loop_in_a_thread
from tests.in_memory.time_of_pauses import PATIENCE_MS, TimeOfPauses

HERE = "127.0.0.1"
VERSIONS: Mapping[int, tuple[int, int]] = {
    ApiKey.METADATA: (0, 13),
    ApiKey.FIND_COORDINATOR: (0, 6),
    ApiKey.DELETE_GROUPS: (0, 2),
}
DELETION = DeleteGroupsRequest(["workers"])


class TwoBrokers:
    """Brokers 1 and 2; `coordinator_id` is whom FindCoordinator names, `codes` what DeleteGroups is answered in turn.

    A code of None closes the connection instead.
    """

    def __init__(self) -> None:
        self.brokers = {node_id: self._broker(node_id) for node_id in (1, 2)}
        self.coordinator_id = 2
        self.coordinator_port: int | None = None
        self.coordinator_code = ErrorCode.NONE
        self.codes: list[ErrorCode | None] = []
        self.deleted_at: list[int] = []
        self.on_deletion: Callable[[], object] = lambda: None

    @property
    def addresses(self) -> list[BrokerAddress]:
        return [BrokerAddress(HERE, broker.address.port) for broker in self.brokers.values()]

    def _broker(self, node_id: int) -> AnsweringBroker:
        answers: dict[int, Answer] = {
            ApiKey.METADATA: self._metadata,
            ApiKey.FIND_COORDINATOR: self._coordinator,
            ApiKey.DELETE_GROUPS: lambda _: self._delete(node_id),
        }
        return AnsweringBroker(answers, version_ranges=VERSIONS)

    def _metadata(self, _: DecodedRequest) -> Reply:
        listed = [
            MetadataResponseBroker(node_id, HERE, broker.address.port)
            for node_id, broker in self.brokers.items()
        ]
        return MetadataResponse(brokers=listed)

    def _coordinator(self, _: DecodedRequest) -> Reply:
        port = self.coordinator_port or self.brokers[self.coordinator_id].address.port
        return FindCoordinatorResponse(0, self.coordinator_code, None, self.coordinator_id, HERE, port)

    def _delete(self, node_id: int) -> Reply:
        self.deleted_at.append(node_id)
        code = self.codes.pop(0) if self.codes else ErrorCode.NONE
        self.on_deletion()
        return None if code is None else DeleteGroupsResponse(0, [DeletableGroupResult("workers", code)])


@contextmanager
def running(two: TwoBrokers) -> Iterator[list[BrokerAddress]]:
    """Give the addresses of both brokers while they listen."""
    with loop_in_a_thread() as loop, ExitStack() as started:
        for broker in two.brokers.values():
            loop.run(broker.start())
            started.callback(partial(_stop, loop, broker))
        yield two.addresses


def _stop(loop: LoopInAThread, broker: AnsweringBroker) -> None:
    loop.run(broker.stop())


@contextmanager
def client_of(two: TwoBrokers, deadline: Deadline | None = None) -> Iterator[ClusterClient]:
    deadline = deadline or Deadline(10_000)
    with running(two) as addresses, connected_cluster(addresses[:1], deadline) as client:
        yield client


def delete(client: ClusterClient, *, is_change: bool = True) -> None:
    answer = client.ask_coordinator("workers", DELETION, DeleteGroupsResponse, is_change=is_change)
    require_success(answer.results[0].error_code, "it cannot be deleted")


def test_the_brokers_are_those_of_the_cluster_whoever_is_given() -> None:
    with client_of(TwoBrokers()) as client:
        assert [broker.node_id for broker in client.brokers()] == [1, 2]


def test_the_coordinator_is_asked_whoever_is_given() -> None:
    # Given
    two = TwoBrokers()

    # When
    with client_of(two) as client:
        client.persistently(lambda: delete(client))

    # Then
    assert two.deleted_at == [2]


def test_a_coordinator_that_moved_is_looked_for_again() -> None:
    # Given
    two = TwoBrokers()
    two.codes = [ErrorCode.NOT_COORDINATOR]

    def move() -> None:
        two.coordinator_id = 1

    two.on_deletion = move

    # When
    with client_of(two) as client:
        client.persistently(lambda: delete(client))

    # Then
    assert two.deleted_at == [2, 1]


def test_a_coordinator_that_loads_is_asked_until_the_timeout() -> None:
    # Given
    two, time = TwoBrokers(), TimeOfPauses()
    two.codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 100

    # When
    with client_of(two, time.deadline()) as client, pytest.raises(ClientFailed) as refusal:
        client.persistently(lambda: delete(client))

    # Then
    assert len(two.deleted_at) == 1 + len(time.pauses) > 2
    assert str(refusal.value) == (
        f"it cannot be deleted: COORDINATOR_LOAD_IN_PROGRESS, for {PATIENCE_MS} ms (--timeout)"
    )
    assert refusal.value.exit_code is ExitCode.FAILED


def test_a_coordinator_that_nobody_knows_yet_is_waited_for() -> None:
    # Given
    two, time = TwoBrokers(), TimeOfPauses()
    two.coordinator_code = ErrorCode.COORDINATOR_NOT_AVAILABLE

    # When
    with client_of(two, time.deadline()) as client, pytest.raises(ClientFailed) as refusal:
        client.persistently(lambda: delete(client))

    # Then
    assert "the coordinator of group 'workers' cannot be found: COORDINATOR_NOT_AVAILABLE" in str(
        refusal.value
    )
    assert len(two.brokers[1].asked(ApiKey.FIND_COORDINATOR)) == 1 + len(time.pauses) > 2


def test_a_question_whose_connection_is_lost_is_asked_again() -> None:
    # Given
    two = TwoBrokers()
    two.codes = [None]

    # When
    with client_of(two) as client:
        client.persistently(lambda: delete(client, is_change=False))

    # Then
    assert two.deleted_at == [2, 2]


def test_a_change_whose_connection_is_lost_is_not_asked_for_again_and_said_to_be_unknown() -> None:
    # Given
    two = TwoBrokers()
    two.codes = [None]

    # When
    with client_of(two) as client, pytest.raises(ClientFailed) as refusal:
        client.persistently(lambda: delete(client))

    # Then
    assert two.deleted_at == [2]
    assert "closed the connection before it answered DeleteGroups" in str(refusal.value)
    assert "Whether it did what was asked is not known" in str(refusal.value)
    assert refusal.value.exit_code is ExitCode.FAILED


def test_any_other_refusal_is_final() -> None:
    # Given
    two = TwoBrokers()
    two.codes = [ErrorCode.NON_EMPTY_GROUP]

    # When
    with client_of(two) as client, pytest.raises(ClientFailed, match="NON_EMPTY_GROUP"):
        client.persistently(lambda: delete(client))

    # Then
    assert two.deleted_at == [2]


def test_the_next_bootstrap_server_is_asked_where_one_is_gone() -> None:
    # Given
    gone = BrokerAddress(HERE, 1)

    # When
    with (
        running(TwoBrokers()) as addresses,
        connected_cluster([gone, *addresses], Deadline(10_000)) as client,
    ):
        brokers = client.brokers()

    # Then
    assert len(brokers) == 2


def test_no_bootstrap_server_at_all_is_an_error_with_every_reason() -> None:
    # Given
    gone = [BrokerAddress(HERE, 1), BrokerAddress(HERE, 2)]

    # When
    with pytest.raises(CannotConnect) as refusal, connected_cluster(gone, Deadline(10_000)):
        pass

    # Then
    assert str(refusal.value) == (
        f"cannot reach {HERE}:1: Connection refused; cannot reach {HERE}:2: Connection refused"
    )


def test_a_coordinator_that_cannot_be_reached_is_told_when_the_time_is_up() -> None:
    # Given
    two, time = TwoBrokers(), TimeOfPauses()
    two.coordinator_port = 1

    # When
    with client_of(two, time.deadline()) as client, pytest.raises(ConnectionLost) as refusal:
        client.persistently(lambda: delete(client))

    # Then
    assert str(refusal.value) == f"cannot reach {HERE}:1: Connection refused"
    assert len(two.brokers[1].asked(ApiKey.FIND_COORDINATOR)) == 1 + len(time.pauses) > 2
