"""One connection to one broker: a request, then its response, and no byte more than that."""

import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from kproxy import __version__
from kproxy.clients.cluster.access import IN_PLAINTEXT, ClusterAccess, authenticate
from kproxy.clients.cluster.deadline import Deadline
from kproxy.clients.failures import CannotConnect, ClientFailed
from kproxy.error_codes import ErrorCode
from kproxy.errors import MalformedMessage, PeerViolation
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.frames import LENGTH_BYTES, refuse_response_length
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wording import counted

R = TypeVar("R", bound=Message)

CLIENT_ID: Final = "kproxy-groups"
MOST_RESPONSE_BYTES: Final = 104_857_600
"""What a response may have, inclusive: as much as a broker takes for a request (`socket.request.max.bytes`)."""
SECURITY_PROTOCOL: Final = "security.protocol (--command-config; upstream.security.protocol of kproxy's own)"
_CONNECT_TIMEOUT_S: Final = 5.0
_READ_BYTES: Final = 1 << 20
_API_VERSIONS_VERSION: Final = 3
"""The oldest in which a client names itself; Kafka answers a version that it does not know in version 0 (KIP-511)."""
_NEWEST: Final = 1 << 15


class ConnectionLost(CannotConnect):
    """A broker takes no connection, or closed it before it answered."""


