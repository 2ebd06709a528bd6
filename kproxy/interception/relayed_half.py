"""What is left of a request for the broker when kproxy has answered its part, in the version that the broker has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kproxy.interception.translations import OWN_HIGHEST, TopicName, Translation, translate
from kproxy.wire import codecs
from kproxy.wire.codecs import DecodedRequest, Message

Merge: TypeAlias = Callable[[Message], Message]
"""Makes the whole answer of the broker's, as the client's version has it."""


@dataclass(frozen=True, slots=True)
class RelayedHalf:
    """What a broker is asked for `request`, and the one answer for its client when the broker's has come.

    `merge` is given the broker's answer as the client's version has it, and returns the whole answer. An API that is
    translated and answered together takes one request in any version.
    """

    request: DecodedRequest
    message: Message
    broker_version: int
    topic_name: TopicName
    merge: Merge

    def frame(self) -> list[bytes | memoryview]:
        """Return what the broker is asked."""
        (asked,) = self._translation().requests
        request = self.request
        return codecs.encode_request(
            request.api_key, self.broker_version, request.correlation_id, request.client_id, asked
        )

    def answer(self, frame: memoryview) -> list[bytes | memoryview]:
        """Return what the client gets for the broker's answer. Raises MalformedMessage."""
        request, merged = self.request, self.merge(self.told(frame))
        return codecs.encode_response(request.api_key, request.api_version, request.correlation_id, merged)

    def told(self, frame: bytes | memoryview) -> Message:
        """Return the broker's answer as the client's version has it. Raises MalformedMessage."""
        _, response = codecs.decode_response(self.request.api_key, self.broker_version, frame)
        return self._translation().merge([response])

    def _translation(self) -> Translation:
        request = self.request
        if self.broker_version < request.api_version and request.api_key in OWN_HIGHEST:
            return translate(self.message, self.broker_version, self.topic_name)
        return Translation([self.message], lambda responses: responses[0])
