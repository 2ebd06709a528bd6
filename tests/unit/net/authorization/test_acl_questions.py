from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.authorization.acl_questions import (
    LARGE_ANSWER_BYTES,
    AclAnswer,
    AclQuestion,
    HiddenAcls,
    KnownAcls,
    NoAuthorizer,
)
from kproxy.net.authorization.acl_watch import AclTerms, AclWatch
from kproxy.net.cluster.broker_client import BrokerClient, dial
from kproxy.security.acls import AclBinding, AclOperation, ResourceType
from kproxy.security.principal import Principal
from kproxy.security.standard_authorizer import AuthorizerRules
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.describe_acls_request import DescribeAclsRequest
from kproxy.wire.messages.describe_acls_response import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from tests.in_memory.answering_broker import AnsweringBroker
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.backing import LIMITS, CountedThings

DESCRIBE: Final = ApiKey.DESCRIBE_ACLS
Answer = TypeVar("Answer")

READ_ORDERS: Final = DescribeAclsResource(2, "orders", 3, [AclDescription("User:alice", "*", 3, 3)])


def answering(*responses: DescribeAclsResponse, versions: tuple[int, int] = (1, 3)) -> AnsweringBroker:
    """A broker that gives these answers, the last one again and again."""
    left = list(responses)
    return AnsweringBroker(
        {DESCRIBE: lambda _: left.pop(0) if len(left) > 1 else left[0]}, version_ranges={DESCRIBE: versions}
    )


class SeveralBrokers:
    """A cluster that asks all of `clients` at the same time, and goes by what the first one says."""

    def __init__(self, *clients: BrokerClient) -> None:
        self.clients = clients

    async def ask(self, question: Callable[[BrokerClient], Awaitable[Answer]]) -> Answer:
        first, *_ = [await question(client) for client in self.clients]
        return first


async def answers(broker: AnsweringBroker, count: int) -> list[AclAnswer]:
    question = AclQuestion()
    async with broker:
        client = await dial(broker.address, LIMITS)
        told: list[AclAnswer] = []
        for _ in range(count):
            told.append(await question.ask(client))
            if isinstance(told[-1], KnownAcls) and not told[-1].is_unchanged:
                question.believe(told[-1])
        return told


@pytest.mark.parametrize("versions", [(1, 1), (1, 2), (1, 3)])
async def test_every_binding_is_asked_for_and_told_as_it_is(versions: tuple[int, int]) -> None:
    # Given
    broker = answering(DescribeAclsResponse(resources=[READ_ORDERS]), versions=versions)

    # When
    [answer] = await answers(broker, 1)

    # Then
    assert answer == KnownAcls([AclBinding(2, "orders", 3, "User:alice", "*", 3, 3)])
    assert broker.asked(DESCRIBE)[0].message == DescribeAclsRequest(1, None, 1, None, None, 1, 1)


async def test_what_is_answered_again_is_not_read_again() -> None:
    # Given: an answer that differs in nothing but how long a quota held it back
    same = DescribeAclsResponse(resources=[READ_ORDERS])
    throttled = DescribeAclsResponse(throttle_time_ms=1, resources=[READ_ORDERS])

    # When
    first, second, third, fourth = await answers(answering(same, same, throttled, DescribeAclsResponse()), 4)

    # Then
    assert isinstance(first, KnownAcls)
    assert not first.is_unchanged
    assert second == third == KnownAcls(is_unchanged=True)
    assert fourth == KnownAcls([])


async def test_a_large_answer_is_read_all_the_same() -> None:
    # Given
    many = [AclDescription(f"User:{'x' * 30}-{number}", "*", 3, 3) for number in range(1_000)]
    resource = DescribeAclsResource(2, "orders", 3, many)

    # When
    [answer] = await answers(answering(DescribeAclsResponse(resources=[resource])), 1)

    # Then
    assert LARGE_ANSWER_BYTES < 1_000 * 30
    assert isinstance(answer, KnownAcls)
    assert len(answer.bindings) == 1_000


async def test_a_broker_without_an_authorizer_says_so() -> None:
    disabled = DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED)
    assert await answers(answering(disabled), 2) == [NoAuthorizer(), NoAuthorizer()]


async def test_a_broker_that_does_not_tell_says_why() -> None:
    refused = DescribeAclsResponse(
        error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message="Cluster authorization failed."
    )
    [answer] = await answers(answering(refused), 1)
    assert isinstance(answer, HiddenAcls)
    assert "CLUSTER_AUTHORIZATION_FAILED (31): Cluster authorization failed." in answer.reason


async def test_after_it_forgot_everything_is_read_anew() -> None:
    # Given
    question = AclQuestion()
    async with answering(DescribeAclsResponse(resources=[READ_ORDERS])) as broker:
        client = await dial(broker.address, LIMITS)
        known = await question.ask(client)
        assert isinstance(known, KnownAcls)
        question.believe(known)

        # When
        question.forget()

        # Then
        assert await question.ask(client) == KnownAcls([AclBinding(2, "orders", 3, "User:alice", "*", 3, 3)])


async def test_what_nobody_goes_by_is_read_again_when_it_is_answered_again() -> None:
    # Given
    question, bindings = AclQuestion(), [AclBinding(2, "orders", 3, "User:alice", "*", 3, 3)]
    async with answering(DescribeAclsResponse(resources=[READ_ORDERS])) as broker:
        client = await dial(broker.address, LIMITS)
        await question.ask(client)

        # When
        answer = await question.ask(client)

    # Then
    assert answer == KnownAcls(bindings)


async def test_a_broker_that_lacks_the_api_cannot_be_asked() -> None:
    with pytest.raises(BrokerUnavailable, match="DESCRIBE_ACLS"):
        await answers(AnsweringBroker(), 1)


async def test_a_right_is_gone_though_a_broker_whose_answer_came_too_late_said_so_first() -> None:
    # Given: what the first broker says has been overtaken
    async with (
        answering(DescribeAclsResponse(resources=[READ_ORDERS])) as behind,
        answering(DescribeAclsResponse()) as ahead,
    ):
        cluster = SeveralBrokers(await dial(behind.address, LIMITS), await dial(ahead.address, LIMITS))
        watch = AclWatch(
            cluster, AuthorizerRules(), clock=ManualClock(), counting=CountedThings(), terms=AclTerms()
        )

        def may_read() -> bool:
            permissions = watch.permissions_of(Principal("User", "alice"), "/10.0.0.7")
            return permissions.allows(AclOperation.READ, ResourceType.TOPIC, "orders")

        await watch.look()
        could_read = may_read()

        # When
        cluster.clients = cluster.clients[1:]
        await watch.look()

    # Then
    assert could_read
    assert not may_read()
