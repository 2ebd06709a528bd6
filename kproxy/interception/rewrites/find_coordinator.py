"""FindCoordinator (10): coordinators get the addresses of their virtual brokers; key type SHARE is answered here.

Versions 0-3 name one coordinator in fields of the response, 4 and above a list. An answer with an error names node -1
and no host, and stays as it is.
"""

from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.interception.broker_addresses import BackingBroker, BrokerAddresses
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse

SHARE_KEY_TYPE: Final = 2
_FIRST_WITH_SHARE_KEYS: Final = 6
_FIRST_BATCHED: Final = 4


def rewrite_find_coordinator(
    response: FindCoordinatorResponse, addresses: BrokerAddresses
) -> FindCoordinatorResponse:
    """Return `response` with advertised addresses; it is changed in place.

    Raises:
        UnknownBrokers: a coordinator has no port here yet; nothing was changed.
        PeerViolation: a node with a negative id has a host.
    """
    candidates: list[FindCoordinatorResponse | Coordinator] = [response, *response.coordinators]
    entries = [entry for entry in candidates if entry.host]
    addresses.require(BackingBroker(entry.node_id, entry.host, entry.port) for entry in entries)
    for entry in entries:
        address = addresses.address_of(entry.node_id)
        assert address is not None
        entry.host, entry.port = address.host, address.port
    return response


def answer_share_coordinator(
    request: FindCoordinatorRequest, api_version: int
) -> FindCoordinatorResponse | None:
    """Return the answer to a search for a share coordinator, None when `request` asks for another kind.

    kproxy's share coordinator is not on the wire, so each key is COORDINATOR_NOT_AVAILABLE; before version 6 the key
    type does not exist and is INVALID_REQUEST, as at a broker.
    """
    if request.key_type != SHARE_KEY_TYPE:
        return None
    code, text = ErrorCode.COORDINATOR_NOT_AVAILABLE, "the share coordinator is not served on the wire"
    if api_version < _FIRST_WITH_SHARE_KEYS:
        code, text = (
            ErrorCode.INVALID_REQUEST,
            f"key type 2 (SHARE) needs version 6, this is version {api_version}",
        )
    if api_version < _FIRST_BATCHED:
        return FindCoordinatorResponse(error_code=code, error_message=text, node_id=-1, host="", port=-1)
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(key=key, error_code=code, error_message=text, node_id=-1, host="", port=-1)
            for key in request.coordinator_keys
        ]
    )
