"""What every API asks; which API asks what is in tests/transcripts."""

from dataclasses import replace
from typing import Final

import pytest

from kproxy.errors import (
    ClusterAuthorizationFailed,
    CoordinatorNotAvailable,
    GroupAuthorizationFailed,
    TopicAuthorizationFailed,
)
from kproxy.handlers.asked_rights import go_on_asking
from kproxy.handlers.authorization import (
    ALLOW_ALL,
    EVERYTHING,
    NOTHING,
    Authorization,
    Authorizer,
)
from kproxy.handlers.request_context import RequestContext
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.security.principal import ANONYMOUS, KPROXY
from kproxy.share.identifiers import TopicId
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata
from tests.in_memory.scripted_authorizer import EVERYBODY_MAY, ScriptedAuthorizer
from tests.in_memory.scripted_rights import AskingAuthorizer, ScriptedRights

CONTEXT: Final = RequestContext(7, 1, 78, 1, "client", "/10.0.0.7")
ORDERS: Final = TopicId(b"topic-id-orders.")
PAYMENTS: Final = TopicId(b"topic-id-payment")
NO_SUCH_TOPIC: Final = TopicId(b"topic-id-unknown")


def a_cluster() -> InMemoryClusterMetadata:
    metadata = InMemoryClusterMetadata()
    metadata.create_topic("orders", ORDERS)
    metadata.create_topic("payments", PAYMENTS)
    return metadata


def test_without_an_authorizer_everybody_may_do_everything() -> None:
    # When
    EVERYBODY_MAY.require_group(CONTEXT, AclOperation.DELETE, "g")
    EVERYBODY_MAY.require_topics(CONTEXT, AclOperation.READ, ["orders"])
    EVERYBODY_MAY.require_cluster(CONTEXT, AclOperation.CLUSTER_ACTION)

    # Then
    assert EVERYBODY_MAY.of(CONTEXT) is EVERYTHING
    assert EVERYBODY_MAY.group_operations(CONTEXT, "g") == 0b1101_0100_1000
    assert not ALLOW_ALL.problem


def test_nobody_knows_may_do_nothing() -> None:
    assert not NOTHING.allows(AclOperation.READ, ResourceType.TOPIC, "orders")


def test_what_is_not_allowed_is_refused_by_the_name_of_what_it_is_about() -> None:
    # Given
    authorizer = ScriptedAuthorizer()
    authorizer.allow_topic(AclOperation.READ, "orders")
    authorization = Authorization(authorizer, a_cluster())

    # When, then
    with pytest.raises(GroupAuthorizationFailed):
        authorization.require_group(CONTEXT, AclOperation.READ, "g")
    with pytest.raises(TopicAuthorizationFailed):
        authorization.require_topics(CONTEXT, AclOperation.DESCRIBE, ["orders", "payments"])
    with pytest.raises(ClusterAuthorizationFailed):
        authorization.require_cluster(CONTEXT, AclOperation.CLUSTER_ACTION)
    authorization.require_topics(CONTEXT, AclOperation.DESCRIBE, ["orders"])


def test_operations_on_a_group_are_told_as_bits() -> None:
    # Given
    authorizer = ScriptedAuthorizer()
    authorizer.allow_group(AclOperation.READ, "g")

    # When
    bits = Authorization(authorizer, a_cluster()).group_operations(CONTEXT, "g")

    # Then
    assert bits == 1 << AclOperation.READ | 1 << AclOperation.DESCRIBE


def test_another_process_of_the_fleet_may_see_everything_and_do_nothing() -> None:
    # Given
    authorization = Authorization(ScriptedAuthorizer("no broker said"), a_cluster())
    asking = replace(CONTEXT, principal=KPROXY)

    # When
    may_see, may_read = (
        authorization.allows_group(asking, operation, "g")
        for operation in (AclOperation.DESCRIBE, AclOperation.READ)
    )

    # Then
    assert may_see
    assert not may_read


async def test_topics_are_readable_by_their_names_and_at_this_moment() -> None:
    # Given
    authorizer = ScriptedAuthorizer()
    authorizer.allow(AclOperation.READ, ResourceType.TOPIC, "orders", principal=ANONYMOUS)
    authorization = Authorization(authorizer, a_cluster())

    # When
    readable = await authorization.readable_topics(CONTEXT, lambda: (ORDERS, PAYMENTS, NO_SUCH_TOPIC))

    # Then
    assert readable.may_read(ORDERS)
    assert not readable.may_read(PAYMENTS)
    assert not readable.may_read(NO_SUCH_TOPIC)
    assert readable.denied([ORDERS, PAYMENTS, NO_SUCH_TOPIC]) == {PAYMENTS}
    authorizer.take_away("orders")
    assert not readable.may_read(ORDERS)


async def test_a_topic_whose_name_cannot_be_asked_for_is_not_readable() -> None:
    # Given
    authorizer, metadata = ScriptedAuthorizer(), a_cluster()
    authorizer.allow_topic(AclOperation.READ, "orders")
    metadata.is_unavailable = True

    # When
    readable = await Authorization(authorizer, metadata).readable_topics(CONTEXT, lambda: (ORDERS,))

    # Then
    assert not readable.may_read(ORDERS)
    assert not readable.denied([ORDERS])


