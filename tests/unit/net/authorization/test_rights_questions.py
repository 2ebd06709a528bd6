"""What is asked about rights, and what the answers tell, also over sockets: wherever a client's broker stands."""

import asyncio

import pytest

from kproxy.errors import CoordinatorNotAvailable
from kproxy.handlers.asked_rights import go_on_asking
from kproxy.handlers.request_context import RequestContext
from kproxy.net.authorization.rights_questions import (
    LONGEST_NAME_BYTES,
    RIGHTS_CORRELATION_ID,
    Kind,
    kinds_telling,
    questions,
)
from kproxy.net.authorization.twin_rights import RightsTerms, TwinRights
from kproxy.net.dialing import connect
from kproxy.security.acls import CLUSTER_NAME, AclOperation, ResourceType
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from kproxy.wire.messages.describe_groups_request import DescribeGroupsRequest
from kproxy.wire.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kproxy.wire.messages.heartbeat_request import HeartbeatRequest
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import ParkedApis, RelayUnderTest, ended, request, response, share_fetch
from tests.worlds.waiting import until

READ, DESCRIBE = AclOperation.READ, AclOperation.DESCRIBE
READ_AND_DESCRIBE = 1 << READ | 1 << DESCRIBE


def asked(kind: Kind, *names: str) -> list[Message]:
    """The messages, as a broker reads them."""
    frames = [b"".join(question.frame()) for question in questions(kind, names)]
    decoded = [codecs.decode_request(memoryview(frame)[4:]) for frame in frames]
    assert all(request.correlation_id == RIGHTS_CORRELATION_ID for request in decoded)
    return [request.message for request in decoded]


def told(kind: Kind, name: str, answer: Message) -> dict[int, bool | None]:
    """What the answer of a broker tells of READ and DESCRIBE."""
    (question,) = questions(kind, [name])
    frame = b"".join(
        codecs.encode_response(question.api_key, question.api_version, RIGHTS_CORRELATION_ID, answer)
    )
    told_of = question.read(frame[4:])[name]
    return {operation: told_of.allows(operation) for operation in (READ, DESCRIBE)}


def test_topics_are_asked_for_with_their_operations_and_none_is_created() -> None:
    # When
    (message,) = asked(Kind.TOPIC, "orders", "payments")

    # Then
    assert isinstance(message, MetadataRequest)
    assert [topic.name for topic in message.topics or ()] == ["orders", "payments"]
    assert message.include_topic_authorized_operations
    assert not message.allow_auto_topic_creation


def test_reading_topics_is_asked_for_by_a_fetch_of_no_partition_that_does_not_wait() -> None:
    # When
    (message,) = asked(Kind.FETCHING, "orders", "payments")

    # Then
    assert isinstance(message, FetchRequest)
    assert (message.max_wait_ms, message.session_epoch, message.replica_id) == (0, -1, -1)
    assert [
        (topic.topic, [partition.partition for partition in topic.partitions]) for topic in message.topics
    ] == [("orders", [-1]), ("payments", [-1])]


def test_the_cluster_is_asked_for_without_any_topic() -> None:
    # When
    (message,) = asked(Kind.CLUSTER, CLUSTER_NAME)

    # Then
    assert isinstance(message, MetadataRequest)
    assert message.topics == []
    assert message.include_cluster_authorized_operations


def test_groups_are_asked_for_with_their_operations() -> None:
    # When
    (message,) = asked(Kind.GROUP, "g", "h")

    # Then
    assert isinstance(message, DescribeGroupsRequest)
    assert message.groups == ["g", "h"]
    assert message.include_authorized_operations


def test_reading_is_asked_for_by_a_heartbeat_of_no_member() -> None:
    # When
    messages = asked(Kind.READING, "g", "h")

    # Then
    assert messages == [HeartbeatRequest("g", -1, ""), HeartbeatRequest("h", -1, "")]


@pytest.mark.parametrize(("kind", "most"), [(Kind.TOPIC, 50), (Kind.GROUP, 100)])
def test_many_names_are_asked_for_in_pieces_and_none_is_left_out(kind: Kind, most: int) -> None:
    # When
    names = [f"n-{number}" for number in range(most + 1)]
    found = [question.names for question in questions(kind, names)]

    # Then
    assert found == [names[:most], names[most:]]


def test_a_name_that_no_broker_reads_is_not_asked_for() -> None:
    # When
    found = asked(Kind.READING, "x" * (LONGEST_NAME_BYTES + 1))

    # Then
    assert found == []


def test_configurations_are_asked_for_and_not_changed() -> None:
    # When
    (description,) = asked(Kind.DESCRIBING_CONFIGS, "g", "h")
    (alteration,) = asked(Kind.ALTERING_CONFIGS, "g", "h")

    # Then
    assert isinstance(description, DescribeConfigsRequest)
    assert [(each.resource_type, each.resource_name) for each in description.resources] == [
        (32, "g"),
        (32, "h"),
    ]
    assert alteration == IncrementalAlterConfigsRequest(
        [AlterConfigsResource(32, "g", []), AlterConfigsResource(32, "h", [])], validate_only=True
    )


def test_answers_about_configurations_tell_the_right_that_they_want() -> None:
    # When
    described = [
        DescribeConfigsResponse(results=[DescribeConfigsResult(code, None, 32, "g")]) for code in (0, 30)
    ]
    altered = [
        IncrementalAlterConfigsResponse(responses=[AlterConfigsResourceResponse(code, None, 32, "g")])
        for code in (0, 30)
    ]

    # Then
    for kind, operation, answers in (
        (Kind.DESCRIBING_CONFIGS, AclOperation.DESCRIBE_CONFIGS, described),
        (Kind.ALTERING_CONFIGS, AclOperation.ALTER_CONFIGS, altered),
    ):
        (question,) = questions(kind, ["g"])
        assert [question.told_in(answer)["g"].allows(operation) for answer in answers] == [True, False]