@dataclass(frozen=True, slots=True, order=True)
class BrokerAddress:
    """Where a broker listens. `host` is a name or an address, without brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class BrokerConnection:
    """An open connection; whoever made it closes it. Any error closes it, too."""

    def __init__(
        self, address: BrokerAddress, deadline: Deadline, access: ClusterAccess = IN_PLAINTEXT
    ) -> None:
        """Connect, learn what the broker speaks, and authenticate.

        Raises as `ask`, CannotConnect when there is no TLS with the broker, NotAllowed when it does not let this client
        in.
        """
        self.address: Final = address
        self._deadline = deadline
        self._access = access
        self._correlation_id = 0
        self._version_ranges: dict[int, tuple[int, int]] = {}
        self._socket = _dialed(address, deadline)
        self.is_open = True
        try:
            self._begin()
        except ClientFailed:
            self.close()
            raise

    @property
    def peer(self) -> str:
        """Where the broker listens, for people."""
        return str(self.address)

    def close(self) -> None:
        """Close it. May be called again."""
        self.is_open = False
        self._socket.close()

    def ask(self, request: Message, response_class: type[R], *, oldest: int = 0, newest: int = _NEWEST) -> R:
        """Return the response to `request`, in the newest version from `oldest` to `newest` that both sides know.

        Raises:
            ConnectionLost: the broker closed the connection, or does not answer before the deadline.
            ClientFailed: it does not offer the API, or its answer is none.
        """
        api_key = ApiKey(type(request).SCHEMA.api_key or 0)
        return self._exchange(request, response_class, self._version_of(api_key, oldest, newest))

    def _begin(self) -> None:
        if self._access.tls is not None:
            self._socket = self._secured(self._access.tls)
        self._learn_versions()
        if self._access.new_login is not None:
            authenticate(self, self._access.new_login())

    def _secured(self, context: ssl.SSLContext) -> ssl.SSLSocket:
        try:
            self._limit_to_deadline()
            # A certificate has names without the dot that ends one which is complete.
            return context.wrap_socket(self._socket, server_hostname=self.address.host.removesuffix("."))
        except TimeoutError as late:
            raise ConnectionLost(f"{self.address}: the TLS handshake took too long") from late
        except (OSError, ValueError) as failure:
            raise CannotConnect(f"{self.address}: {self._words_of(failure)}") from failure

    def _words_of(self, failure: Exception) -> str:
        return self._access.words_of(failure, self.address.host)

    def _learn_versions(self) -> None:
        request = ApiVersionsRequest(CLIENT_ID, __version__)
        answer = self._exchange(request, ApiVersionsResponse, _API_VERSIONS_VERSION)
        if answer.error_code not in {ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION}:
            raise ClientFailed(f"{self.address} answered ApiVersions with error {answer.error_code}")
        self._version_ranges = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}

    def _version_of(self, api_key: ApiKey, oldest: int, newest: int) -> int:
        ours = codecs.valid_versions(api_key)
        theirs = self._version_ranges.get(api_key, (0, -1))
        version = min(ours[1], theirs[1], newest)
        if version < max(ours[0], theirs[0], oldest):
            raise ClientFailed(
                f"{self.address} does not offer {api_key.kafka_name} in a version that administers share groups: "
                "Kafka does from 4.2 on, and so does kproxy in front of an older cluster"
            )
        return version

    def _exchange(self, request: Message, response_class: type[R], version: int) -> R:
        try:
            return self._answered(request, response_class, version)
        except PeerViolation as violation:
            self.close()
            raise ClientFailed(
                f"{self.address} is no Kafka broker{self._kind}: {violation.detail}"
            ) from violation
        except MalformedMessage as failure:
            self.close()
            raise ClientFailed(f"{self.address} answered what is no Kafka response: {failure}") from failure
        except ClientFailed:
            self.close()
            raise

    def _answered(self, request: Message, response_class: type[R], version: int) -> R:
        api_key = ApiKey(type(request).SCHEMA.api_key or 0)
        self._correlation_id += 1
        frame = b"".join(codecs.encode_request(api_key, version, self._correlation_id, CLIENT_ID, request))
        body = self._sent_and_answered(frame, api_key)
        correlation_id, response = codecs.decode_response(api_key, version, body)
        if correlation_id != self._correlation_id or not isinstance(response, response_class):
            raise ClientFailed(f"{self.address} answered another request than {api_key.kafka_name}")
        return response

    def _sent_and_answered(self, frame: bytes, api_key: ApiKey) -> memoryview:
        try:
            self._limit_to_deadline()
            self._socket.sendall(frame)
            length_bytes = self._received(LENGTH_BYTES)
            length = int.from_bytes(length_bytes, signed=True)
            refuse_response_length(length_bytes, length)
            if length > MOST_RESPONSE_BYTES:
                raise ClientFailed(
                    f"{self.address} announced a response of {counted(length, 'byte')} to {api_key.kafka_name}; "
                    f"at most {MOST_RESPONSE_BYTES} are taken"
                )
            return self._received(length)
        except TimeoutError as late:
            raise ConnectionLost(
                f"{self.address} had not answered {api_key.kafka_name} "
                f"when the {self._deadline.timeout_ms} ms of --timeout were over"
            ) from late
        except ssl.SSLError as failure:
            # In TLSv1.3 a certificate is judged after the handshake.
            raise CannotConnect(f"{self.address}: {self._words_of(failure)}") from failure
        except OSError as failure:
            raise ConnectionLost(
                f"{self.address} closed the connection before it answered {api_key.kafka_name} "
                f"({_said(failure)}){self._advice}"
            ) from failure

    @property
    def _kind(self) -> str:
        return "" if self._access.tls else " in plaintext"

    @property
    def _advice(self) -> str:
        """What brokers that are spoken to in another way than they expect leave to be guessed."""
        lacking = ["SASL"] * (self._access.new_login is None) + ["TLS"] * (self._access.tls is None)
        if not lacking:
            return ""
        return f": it may expect {' or '.join(lacking)}, of which {SECURITY_PROTOCOL} says nothing"

    def _received(self, count: int) -> memoryview:
        """Return exactly `count` bytes; memory grows with what has come, not with what was announced."""
        received = bytearray()
        while len(received) < count:
            self._limit_to_deadline()
            more = self._socket.recv(min(_READ_BYTES, count - len(received)))
            if not more:
                raise ConnectionResetError("end of stream")
            received += more
        return memoryview(received)

    def _limit_to_deadline(self) -> None:
        remaining_s = self._deadline.remaining_s
        if not remaining_s:
            raise TimeoutError
        self._socket.settimeout(remaining_s)


def _dialed(address: BrokerAddress, deadline: Deadline) -> socket.socket:
    """Return a connected socket."""
    timeout_s = min(_CONNECT_TIMEOUT_S, deadline.remaining_s) or 0.001
    try:
        dialed = socket.create_connection((address.host, address.port), timeout=timeout_s)
    except OSError as failure:
        raise ConnectionLost(f"cannot reach {address}: {_said(failure)}") from failure
    except UnicodeError as failure:
        raise ConnectionLost(f"cannot reach {address}: no host has such a name") from failure
    with suppress(OSError):
        dialed.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return dialed


def _said(failure: OSError) -> str:
    return failure.strerror or str(failure) or type(failure).__name__