async def test_while_nobody_knows_what_anybody_may_do_nothing_is_served() -> None:
    # Given
    authorization = Authorization(ScriptedAuthorizer("no broker said"), a_cluster())

    # When, then
    with pytest.raises(CoordinatorNotAvailable, match="no broker said"):
        authorization.require_group(CONTEXT, AclOperation.READ, "g")
    with pytest.raises(CoordinatorNotAvailable):
        await authorization.readable_topics(CONTEXT, lambda: (ORDERS,))


@pytest.mark.parametrize(
    "authorizer", [ALLOW_ALL, ScriptedAuthorizer()], ids=["everybody may all", "by lists"]
)
async def test_topics_that_are_closed_are_nobodys_whatever_the_authorizer_says(
    authorizer: Authorizer,
) -> None:
    # Given
    if isinstance(authorizer, ScriptedAuthorizer):
        for name in ("orders", "payments"):
            authorizer.allow_topic(AclOperation.READ, name)
    closed = ClosedTopics(("payments",))
    closed.know([PAYMENTS])
    authorization = Authorization(authorizer, a_cluster(), closed)

    # When
    readable = await authorization.readable_topics(CONTEXT, lambda: (ORDERS, PAYMENTS))

    # Then
    assert [readable.may_read(topic_id) for topic_id in (ORDERS, PAYMENTS)] == [True, False]
    assert readable.denied([ORDERS, PAYMENTS]) == {PAYMENTS}
    assert not authorization.allows_topic(CONTEXT, AclOperation.READ, "payments")
    assert authorization.allows_topic(CONTEXT, AclOperation.READ, "orders")
    authorization.require_topics(CONTEXT, AclOperation.DESCRIBE, ["orders"])
    with pytest.raises(TopicAuthorizationFailed):
        authorization.require_topics(CONTEXT, AclOperation.DESCRIBE, ["orders", "payments"])


async def test_where_the_clients_own_broker_has_to_be_asked_what_it_told_counts() -> None:
    # Given
    rights = ScriptedRights((AclOperation.READ, ResourceType.GROUP, "g"))
    context = replace(CONTEXT, rights=rights)
    authorization = Authorization(AskingAuthorizer(), a_cluster())
    with pytest.raises(CoordinatorNotAvailable, match="nobody asked"):
        authorization.require_group(context, AclOperation.READ, "g")

    # When
    for group_id in ("g", "h"):
        await authorization.learn_group(context, AclOperation.READ, group_id)

    # Then
    authorization.require_group(context, AclOperation.READ, "g")
    with pytest.raises(GroupAuthorizationFailed):
        authorization.require_group(context, AclOperation.READ, "h")


async def test_a_request_of_a_client_without_a_broker_here_is_refused_with_what_to_do() -> None:
    # Given
    authorization = Authorization(AskingAuthorizer(), a_cluster())

    # When
    await authorization.learn_group(CONTEXT, AclOperation.READ, "g")

    # Then
    with pytest.raises(CoordinatorNotAvailable, match="let kproxy's principal DESCRIBE the cluster"):
        authorization.require_group(CONTEXT, AclOperation.READ, "g")


@pytest.mark.parametrize("authorizer", [ALLOW_ALL, ScriptedAuthorizer(), ScriptedAuthorizer("nobody knows")])
async def test_where_rights_are_known_otherwise_no_broker_is_asked(authorizer: Authorizer) -> None:
    # Given
    rights = ScriptedRights()
    authorization = Authorization(authorizer, a_cluster())

    # When
    await authorization.learn_cluster(replace(CONTEXT, rights=rights), AclOperation.CLUSTER_ACTION)

    # Then
    assert not rights.known


async def test_which_topics_may_be_read_is_asked_for_by_name_and_again_after_a_wait() -> None:
    # Given
    read_orders = (AclOperation.READ, ResourceType.TOPIC, "orders")
    rights = ScriptedRights(read_orders)
    authorization = Authorization(AskingAuthorizer(), a_cluster())
    context = replace(CONTEXT, rights=rights)
    readable = await authorization.readable_topics(context, lambda: (ORDERS, PAYMENTS))
    before = readable.denied([ORDERS, PAYMENTS])

    # When
    rights.allowed.clear()
    await readable.renew(go_on_asking)

    # Then
    assert before == {PAYMENTS}
    assert readable.denied([ORDERS, PAYMENTS]) == {ORDERS, PAYMENTS}


def test_groups_that_are_closed_are_nobodys_whatever_the_authorizer_says() -> None:
    # Given
    authorizer = ScriptedAuthorizer()
    for name in ("the-fleet", "g"):
        authorizer.allow_group(AclOperation.DELETE, name)
    authorization = Authorization(authorizer, a_cluster(), ClosedTopics(groups=["the-fleet"]))

    # When
    allowed = [authorization.allows_group(CONTEXT, AclOperation.DELETE, name) for name in ("the-fleet", "g")]

    # Then
    assert allowed == [False, True]
    assert [authorization.is_closed_group(name) for name in ("the-fleet", "g")] == [True, False]
    with pytest.raises(GroupAuthorizationFailed):
        authorization.require_group(CONTEXT, AclOperation.DELETE, "the-fleet")
