"""Which broker coordinates a group, or a transactional id: asked for one key, or for many at once. Any broker knows."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.broker_answers import require_success
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wording import counted

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
        raise BrokerUnavailable(f"{what}: {counted(len(answers), 'answer')} to one question")
    require_success(answers[0].error_code, what)
    return answers[0].node_id


async def coordinators_of(
    metadata: ClusterMetadataCache, kind: CoordinatorKind, keys: Sequence[str]
) -> Mapping[str, int]:
    """Return the node ids of the brokers that coordinate `keys`, without those that are not known yet.

    One request asks for all of them; a broker that takes one key at a time is asked for the first one only.

    Raises:
        BrokerUnavailable: nobody answers, or not to this question.
    """
    _, answers = await metadata.ask(lambda client: _asked(client, kind, *keys))
    return {
        answer.key if isinstance(answer, Coordinator) else keys[0]: answer.node_id
        for answer in answers
        if answer.error_code == ErrorCode.NONE
    }


async def _asked(
    client: BrokerClient, kind: CoordinatorKind, *keys: str
) -> tuple[str, list[Coordinator] | list[FindCoordinatorResponse]]:
    """Return who answered, and what."""
    version = client.version_for(ApiKey.FIND_COORDINATOR)
    is_batched = version >= _FIRST_BATCHED_VERSION
    request = FindCoordinatorRequest(key_type=kind)
    if is_batched:
        request.coordinator_keys = list(keys)
    else:
        request.key = keys[0]
    response = await client.request(ApiKey.FIND_COORDINATOR, request, version)
    assert isinstance(response, FindCoordinatorResponse)
    return client.peer, response.coordinators if is_batched else [response]
