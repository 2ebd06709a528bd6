"""`TwinRights`: rights that are learned on the client's own connection."""

import asyncio
from collections.abc import Callable
from typing import Final

import pytest

from kproxy.errors import CoordinatorNotAvailable
from kproxy.handlers.asked_rights import go_on_asking
from kproxy.net.authorization import twin_rights
from kproxy.net.authorization.rights_questions import RIGHTS_CORRELATION_ID
from kproxy.net.authorization.twin_rights import GRACE_MS, RightsRoom, RightsTerms, TwinRights
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.security.principal import ANONYMOUS, Principal
from kproxy.security.sasl_exchange import Proof
from kproxy.wire import codecs
from kproxy.wire.messages.describe_groups_request import DescribeGroupsRequest
from kproxy.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from tests.in_memory.broker_of_rights import Broker
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.backing import CountedThings
from tests.worlds.conversing import Conversation, joined, opaque_request, request

READ, DESCRIBE, DELETE = AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE
GROUP, TOPIC, CLUSTER = ResourceType.GROUP, ResourceType.TOPIC, ResourceType.CLUSTER
REFRESH_MS: Final = 5_000


class Connection:
    """A connection whose ShareFetch is being answered, its broker at the other end."""

    def __init__(
        self,
        room: RightsRoom | None = None,
        clock: ManualClock | None = None,
        *,
        shows_certificate: bool = False,
    ) -> None:
        self.clock = clock or ManualClock()
        self.counts = CountedThings()
        self.broker = Broker()
        self.session = Conversation().session
        self.session.receive_from_client(request(78, 1, 20, ShareFetchRequest(group_id="g")))
        assert self.session.take_call() is not None
        terms = RightsTerms(self.clock, self.counts, REFRESH_MS, room or RightsRoom(), shows_certificate)
        self.rights = TwinRights(self.session, self.send, terms)
        self.on_asked: Callable[[], None] = lambda: None

    def send(self) -> None:
        """What the shell does: the question goes to the broker, its answer comes back."""
        frame = joined(self.session.take_for_broker())
        self.on_asked()
        if self.broker.is_silent or not frame:
            return
        question = codecs.decode_request(memoryview(frame)[4:])
        answer = self.broker.answer(question)
        key, version = question.api_key, question.api_version
        parts = codecs.encode_response(key, version, RIGHTS_CORRELATION_ID, answer)
        self.session.receive_from_broker(joined(parts))
        assert not joined(self.session.take_for_client())

    async def may(self, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        await self.rights.learn(operation, resource_type, [name], go_on_asking)
        return self.rights.allows(operation, resource_type, name)


async def test_what_the_broker_allows_is_allowed_and_what_it_denies_denied() -> None:
    # Given
    connection = Connection()
    connection.broker.operations = {
        "orders": (READ, DESCRIBE),
        "g": (READ, DESCRIBE, DELETE),
        "cluster": (DESCRIBE,),
    }

    # When
    found = [
        await connection.may(READ, TOPIC, "orders"),
        await connection.may(READ, TOPIC, "payments"),
        await connection.may(READ, GROUP, "g"),
        await connection.may(DELETE, GROUP, "g"),
        await connection.may(DESCRIBE, GROUP, "h"),
        await connection.may(DESCRIBE, CLUSTER, "kafka-cluster"),
        await connection.may(AclOperation.CLUSTER_ACTION, CLUSTER, "kafka-cluster"),
    ]

    # Then
    assert found == [True, False, True, True, False, True, False]
    assert connection.counts.of("rights_questions", "answered") == 6


async def test_what_was_told_is_believed_for_a_while_and_asked_for_again_then() -> None:
    # Given
    connection = Connection()
    connection.broker.operations = {"orders": (READ,)}
    await connection.may(READ, TOPIC, "orders")
    connection.broker.operations = {}

    # When
    connection.clock.advance(REFRESH_MS - 1)
    before = await connection.may(READ, TOPIC, "orders")
    connection.clock.advance(1)
    after = await connection.may(READ, TOPIC, "orders")

    # Then
    assert (before, after) == (True, False)
    assert len(connection.broker.asked) == 2


async def test_nothing_is_allowed_by_what_is_too_old() -> None:
    # Given
    connection = Connection()
    connection.broker.operations = {"orders": (READ,)}
    await connection.may(READ, TOPIC, "orders")

    # When
    connection.clock.advance(REFRESH_MS + GRACE_MS + 1)

    # Then
    with pytest.raises(CoordinatorNotAvailable):
        connection.rights.allows(READ, TOPIC, "orders")


async def test_what_was_never_asked_for_is_refused() -> None:
    with pytest.raises(CoordinatorNotAvailable, match="could not be learned what the client may do"):
        Connection().rights.allows(READ, TOPIC, "orders")


async def test_what_only_the_groups_coordinator_tells_is_refused_at_another_broker() -> None:
    # Given
    connection = Connection()
    connection.broker.is_coordinator = False
    connection.broker.operations = {"g": (READ, DESCRIBE, DELETE)}

    # When
    told = [await connection.may(operation, GROUP, "g") for operation in (READ, DESCRIBE)]

    # Then
    assert told == [True, True]
    with pytest.raises(CoordinatorNotAvailable, match="does not coordinate the group"):
        await connection.may(DELETE, GROUP, "g")


async def test_what_a_broker_without_configurations_of_groups_does_not_tell_its_coordinator_tells() -> None:
    # Given
    connection = Connection()
    connection.broker.operations = {"g": (DESCRIBE, AclOperation.ALTER_CONFIGS)}

    # When
    found = [await connection.may(AclOperation.ALTER_CONFIGS, GROUP, "g") for _ in range(2)]

    # Then
    assert found == [True, True]
    asked = [type(message) for message in connection.broker.asked]
    assert asked == [IncrementalAlterConfigsRequest, DescribeGroupsRequest]


async def test_a_right_to_configure_a_group_that_must_not_be_described_is_asked_for_by_itself() -> None:
    # Given: DescribeGroups was refused a moment ago
    connection = Connection()
    connection.broker.operations = {"g": (AclOperation.ALTER_CONFIGS,)}
    connection.broker.knows_group_configs = True
    assert not await connection.may(DESCRIBE, GROUP, "g")

    # When, then
    assert await connection.may(AclOperation.ALTER_CONFIGS, GROUP, "g")


async def test_a_right_that_no_broker_tells_is_denied() -> None:
    assert not await Connection().may(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "t")


async def test_another_client_on_the_same_connection_has_its_own_rights() -> None:
    # Given
    connection = Connection()
    connection.broker.operations = {"orders": (READ,)}
    await connection.may(READ, TOPIC, "orders")

    # When
    connection.session.sasl.proof = Proof(Principal("User", "bob"), "PLAIN", 0)
    connection.broker.operations = {}

    # Then
    assert not await connection.may(READ, TOPIC, "orders")


@pytest.mark.parametrize(
    ("principal", "shows_certificate"), [(Principal("User", "alice"), False), (ANONYMOUS, True)]
)
async def test_a_client_that_the_broker_knows_by_another_name_is_not_asked_about(
    principal: Principal, *, shows_certificate: bool
) -> None:
    """The rights would be kproxy's."""
    # Given
    connection = Connection(shows_certificate=shows_certificate)
    connection.session.principal = principal
    connection.broker.operations = {"orders": (READ,)}

    # When
    await connection.rights.learn(READ, TOPIC, ["orders"], go_on_asking)

    # Then
    assert not connection.broker.asked
    with pytest.raises(CoordinatorNotAvailable, match="brokers see kproxy instead"):
        connection.rights.allows(READ, TOPIC, "orders")


async def test_a_client_with_a_name_by_sasl_is_asked_about_whatever_certificate_kproxy_shows() -> None:
    # Given
    connection = Connection(shows_certificate=True)
    connection.session.sasl.proof = Proof(Principal("User", "alice"), "PLAIN", 0)
    connection.broker.operations = {"orders": (READ,)}

    # When, then
    assert await connection.may(READ, TOPIC, "orders")


async def test_what_was_asked_for_another_client_is_not_believed() -> None:
    # Given: the answer comes when somebody else has authenticated
    connection = Connection()
    connection.broker.operations = {"orders": (READ,)}

    def authenticate() -> None:
        connection.session.sasl.proof = Proof(Principal("User", "bob"), "PLAIN", 0)

    connection.on_asked = authenticate

    # When
    await connection.rights.learn(READ, TOPIC, ["orders"], go_on_asking)

    # Then
    with pytest.raises(CoordinatorNotAvailable):
        connection.rights.allows(READ, TOPIC, "orders")


async def test_nothing_is_asked_while_the_broker_owes_the_client_a_response() -> None:
    # Given
    connection = Connection()
    connection.session = Conversation().session
    connection.session.receive_from_client(opaque_request(1))
    connection.session.take_for_broker()
    terms = RightsTerms(connection.clock, connection.counts, REFRESH_MS)
    rights = TwinRights(connection.session, connection.send, terms)

    # When
    await rights.learn(READ, TOPIC, ["orders"], go_on_asking)

    # Then
    assert not connection.session.take_for_broker()
    with pytest.raises(CoordinatorNotAvailable, match="in use"):
        rights.allows(READ, TOPIC, "orders")
    assert connection.counts.of("rights_questions", "failed") == 1


async def test_a_broker_that_does_not_answer_is_not_waited_for_for_ever_nor_asked_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(twin_rights, "PATIENCE_SECONDS", 0.001)
    connection = Connection()
    connection.broker.is_silent = True
    asked: list[None] = []
    connection.on_asked = lambda: asked.append(None)

    # When
    for number in range(10):
        await connection.rights.learn(READ, TOPIC, [f"orders-{number}"], go_on_asking)

    # Then
    with pytest.raises(CoordinatorNotAvailable):
        connection.rights.allows(READ, TOPIC, "orders-0")
    assert len(asked) == 4


async def test_a_connection_that_ends_lets_nobody_wait() -> None:
    # Given
    connection = Connection()
    connection.broker.is_silent = True
    connection.on_asked = connection.rights.close

    # When
    await asyncio.wait_for(connection.rights.learn(READ, TOPIC, ["orders"], go_on_asking), 1)

    # Then
    with pytest.raises(CoordinatorNotAvailable, match="connection ended"):
        connection.rights.allows(READ, TOPIC, "orders")


async def test_a_request_about_too_much_is_refused_and_nothing_is_asked() -> None:
    # Given
    connection = Connection()
    names = [f"{number:0250}" for number in range(2_000)]

    # When
    await connection.rights.learn(READ, TOPIC, names, go_on_asking)

    # Then
    assert not connection.broker.asked
    with pytest.raises(CoordinatorNotAvailable, match="more groups and topics"):
        connection.rights.allows(READ, TOPIC, names[0])


async def test_what_a_request_has_learned_is_kept_while_it_asks_for_more_than_fits_beside_the_old() -> None:
    # Given
    connection = Connection()
    connection.broker.operations = {"orders": (READ,)}
    old, new = ([f"{number:0{width}}" for number in range(1_500)] for width in (250, 249))
    await connection.rights.learn(DELETE, GROUP, old, go_on_asking)
    connection.clock.advance(GRACE_MS)

    # When
    await connection.rights.learn(READ, TOPIC, ["orders"], go_on_asking)
    await connection.rights.learn(DELETE, GROUP, new, go_on_asking)

    # Then
    assert connection.rights.allows(READ, TOPIC, "orders")
    assert not connection.rights.allows(DELETE, GROUP, new[-1])
    with pytest.raises(CoordinatorNotAvailable):
        connection.rights.allows(DELETE, GROUP, old[0])


async def test_what_is_kept_of_all_connections_is_bounded_and_the_oldest_gives_way() -> None:
    # Given
    room, clock = RightsRoom(most_bytes=1_000), ManualClock()
    first, second = Connection(room, clock), Connection(room, clock)
    for each in (first, second):
        each.broker.operations = {"orders": (READ,), "payments": (READ,)}
    await first.rights.learn(READ, TOPIC, ["orders", "payments"], go_on_asking)

    # When
    await second.rights.learn(READ, TOPIC, ["orders", "payments"], go_on_asking)

    # Then
    assert second.rights.allows(READ, TOPIC, "orders")
    assert room.held_bytes <= 1_000
    with pytest.raises(CoordinatorNotAvailable):
        first.rights.allows(READ, TOPIC, "orders")
    second.rights.close()
    assert room.held_bytes == 0
