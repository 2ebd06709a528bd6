"""Which function rewrites which response, and the way from a broker's frame to the frame that leaves."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import MalformedMessage, PeerViolation
from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.interception.rewrites.api_versions import rewrite_api_versions
from kproxy.interception.rewrites.describe_cluster import rewrite_describe_cluster
from kproxy.interception.rewrites.find_coordinator import rewrite_find_coordinator
from kproxy.interception.rewrites.metadata import rewrite_metadata
from kproxy.interception.rewrites.node_endpoints import rewrite_produce
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse

_ADDRESS_REWRITES: Final[Mapping[int, Callable[[Any, BrokerAddresses], Any]]] = {
    ApiKey.METADATA: rewrite_metadata,
    ApiKey.FIND_COORDINATOR: rewrite_find_coordinator,
    ApiKey.DESCRIBE_CLUSTER: rewrite_describe_cluster,
    ApiKey.PRODUCE: rewrite_produce,
}

_ERROR_CODE_AT: Final = 4
"""In an ApiVersions response: behind the correlation id, in every version."""


class ResponseRewriter:
    """Rewrites whole response frames, for every connection.

    Args:
        addresses: the advertised addresses, read at each call.
        served: called for the version ranges of the share APIs, both ends inclusive.
    """

    __slots__ = ("_addresses", "_served")

    def __init__(
        self, addresses: BrokerAddresses, served: Callable[[], Mapping[int, tuple[int, int]]]
    ) -> None:
        self._addresses = addresses
        self._served = served

    def rewrite(self, api_key: int, api_version: int, frame: memoryview) -> list[bytes | memoryview]:
        """Return the frame to send, its length included, for a broker's `frame` without it.

        Raises:
            UnknownBrokers: it names brokers without a port; call again when they have one.
            PeerViolation: the frame is no such response.
        """
        try:
            if api_key == ApiKey.API_VERSIONS:
                return self._rewrite_api_versions(api_version, frame)
            correlation_id, message = codecs.decode_response(api_key, api_version, frame)
        except MalformedMessage as malformed:
            detail = f"API key {api_key} version {api_version}: {malformed}"
            raise PeerViolation("malformed_response", detail) from malformed
        rewritten = _ADDRESS_REWRITES[api_key](message, self._addresses)
        return codecs.encode_response(api_key, api_version, correlation_id, rewritten)

    def _rewrite_api_versions(self, api_version: int, frame: memoryview) -> list[bytes | memoryview]:
        error_code = int.from_bytes(frame[_ERROR_CODE_AT : _ERROR_CODE_AT + 2], "big", signed=True)
        # KIP-511: whatever version was asked for, this error is said in version 0.
        version = 0 if error_code == ErrorCode.UNSUPPORTED_VERSION else api_version
        correlation_id, message = codecs.decode_response(ApiKey.API_VERSIONS, version, frame)
        assert isinstance(message, ApiVersionsResponse)
        rewritten = rewrite_api_versions(message, self._served(), version)
        return codecs.encode_response(ApiKey.API_VERSIONS, version, correlation_id, rewritten)
