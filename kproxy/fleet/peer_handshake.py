"""The two ends of what is said before a connection between two processes serves its purpose. Bytes in, bytes out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from kproxy.errors import PeerRefused, UnreadableFleetData
from kproxy.fleet.data_format import require_text
from kproxy.fleet.peer_hello import FleetIdentity, Hello, hello_of, refuse_stranger, require_nonce
from kproxy.fleet.peer_preamble import (
    BY_DIALLER,
    BY_LISTENER,
    MAGIC,
    FrameReader,
    Kind,
    frame_of,
    is_proof,
    proof_of,
    read_message,
    refusal_in,
)
from kproxy.wire.messages.peer_challenge import PeerChallenge
from kproxy.wire.messages.peer_hello import PeerHello
from kproxy.wire.messages.peer_proof import PeerProof
from kproxy.wire.messages.peer_welcome import PeerWelcome

_SAME_FILE: Final = "all processes of a fleet need the same kproxy.fleet.secret.file"


@dataclass(slots=True)
class Credentials:
    """Who a process is, and what it proves it with: `secret`, or nothing; `nonce` was never used before."""

    identity: FleetIdentity
    nonce: bytes
    secret: bytes | None = field(default=None, repr=False)


class ListenerHandshake:
    """The end that listens. Done when `welcomed` is there."""

    __slots__ = ("_challenge", "_own", "_reader", "hello", "welcomed")

    def __init__(self, own: Credentials) -> None:
        self._own = own
        self._reader = FrameReader(expects_magic=True)
        self._challenge: PeerChallenge | None = None
        self.hello: Hello | None = None
        """Who dials, as it says: not proved yet."""
        self.welcomed: Hello | None = None
        """Who dials, once that is proved, and it belongs to the same fleet."""

    def receive(self, data: bytes) -> bytes:
        """Take what came; return what to send. Raises PeerRefused."""
        self._reader.receive(data)
        answer = b""
        while self.welcomed is None and (frame := self._reader.take_frame()) is not None:
            answer += self._answer(*frame)
        return answer

    def take_rest(self) -> bytes:
        """Return what came behind the preamble, once."""
        return self._reader.take_rest()

    def _answer(self, kind: int, body: bytes) -> bytes:
        if self.hello is None and kind == Kind.HELLO:
            self.hello = _read_hello(body)
            return self._welcome(self.hello) if self._own.secret is None else self._ask(self.hello)
        if self.hello is not None and kind == Kind.PROOF:
            self._check(read_message(body, PeerProof).proof, self.hello)
            return self._welcome(self.hello)
        raise _unexpected(kind)

    def _ask(self, hello: Hello) -> bytes:
        own = self._own
        assert own.secret is not None
        challenge = PeerChallenge(own.identity.token, own.identity.name, own.nonce)
        challenge.proof = proof_of(own.secret, BY_LISTENER, hello, challenge)
        self._challenge = challenge
        return frame_of(Kind.CHALLENGE, challenge)

    def _check(self, proof: bytes, hello: Hello) -> None:
        assert self._own.secret is not None
        assert self._challenge is not None
        if not is_proof(proof, proof_of(self._own.secret, BY_DIALLER, hello, self._challenge)):
            raise PeerRefused("secret", f"it does not know the secret: {_SAME_FILE}")

    def _welcome(self, hello: Hello) -> bytes:
        refuse_stranger(self._own.identity, hello.identity)
        self.welcomed = hello
        return frame_of(Kind.WELCOME, PeerWelcome(self._own.identity.token, self._own.identity.name))


class DiallerHandshake:
    """The end that dials. Done when `is_welcome`.

    Args:
        own: who this process is.
        hello: what it says first, with the nonce of `own`.
        expected_token: the process that is to be there; empty for any one.
    """

    __slots__ = ("_expected_token", "_hello", "_is_proved", "_own", "_reader", "is_welcome")

    def __init__(self, own: Credentials, hello: Hello, *, expected_token: str = "") -> None:
        self._own = own
        self._hello = hello
        self._expected_token = expected_token
        self._reader = FrameReader(expects_magic=False)
        self._is_proved = own.secret is None
        self.is_welcome = False
        """Whether what follows serves the purpose of the connection."""

    def begin(self) -> bytes:
        """Return what to send first."""
        return MAGIC + frame_of(Kind.HELLO, self._hello.message())

    def receive(self, data: bytes) -> bytes:
        """Take what came; return what to send. Raises PeerRefused."""
        self._reader.receive(data)
        answer = b""
        while not self.is_welcome and (frame := self._reader.take_frame()) is not None:
            answer += self._answer(*frame)
        return answer

    def take_rest(self) -> bytes:
        """Return what came behind the preamble, once."""
        return self._reader.take_rest()

    def _answer(self, kind: int, body: bytes) -> bytes:
        if kind == Kind.CHALLENGE:
            return self._prove(read_message(body, PeerChallenge))
        if kind == Kind.WELCOME:
            self._enter(read_message(body, PeerWelcome))
            return b""
        raise refusal_in(body, "it") if kind == Kind.REFUSAL else _unexpected(kind)

    def _prove(self, challenge: PeerChallenge) -> bytes:
        secret = self._own.secret
        if secret is None:
            raise PeerRefused("secret", f"it asks for a secret, and this process has none: {_SAME_FILE}")
        _readable(lambda: require_nonce(challenge.nonce))
        if not is_proof(challenge.proof, proof_of(secret, BY_LISTENER, self._hello, challenge)):
            raise PeerRefused("secret", f"it does not know the secret: {_SAME_FILE}")
        self._require_token(challenge.token, challenge.name)
        self._is_proved = True
        return frame_of(Kind.PROOF, PeerProof(proof_of(secret, BY_DIALLER, self._hello, challenge)))

    def _enter(self, welcome: PeerWelcome) -> None:
        if not self._is_proved:
            raise PeerRefused("secret", f"it asks for no secret, and this process has one: {_SAME_FILE}")
        self._require_token(welcome.token, welcome.name)
        self.is_welcome = True

    def _require_token(self, token: str, name: str) -> None:
        _readable(lambda: require_text(token, "token"))
        if self._expected_token and token != self._expected_token:
            raise PeerRefused("another_process", f"another process answers there: {name[:255]}")


def _read_hello(body: bytes) -> Hello:
    message = read_message(body, PeerHello)
    try:
        return hello_of(message)
    except UnreadableFleetData as error:
        raise PeerRefused("malformed", f"what it says cannot be read: {error}") from error


def _readable(read: Callable[[], object]) -> None:
    try:
        read()
    except UnreadableFleetData as error:
        raise PeerRefused("malformed", f"what it says cannot be read: {error}") from error


def _unexpected(kind: int) -> PeerRefused:
    return PeerRefused("malformed", f"it sent a frame of kind {kind}, which nobody expected")
