"""Each right that kproxy's principal lacks is named alone, by what brokers answer to requests that do nothing."""

from collections.abc import Callable

import pytest

from kproxy.clients.checkup.checks import Check, Outcome, Subject
from kproxy.clients.checkup.own_rights_checks import OwnNames, own_rights_checks
from kproxy.clients.cluster.cluster_client import connected_cluster
from kproxy.clients.cluster.connection import BrokerAddress
from kproxy.clients.cluster.deadline import Deadline
from kproxy.security.acls import AclOperation
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from kproxy.wire.messages.end_txn_response import EndTxnResponse
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from tests.in_memory.answering_broker import AnsweringBroker
from tests.in_memory.loop_in_a_thread import loop_in_a_thread

NAMES = OwnNames(("states", "groups"), "states-", "fleet", ("orders",))
EVERYTHING = sum(1 << operation for operation in AclOperation)
ASKED = (ApiKey.METADATA, ApiKey.HEARTBEAT, ApiKey.END_TXN, ApiKey.DESCRIBE_GROUPS)
UNKNOWN_MEMBER, UNKNOWN_PRODUCER, UNKNOWN_TOPIC = 25, 49, 3


def without(operation: AclOperation) -> int:
    return EVERYTHING & ~(1 << operation)


def looking(
    *,
    topics: dict[str, int] | None = None,
    topic_errors: dict[str, int] | None = None,
    heartbeat: int = UNKNOWN_MEMBER,
    end_txn: int = UNKNOWN_PRODUCER,
    describe: int = 0,
    apis: tuple[ApiKey, ...] = ASKED,
    names: OwnNames = NAMES,
) -> list[Check]:
    """What is found where a broker tells of these operations on topics, and answers these error codes."""

    def metadata(request: DecodedRequest) -> Message:
        assert isinstance(request.message, MetadataRequest)
        named = [str(each.name) for each in request.message.topics or []]
        return MetadataResponse(
            topics=[
                MetadataResponseTopic(
                    name=name,
                    error_code=(topic_errors or {}).get(name, 0),
                    topic_authorized_operations=(topics or {}).get(name, EVERYTHING),
                )
                for name in named
            ]
        )

    answers: dict[int, Callable[[DecodedRequest], Message]] = {
        ApiKey.METADATA: metadata,
        ApiKey.HEARTBEAT: lambda _: HeartbeatResponse(error_code=heartbeat),
        ApiKey.END_TXN: lambda _: EndTxnResponse(error_code=end_txn),
        ApiKey.DESCRIBE_GROUPS: lambda _: DescribeGroupsResponse(
            groups=[DescribedGroup(error_code=describe)]
        ),
    }
    ranges: dict[int, tuple[int, int]] = {key: (0, 12 if key is ApiKey.METADATA else 3) for key in apis}
    broker = AnsweringBroker(answers, version_ranges=ranges)
    with loop_in_a_thread() as loop:
        loop.run(broker.start())
        try:
            address = BrokerAddress("127.0.0.1", broker.address.port)
            with connected_cluster([address], Deadline(10_000)) as client:
                return list(own_rights_checks(Subject("rights"), client, names))
        finally:
            loop.run(broker.stop())


def test_a_principal_that_may_do_everything_is_told_so_resource_by_resource() -> None:
    # When
    checks = looking()

    # Then
    assert [(check.outcome, check.detail) for check in checks] == [
        (Outcome.OK, "Read, Write, Delete, DescribeConfigs on topic states"),
        (Outcome.OK, "Read, Write, Delete, DescribeConfigs on topic groups"),
        (Outcome.OK, "Read on the fleet's group fleet"),
        (Outcome.OK, "Write on the transactional ids with prefix states-"),
        (Outcome.OK, "Describe on all groups"),
        (Outcome.OK, "Read on topic orders"),
    ]


@pytest.mark.parametrize(
    ("operation", "outcome"),
    [
        (AclOperation.READ, Outcome.FAILED),
        (AclOperation.WRITE, Outcome.FAILED),
        (AclOperation.DELETE, Outcome.WARNING),
        (AclOperation.DESCRIBE_CONFIGS, Outcome.WARNING),
    ],
)
def test_a_right_that_is_missing_on_a_state_topic_is_named_alone(
    operation: AclOperation, outcome: Outcome
) -> None:
    # When
    checks = looking(topics={"states": without(operation)})

    # Then
    [wrong] = [check for check in checks if check.outcome is not Outcome.OK]
    name = "".join(word.capitalize() for word in operation.name.split("_"))
    assert (wrong.outcome, wrong.detail.split(":")[0]) == (
        outcome,
        f"kproxy's principal may not do {name} on topic states",
    )
    assert f"--topic states --operation {name} " in wrong.remedy


def test_who_may_do_anything_but_create_topics_that_are_there_needs_no_more() -> None:
    # When
    checks = looking(topics={"states": without(AclOperation.CREATE)})

    # Then
    assert {check.outcome for check in checks} == {Outcome.OK}


@pytest.mark.parametrize(
    ("missing", "said", "remedy"),
    [
        ({"heartbeat": 30}, "Read on the fleet's group fleet", "--group fleet --operation Read "),
        (
            {"end_txn": 53},
            "Write on the transactional ids with prefix states-",
            "--transactional-id states- --resource-pattern-type prefixed --operation Write ",
        ),
        ({"describe": 30}, "Describe on all groups", "--group '*' --operation Describe "),
        (
            {"topics": {"orders": without(AclOperation.READ)}},
            "Read on topic orders",
            "--topic orders --operation Read ",
        ),
        ({"topic_errors": {"orders": 29}}, "Read on topic orders", "--topic orders --operation Read "),
    ],
)
def test_every_other_right_that_is_missing_is_named_alone_with_the_command(
    missing: dict[str, object], said: str, remedy: str
) -> None:
    # When
    checks = looking(**missing)  # type: ignore[arg-type]  # by name

    # Then
    [wrong] = [check for check in checks if check.outcome is not Outcome.OK]
    assert (wrong.outcome, wrong.detail) == (
        Outcome.FAILED,
        f"kproxy's principal may not do {said}: there are no share groups without",
    )
    assert remedy in wrong.remedy


def test_topics_that_are_not_there_have_no_rights_yet() -> None:
    # When
    checks = looking(topic_errors={"states": UNKNOWN_TOPIC, "orders": UNKNOWN_TOPIC})

    # Then
    assert [check.outcome for check in checks] == [*[Outcome.OK] * 4, Outcome.SKIPPED]
    assert checks[-1].detail == "topic orders is not there"


def test_what_a_broker_does_not_offer_is_skipped_and_the_rest_is_looked_at() -> None:
    # When
    checks = looking(apis=(ApiKey.METADATA, ApiKey.HEARTBEAT), names=OwnNames((), "states-", "fleet"))

    # Then
    assert [check.outcome for check in checks] == [Outcome.OK, Outcome.SKIPPED, Outcome.SKIPPED]
