"""Conversations of a client, kproxy and a broker on a `ClientSession`, written out as bytes."""

import struct
from collections.abc import Collection
from typing import Any

from kproxy.interception.broker_addresses import AdvertisedAddress, BrokerAddresses
from kproxy.interception.client_session import ClientSession
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import RoutingTable
from kproxy.interception.sasl_watch import SaslWatch
from kproxy.interception.topic_changes import TopicChange
from kproxy.interception.turns.turn_share import CommonShare
from kproxy.wire import codecs

SERVED = {76: (1, 1), 78: (1, 2), 79: (1, 2)}


def joined(buffers: list[bytes | memoryview]) -> bytes:
    return b"".join(buffers)


def request(api_key: int, version: int, correlation_id: int, message: Any) -> bytes:
    return joined(codecs.encode_request(api_key, version, correlation_id, "client", message))


def response(api_key: int, version: int, correlation_id: int, message: Any) -> bytes:
    return joined(codecs.encode_response(api_key, version, correlation_id, message))


def opaque_request(correlation_id: int) -> bytes:
    return struct.pack(">ihhi", 12, 12, 4, correlation_id) + b"beat"


def opaque_response(correlation_id: int) -> bytes:
    return struct.pack(">ii", 6, correlation_id) + b"ok"


class Conversation:
    """A session whose kproxy has a port for broker 1."""

    def __init__(
        self,
        topic_names: dict[bytes, str] | None = None,
        *,
        served: dict[int, tuple[int, int]] = SERVED,
        max_request_bytes: int = 1 << 20,
        share_group_ids: Collection[str] = (),
        sasl: SaslWatch | None = None,
        share: CommonShare | None = None,
    ) -> None:
        self.addresses = BrokerAddresses({1: AdvertisedAddress("kproxy", 19101)})
        self.routes = RoutingTable(served, share_group_ids)
        self.counts: dict[tuple[int, int], int] = {}
        self.topic_changes: list[TopicChange] = []
        rewriter = ResponseRewriter(self.addresses, lambda: self.routes.served, (topic_names or {}).get)
        self.session = ClientSession(
            self.routes,
            rewriter,
            max_request_bytes=max_request_bytes,
            request_counts=self.counts,
            on_topic_change=self.topic_changes.append,
            sasl=sasl,
            share=share,
        )

    def client_sends(self, data: bytes) -> bytes:
        """Return what goes to the broker."""
        self.session.receive_from_client(data)
        while self.session.is_paused:
            self.session.go_on()
        return joined(self.session.take_for_broker())

    def broker_sends(self, data: bytes) -> bytes:
        """Return what goes to the client."""
        self.session.receive_from_broker(data)
        while self.session.responses.awaits_turn:
            self.session.go_on()
        return joined(self.session.take_for_client())