def test_answers_tell_the_operations() -> None:
    # Given
    topic = MetadataResponseTopic(name="orders", topic_authorized_operations=READ_AND_DESCRIBE)
    group = DescribedGroup(group_id="g", authorized_operations=1 << DESCRIBE)

    # When
    found = [
        told(Kind.TOPIC, "orders", MetadataResponse(topics=[topic])),
        told(Kind.GROUP, "g", DescribeGroupsResponse(groups=[group])),
        told(Kind.CLUSTER, CLUSTER_NAME, MetadataResponse(cluster_authorized_operations=1 << DESCRIBE)),
        told(Kind.READING, "g", HeartbeatResponse(error_code=25)),
        told(Kind.READING, "g", HeartbeatResponse(error_code=30)),
        told(Kind.FETCHING, "orders", fetched("orders", 3)),
        told(Kind.FETCHING, "orders", fetched("orders", 29)),
        told(Kind.FETCHING, "orders", fetched("orders", 6)),
    ]

    # Then
    assert [tuple(each.values()) for each in found] == [
        (True, True),
        (False, True),
        (False, True),
        (True, None),
        (False, None),
        (True, None),
        (False, None),
        (None, None),
    ]


def fetched(name: str, error_code: int) -> FetchResponse:
    """The answer about the partition that was fetched."""
    return FetchResponse(responses=[FetchableTopicResponse(name, partitions=[PartitionData(-1, error_code)])])


def test_what_is_fetched_is_told_by_a_fetch_and_otherwise_by_metadata() -> None:
    assert kinds_telling(READ, ResourceType.TOPIC) == (Kind.FETCHING, Kind.TOPIC)
    assert kinds_telling(DESCRIBE, ResourceType.TOPIC) == (Kind.TOPIC,)
    assert kinds_telling(AclOperation.ALTER, ResourceType.TOPIC) == (Kind.TOPIC,)


def test_reading_a_group_is_told_by_either_question_and_writing_to_a_transaction_by_none() -> None:
    assert kinds_telling(READ, ResourceType.GROUP) == (Kind.READING, Kind.GROUP)
    assert kinds_telling(AclOperation.DELETE, ResourceType.GROUP) == (Kind.GROUP,)
    assert kinds_telling(AclOperation.ALTER_CONFIGS, ResourceType.GROUP) == (
        Kind.ALTERING_CONFIGS,
        Kind.GROUP,
    )
    assert kinds_telling(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID) == ()


@pytest.fixture
def may_connect(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set it to let the relay connect to its broker."""
    event = asyncio.Event()

    async def connect_late(*arguments: object, **options: object) -> object:
        await event.wait()
        return await connect(*arguments, **options)  # type: ignore[arg-type]  # what it was called with

    monkeypatch.setattr("kproxy.net.relay.upstream_twin.connect", connect_late)
    return event


class AskingApis(ParkedApis):
    """Asks the broker of each client whether that may read its group, and notes what came of it."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[bool | str] = []

    async def serve(self, _request: DecodedRequest, context: RequestContext) -> Message:
        self.was_asked.set()
        assert context.rights is not None
        await context.rights.learn(AclOperation.READ, ResourceType.GROUP, ["g"], go_on_asking)
        try:
            self.said.append(context.rights.allows(AclOperation.READ, ResourceType.GROUP, "g"))
        except CoordinatorNotAvailable as unknown:
            self.said.append(str(unknown))
        return ShareFetchResponse()


def asking(under_test: RelayUnderTest) -> AskingApis:
    """Let the relay's requests be answered by APIs that ask brokers, and return those."""
    apis = AskingApis()
    terms = RightsTerms(ManualClock(), under_test.counted, 1_000)
    under_test.relay.apis = apis
    under_test.relay.new_rights = lambda session, send: TwinRights(session, send, terms)
    return apis


def heartbeat_of_nobody() -> bytes:
    """What is asked."""
    (question,) = questions(Kind.READING, ["g"])
    return b"".join(question.frame())


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_broker_is_asked_about_its_client_as_soon_as_it_is_there_and_the_client_hears_nothing_of_it(
    may_connect: asyncio.Event,
) -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        apis = asking(under_test)
        reader, writer = await under_test.connect()
        writer.write(share_fetch(5) + request(6))
        await apis.was_asked.wait()
        may_connect.set()
        asked = await broker.until_received(len(heartbeat_of_nobody()))
        allowed = HeartbeatResponse(error_code=25)
        answer = codecs.encode_response(ApiKey.HEARTBEAT, 3, RIGHTS_CORRELATION_ID, allowed)
        broker.send(b"".join(answer))
        fetched = b"".join(codecs.encode_response(78, 1, 5, ShareFetchResponse()))

        assert asked == heartbeat_of_nobody()
        assert await reader.readexactly(len(fetched)) == fetched
        assert apis.said == [True]
        assert await broker.until_received(len(asked + request(6))) == asked + request(6)
        broker.send(response(6))
        assert await reader.readexactly(len(response(6))) == response(6)
        writer.close()


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_who_asks_a_broker_that_goes_away_learns_nothing_and_waits_for_nobody() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        apis = asking(under_test)
        reader, writer = await under_test.connect()
        writer.write(share_fetch(5))
        await broker.until_received(len(heartbeat_of_nobody()))
        broker.writers[-1].transport.abort()

        await ended(reader)
        writer.close()
        await until(lambda: bool(apis.said))
        assert "its connection ended" in str(apis.said)
        assert not under_test.relay.connections
