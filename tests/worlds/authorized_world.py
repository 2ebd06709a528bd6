"""Share groups in front of which an authorizer stands: nobody may do anything but what a test allows."""

from typing import Any, Final

from kproxy.error_codes import ErrorCode
from kproxy.security.acls import AclOperation
from kproxy.wire.codecs import Message
from tests.in_memory.scripted_authorizer import ScriptedAuthorizer
from tests.worlds.share_group_world import (
    ORDERS,
    PAYMENTS,
    ShareGroupWorld,
)

READ, DESCRIBE, DELETE = AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE
NO_GROUP: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
NO_TOPIC: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NO_CLUSTER: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
GROUP: Final = 32
BOTH: Final = ((ORDERS, 0), (PAYMENTS, 0))


async def a_world(*, passes_time: bool = True) -> tuple[ShareGroupWorld, ScriptedAuthorizer]:
    """Two topics with three records each, initialized for group `g`; nobody may do anything."""
    authorizer = ScriptedAuthorizer()
    world = ShareGroupWorld(authorizer=authorizer, passes_time=passes_time)
    world.metadata.create_topic("payments", PAYMENTS)
    for topic_id in (ORDERS, PAYMENTS):
        await world.initialize(topic_id=topic_id)
        world.produce(3, topic_id=topic_id)
    return world, authorizer


async def with_a_group() -> tuple[ShareGroupWorld, ScriptedAuthorizer]:
    """The same with a member, alice, of `g`."""
    world, authorizer = await a_world()
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders", "payments")
    joined = await world.member().heartbeat(0, ["orders", "payments"])
    assert joined.error_code == ErrorCode.NONE
    for name in ("g", "orders", "payments"):
        authorizer.take_away(name)
    return world, authorizer


async def ask(world: ShareGroupWorld, api_key: int, version: int, message: Message) -> Any:
    return await world.serve(message, api_key, version)


async def emptied() -> tuple[ShareGroupWorld, ScriptedAuthorizer]:
    world, authorizer = await with_a_group()
    authorizer.allow_group(READ, "g")
    await world.member().heartbeat(-1)
    authorizer.take_away("g")
    return world, authorizer
