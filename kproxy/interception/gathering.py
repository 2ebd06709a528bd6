"""Several responses of a broker that become one for the client."""

from functools import partial

from kproxy.interception.request_decisions import Translated
from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.translations import Translation
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.frames import RequestHead


class Gathering:
    """Collects the answers to a translated request.

    Args:
        head: of the client's request; its version is that of the answer.
        broker_version: the version in which the broker was asked, and answers.
        translation: what it was asked.
        rewriter: for answers that name brokers.
    """

    __slots__ = ("_broker_version", "_head", "_responses", "_rewriter", "_translation")

    def __init__(
        self, head: RequestHead, broker_version: int, translation: Translation, rewriter: ResponseRewriter
    ) -> None:
        self._head = head
        self._broker_version = broker_version
        self._translation = translation
        self._rewriter = rewriter
        self._responses: dict[int, Message] = {}

    def take(self, position: int, frame: memoryview) -> list[bytes | memoryview]:
        """Take the broker's answer to request number `position`; return what to send: nothing before the last one.

        Taking the same answer twice is harmless: it happens when a port had to be bound first.

        Raises:
            UnknownBrokers: the answer names brokers without a port; call again when they have one.
            MalformedMessage, PeerViolation: the frame is no such response.
        """
        if self._translation.keeps_answer:
            return self._rewriter.rewrite(self._head.api_key, self._broker_version, frame)
        _, self._responses[position] = codecs.decode_response(self._head.api_key, self._broker_version, frame)
        if position + 1 < len(self._translation.requests):
            return []
        merged = self._translation.merge([self._responses[index] for index in range(position + 1)])
        if self._head.api_key in {ApiKey.FIND_COORDINATOR, ApiKey.METADATA}:
            merged = self._rewriter.readdress(self._head.api_key, merged)
        return codecs.encode_response(*self._head, merged)


def questions(
    head: RequestHead, translated: Translated, rewriter: ResponseRewriter
) -> tuple[list[ResponseSlot], list[bytes | memoryview]]:
    """Return what an older broker is asked with, and the places of its answers: the last one has the whole answer."""
    gathering = Gathering(head, translated.broker_version, translated.translation, rewriter)
    slots: list[ResponseSlot] = []
    frames: list[bytes | memoryview] = []
    for position, message in enumerate(translated.translation.requests):
        slot = ResponseSlot(SlotKind.REWRITE, *head)
        slot.rewrite = partial(gathering.take, position)
        slots.append(slot)
        frames += codecs.encode_request(
            head.api_key, translated.broker_version, head.correlation_id, translated.client_id, message
        )
    return slots, frames
