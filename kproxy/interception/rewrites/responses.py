"""The way from a broker's frame to the frame that leaves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import MalformedMessage, PeerViolation
from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.interception.rewrites.address_rewrites import ADDRESS_REWRITES, advertised_addresses
from kproxy.interception.rewrites.api_versions import rewrite_api_versions
from kproxy.interception.turns.turn_share import work_of_frame
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.frames import LENGTH_BYTES
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.metadata_frames import MetadataBrokers
from kproxy.wire.produce_endpoints import may_name_brokers

_BODY_AT: Final = 4
"""In an ApiVersions response: behind the correlation id. It begins with the error code, in every version."""

_WALKED_BYTES_OF_WORK: Final = 64
_WORK_OF_BROKER: Final = 5

_MOST_KEPT_ANSWERS: Final = 64
"""A cluster gives a handful of different ones, its clients asking in a few versions."""


@dataclass(frozen=True, slots=True)
class VersionsAnswer:
    """A rewritten ApiVersions response, and what it says. Ranges are (lowest, highest) by API key, both inclusive."""

    buffers: list[bytes | memoryview]
    """The frame; where the same answer serves many, all of it but the correlation id."""
    upstream: Mapping[int, tuple[int, int]]
    """What the broker on the other side of this connection serves."""
    advertised: Mapping[int, tuple[int, int]]
    """What this client was told; empty when the answer was an error."""


def _spend_nothing(work: int) -> None:
    """Count for nobody what was done."""


class ResponseRewriter:
    """Rewrites whole response frames, for every connection.

    Args:
        addresses: the advertised addresses, read at each call.
        served: called for the version ranges of the share APIs, both ends inclusive.
        topic_name: called for the name of the topic with an id; None for one that is not known.
        is_feature_on: called for whether `share.version` has a level.
    """

    __slots__ = ("_is_feature_on", "_served", "_versions_answers", "addresses", "topic_name")

    def __init__(
        self,
        addresses: BrokerAddresses,
        served: Callable[[], Mapping[int, tuple[int, int]]],
        topic_name: Callable[[bytes], str | None] = lambda _topic_id: None,
        is_feature_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self.addresses = addresses
        self._served, self._is_feature_on = served, is_feature_on
        self._versions_answers: dict[tuple[object, ...], VersionsAnswer] = {}
        self.topic_name = topic_name

    def rewrite(
        self,
        api_key: int,
        api_version: int,
        frame: memoryview,
        *,
        spend: Callable[[int], None] = _spend_nothing,
    ) -> list[bytes | memoryview]:
        """Return the frame to send, its length included, for a broker's `frame` without it.

        Of Produce and Metadata little is looked into, as a rule, and how much shows only here: `spend` is told, in
        units of `TurnShare`, of what goes beyond a small frame's.

        Raises:
            UnknownBrokers: it names brokers without a port; call again when they have one.
            PeerViolation: the frame is no such response.
        """
        if api_key == ApiKey.PRODUCE:
            spend(len(frame) // _WALKED_BYTES_OF_WORK)
            if not may_name_brokers(frame, api_version):
                return [b"".join((len(frame).to_bytes(LENGTH_BYTES, "big"), frame))]
            spend(work_of_frame(len(frame)))
        elif api_key == ApiKey.METADATA and (
            readdressed := self._readdressed_metadata(api_version, frame, spend)
        ):
            return readdressed
        correlation_id, message = _decode(api_key, api_version, frame)
        return codecs.encode_response(api_key, api_version, correlation_id, self.readdress(api_key, message))

    def _readdressed_metadata(
        self, api_version: int, frame: memoryview, spend: Callable[[int], None]
    ) -> list[bytes | memoryview]:
        """Return the frame to send, only its brokers made anew; empty when there is none."""
        try:
            named = MetadataBrokers.of(frame, api_version)
        except MalformedMessage as malformed:
            raise _malformed_response(ApiKey.METADATA, api_version, malformed) from malformed
        if not named.brokers:
            return []
        spend(_WORK_OF_BROKER * len(named.brokers))
        buffers = named.readdressed(advertised_addresses(named.brokers, self.addresses))
        return [sum(map(len, buffers)).to_bytes(LENGTH_BYTES, "big"), *buffers]

    def readdress(self, api_key: int, message: Message) -> Message:
        """Return `message`, a response of `api_key`, with advertised addresses. Raises UnknownBrokers."""
        return ADDRESS_REWRITES[api_key](message, self.addresses)

    def rewrite_api_versions(self, api_version: int, frame: memoryview) -> VersionsAnswer:
        """Do the same for an ApiVersions response, and tell what it says. Raises PeerViolation.

        Equal answers are made once: connections that were told the same share what they remember of it, which is
        most of what an idle one needs.
        """
        served, is_feature_on = self._served(), self._is_feature_on()
        key = (api_version, is_feature_on, bytes(frame[_BODY_AT:]), *served.items())
        answer = self._versions_answers.get(key)
        if answer is None:
            answer = _versions_answer(api_version, frame, served, is_feature_on=is_feature_on)
            if len(self._versions_answers) >= _MOST_KEPT_ANSWERS:
                self._versions_answers.clear()
            self._versions_answers[key] = answer
        length, body = answer.buffers
        return replace(answer, buffers=[length, frame[:_BODY_AT], body])


def _versions_answer(
    api_version: int, frame: memoryview, served: Mapping[int, tuple[int, int]], *, is_feature_on: bool
) -> VersionsAnswer:
    error_code = int.from_bytes(frame[_BODY_AT : _BODY_AT + 2], "big", signed=True)
    # KIP-511: whatever version was asked for, this error is said in version 0.
    version = 0 if error_code == ErrorCode.UNSUPPORTED_VERSION else api_version
    correlation_id, message = _decode(ApiKey.API_VERSIONS, version, frame)
    assert isinstance(message, ApiVersionsResponse)
    upstream = _ranges(message)
    rewritten = rewrite_api_versions(message, served, version, is_feature_on=is_feature_on)
    encoded = b"".join(codecs.encode_response(ApiKey.API_VERSIONS, version, correlation_id, rewritten))
    return VersionsAnswer(
        buffers=[encoded[:LENGTH_BYTES], encoded[LENGTH_BYTES + _BODY_AT :]],
        upstream=upstream,
        advertised={} if rewritten.error_code else _ranges(rewritten),
    )


def _decode(api_key: int, api_version: int, frame: memoryview) -> tuple[int, Message]:
    try:
        return codecs.decode_response(api_key, api_version, frame)
    except MalformedMessage as malformed:
        raise _malformed_response(api_key, api_version, malformed) from malformed


def _malformed_response(api_key: int, api_version: int, malformed: MalformedMessage) -> PeerViolation:
    return PeerViolation("malformed_response", f"API key {api_key} version {api_version}: {malformed}")


def _ranges(response: ApiVersionsResponse) -> dict[int, tuple[int, int]]:
    return {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}
