"""FindCoordinator (10) for key type SHARE, which is answered here. Coordinators that brokers name: `address_rewrites`.

Versions 0-3 name one coordinator in fields of the response, 4 and above a list. An answer with an error names node -1
and no host.
"""

import re
from typing import Final
from zlib import crc32

from kproxy.error_codes import ErrorCode
from kproxy.errors import PeerViolation
from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.request_prefixes import after_string, after_tags, after_varint

SHARE_KEY_TYPE: Final = 2
FIRST_WITH_SHARE_KEYS: Final = 6
_FIRST_BATCHED: Final = 4
_CLIENT_ID_AT: Final = 8
_TOPIC_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_PARTITION: Final = re.compile(r"[0-9]{1,10}", re.ASCII)
_LAST_PARTITION: Final = 2**31 - 1


def key_type_and_count(frame: memoryview) -> tuple[int, int] | None:
    """Return what kind of coordinators a request seeks, and of how many keys; None when that is not to be found.

    `frame` is all of a request of version 4 or above but its length; it is not decoded.
    """
    try:
        position = after_tags(frame, after_string(frame, _CLIENT_ID_AT))
        count_and_one, _ = after_varint(frame, position + 1)
        return frame[position], max(count_and_one - 1, 0)
    except (IndexError, PeerViolation):
        return None


def answer_share_coordinator(
    request: FindCoordinatorRequest, api_version: int, addresses: BrokerAddresses | None
) -> FindCoordinatorResponse | None:
    """Return the answer to a search for a share coordinator, None when `request` asks for another kind.

    Where the share coordinator is served on the wire, it is on every port: keys are spread over the virtual brokers
    of `addresses`. Elsewhere that is None, and each key is COORDINATOR_NOT_AVAILABLE. A key that is not
    `group:topicId:partition` is INVALID_REQUEST, and so is every one before version 6, which has no such key type.
    Source: `KafkaApis.handleFindCoordinatorRequest`, `SharePartitionKey.validate`, which also lets pass what Java's
    parsers of numbers and of base64 do: a partition `+1` or `-1`, a topic id with `==` behind it.
    """
    if request.key_type != SHARE_KEY_TYPE:
        return None
    if api_version < _FIRST_BATCHED:
        sought = _place(request.key, api_version, addresses)
        return FindCoordinatorResponse(
            error_code=sought.error_code,
            error_message=sought.error_message,
            node_id=sought.node_id,
            host=sought.host,
            port=sought.port,
        )
    return FindCoordinatorResponse(
        coordinators=[_place(key, api_version, addresses) for key in request.coordinator_keys]
    )


def _place(key: str, api_version: int, addresses: BrokerAddresses | None) -> Coordinator:
    if api_version < FIRST_WITH_SHARE_KEYS:
        text = f"key type 2 (SHARE) needs version 6, this is version {api_version}"
        return _nowhere(key, ErrorCode.INVALID_REQUEST, text)
    if not _is_share_partition(key):
        text = f"share partition key {key!r:.100} is not group:topicId:partition"
        return _nowhere(key, ErrorCode.INVALID_REQUEST, text)
    if addresses is None:
        text = "the share coordinator is not served on the wire: see kproxy.share.coordinator.enable"
        return _nowhere(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, text)
    node_ids = sorted(addresses.known())
    if not node_ids:
        return _nowhere(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, "no broker is known yet")
    node_id = node_ids[crc32(key.encode()) % len(node_ids)]
    address = addresses.known()[node_id]
    return Coordinator(key=key, node_id=node_id, host=address.host, port=address.port, error_message=None)


def _nowhere(key: str, code: ErrorCode, text: str) -> Coordinator:
    return Coordinator(key=key, error_code=code, error_message=text, node_id=-1, host="", port=-1)


def _is_share_partition(key: str) -> bool:
    group_and_topic, _, partition = key.rpartition(":")
    group_id, _, topic_id = group_and_topic.rpartition(":")
    return (
        bool(group_id.strip())
        and _TOPIC_ID.fullmatch(topic_id) is not None
        and _PARTITION.fullmatch(partition) is not None
        and int(partition) <= _LAST_PARTITION
    )
