"""`find_coordinator`: which broker coordinates a group, or a transactional id. Any broker knows."""

from enum import IntEnum
from typing import Final

from kproxy.errors import BrokerUnavailable
from kproxy.net.broker_answers import require_success
from kproxy.net.broker_client import BrokerClient
from kproxy.net.cluster_metadata import ClusterMetadataCache
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse

_FIRST_BATCHED_VERSION: Final = 4
"""From here on FindCoordinator asks for a list of keys."""


class CoordinatorKind(IntEnum):
    """What is coordinated: FindCoordinator's key types."""

    GROUP = 0
    TRANSACTION = 1


async def find_coordinator(metadata: ClusterMetadataCache, kind: CoordinatorKind, key: str) -> int:
    """Return the node id of the broker that coordinates `key`.

    Raises:
        BrokerRefusal: there is none yet, or it may not be known; `error_code` says which.
        BrokerUnavailable: nobody answers, or not to this question.
    """
    peer, answers = await metadata.ask(lambda client: _asked(client, kind, key))
    what = f"FindCoordinator of {key} at {peer}"
    if len(answers) != 1:
        raise BrokerUnavailable(f"{what}: {len(answers)} answers to one question")
    require_success(answers[0].error_code, what)
    return answers[0].node_id


async def _asked(
    client: BrokerClient, kind: CoordinatorKind, key: str
) -> tuple[str, list[Coordinator] | list[FindCoordinatorResponse]]:
    """Return who answered, and what."""
    version = client.version_for(ApiKey.FIND_COORDINATOR)
    is_batched = version >= _FIRST_BATCHED_VERSION
    request = FindCoordinatorRequest(key_type=kind)
    if is_batched:
        request.coordinator_keys = [key]
    else:
        request.key = key
    response = await client.request(ApiKey.FIND_COORDINATOR, request, version)
    assert isinstance(response, FindCoordinatorResponse)
    return client.peer, response.coordinators if is_batched else [response]
