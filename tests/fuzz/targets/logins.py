"""What proves who somebody is: SASL as it passes, what brokers answer to kproxy's own logins, names in certificates."""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from kproxy.errors import PeerViolation
from kproxy.interception.sasl_watch import SaslWatch
from kproxy.security.logins import OAUTHBEARER, PLAIN, BearerLogin, PlainLogin, SaslLogin
from kproxy.security.principal import ANONYMOUS, UNKNOWN
from kproxy.security.principal_mapping import NoMatchingRule, PrincipalMapping
from kproxy.security.scram import LoginFailed, ScramLogin
from kproxy.security.subject_names import NameAttribute, subject_name
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from tests.fuzz.execution import Seed, Target
from tests.fuzz.parts import of_parts, parts_of
from tests.worlds.conversing import Conversation, request, response

HANDSHAKE, TOKEN, AGREED, CHALLENGED, REFUSED, CLIENT_BYTES, BROKER_BYTES = range(7)
SCRAM_256, SCRAM_512, GSSAPI = "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI"
REFUSAL: Final = 58
USER, PASSWORD, NONCE, SALT = "al=ice,", "secret", "fyko+d2lbbFgONRv9qkxdawL", b"salt of a user"
ITERATIONS: Final = 4_096


class _Watched:
    """A connection on which SASL passes, and what the broker has said so far."""

    def __init__(self) -> None:
        self.conversation = Conversation(sasl=SaslWatch(is_required=True))
        self.has_agreed = self.has_believed = False

    def say(self, number: int, part: bytes) -> None:
        """Let one end say something. Raises PeerViolation."""
        talk = self.conversation
        match number % 7:
            case 0:
                self.client(request(17, 1, 1, SaslHandshakeRequest(part.decode("latin-1"))))
            case 1:
                self.client(request(36, 2, 1, SaslAuthenticateRequest(part)))
            case 2:
                self.has_agreed = True
                talk.broker_sends(response(17, 1, 1, SaslHandshakeResponse()))
            case 3:
                self.has_believed = True
                talk.broker_sends(
                    response(
                        36, 2, 1, SaslAuthenticateResponse(auth_bytes=part, session_lifetime_ms=len(part))
                    )
                )
            case 4:
                talk.broker_sends(
                    response(36, 2, 1, SaslAuthenticateResponse(error_code=REFUSAL, error_message="no"))
                )
            case 5:
                talk.client_sends(part)
            case _:
                # Whatever these bytes are, they may be an agreement.
                self.has_agreed = self.has_believed = True
                talk.broker_sends(part)
        self.require_proof()

    def client(self, frame: bytes) -> None:
        """Let the client send a whole frame, which passes as it came unless the client is in the middle of another."""
        session = self.conversation.session
        is_whole = not session.requests.is_mid_frame
        passed = self.conversation.client_sends(frame)
        assert not is_whole or passed == frame, "a frame of SASL was changed"

    def require_proof(self) -> None:
        """Nobody is anybody before the broker has said so."""
        session = self.conversation.session
        proof = session.sasl.proof
        assert (session.principal is ANONYMOUS) == (proof is None)
        assert proof is None or (self.has_agreed and self.has_believed)
        assert (
            proof is None
            or proof.mechanism in {PLAIN, OAUTHBEARER, SCRAM_256, SCRAM_512}
            or (proof.principal == UNKNOWN)
        )


def inspect_sasl(data: bytes) -> None:
    """Parts of who says what."""
    watched = _Watched()
    with suppress(PeerViolation):
        for number, part in parts_of(data):
            watched.say(number, part)


def log_in(data: bytes) -> None:
    """A byte of the mechanism, and parts with the broker's challenges."""
    if not data:
        return
    login = _login(data[0])
    login.begin()
    said: list[bytes] = []
    with suppress(LoginFailed):
        for _, challenge in parts_of(data[1:]):
            said.append(challenge)
            if login.answer(challenge) is None:
                break
        else:
            return
        assert not isinstance(login, ScramLogin) or said[1].split(b",")[0] == _verifier(
            login.mechanism, said[0]
        )


def _login(number: int) -> SaslLogin:
    match number % 4:
        case 0:
            return PlainLogin(USER, PASSWORD)
        case 1:
            return BearerLogin("header.payload.signature")
        case other:
            return ScramLogin((SCRAM_256, SCRAM_512)[other - 2], USER, PASSWORD, NONCE)


def _verifier(mechanism: str, server_first: bytes) -> bytes:
    """Return what a server says last that knows the password (RFC 5802, section 3)."""
    name = {SCRAM_256: "sha256", SCRAM_512: "sha512"}[mechanism]
    nonce, salt, iterations = (part[2:] for part in server_first.split(b",")[:3])
    salted = hashlib.pbkdf2_hmac(name, PASSWORD.encode(), base64.b64decode(salt), int(iterations))
    bare = b"n=al=3Dice=2C,r=" + NONCE.encode()
    signed = b",".join((bare, server_first, b"c=biws,r=" + nonce))
    return b"v=" + base64.b64encode(hmac.digest(hmac.digest(salted, b"Server Key", name), signed, name))


_OIDS: Final = ("2.5.4.3", "2.5.4.11", "1.2.840.113549.1.9.1", "0.9.2342.19200300.100.1.25")
_RULES: Final = tuple(
    map(
        PrincipalMapping,
        (
            "DEFAULT",
            "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,RULE:^CN=(.*?),OU=(.*?)$/$1@$2/L,DEFAULT",
            r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U",
        ),
    )
)


def map_names(data: bytes) -> None:
    """A byte of the rules, and parts with the attributes of a certificate's subject; two make one relative name."""
    if not data:
        return
    attributes = [
        NameAttribute(_OIDS[number % 4], part.decode("utf-8", "replace"), part)
        for number, part in parts_of(data[1:])
    ]
    together = 1 + data[0] // 128
    written = subject_name([attributes[at : at + together] for at in range(0, len(attributes), together)])
    assert "\0" not in written
    # A comma, or a plus, that nothing escapes stands between two attributes, and nowhere else.
    assert len(re.findall(r"(?:\\.|[^\\,+])+", written, re.DOTALL)) == len(attributes)
    with suppress(NoMatchingRule):
        _RULES[data[0] % len(_RULES)].principal_of(written)


def _exchanges() -> Iterator[Seed]:
    claims = base64.urlsafe_b64encode(json.dumps({"sub": "alice", "exp": 1}).encode()).rstrip(b"=")
    bearer = b"n,a=alice,\x01auth=Bearer e30." + claims + b".c2ln\x01\x01"
    first = f"n,,n=alice,r={NONCE}".encode()
    server_first = f"r={NONCE}more,s={base64.b64encode(SALT).decode()},i={ITERATIONS}".encode()
    scram = [(first, server_first), (b"c=biws,r=...,p=proof", b"v=verifier")]
    exchanges: Sequence[tuple[str, Sequence[tuple[bytes, bytes]]]] = (
        (PLAIN, [(b"\0alice\0secret", b"")]),
        (PLAIN, [(b"alice\0alice\0secret", b"")]),
        (OAUTHBEARER, [(bearer, b"")]),
        (OAUTHBEARER, [(bearer, b'{"status":"invalid_token"}'), (b"\x01", b"")]),
        (SCRAM_256, scram),
        (SCRAM_512, [(first + b",tokenauth=true", server_first), scram[1]]),
        (GSSAPI, [(b"\x60\x82ticket", b"\x60more"), (b"", b"")]),
    )
    for mechanism, turns in exchanges:
        parts = [(HANDSHAKE, mechanism.encode()), (AGREED, b"")]
        for token, challenge in turns:
            parts += [(TOKEN, token), (CHALLENGED, challenge)]
        yield Seed(f"{mechanism}, {len(turns)}", of_parts(parts))
        yield Seed(f"{mechanism}, {len(turns)}, twice", of_parts(parts * 2))
        yield Seed(f"{mechanism}, {len(turns)}, refused", of_parts([*parts[:-1], (REFUSED, b"")]))
    asked = request(ApiKey.SASL_HANDSHAKE, 1, 1, SaslHandshakeRequest(PLAIN))
    agreed = response(ApiKey.SASL_HANDSHAKE, 1, 1, SaslHandshakeResponse())
    yield Seed("frames as they are", of_parts([(CLIENT_BYTES, asked), (BROKER_BYTES, agreed)]))


def _challenges() -> Iterator[Seed]:
    yield Seed("PLAIN", b"\x00" + of_parts([(0, b"")]))
    yield Seed("OAUTHBEARER", b"\x01" + of_parts([(0, b'{"status":"invalid_token"}'), (0, b"")]))
    for number, mechanism in ((2, SCRAM_256), (3, SCRAM_512)):
        first = f"r={NONCE}more,s={base64.b64encode(SALT).decode()},i={ITERATIONS}".encode()
        yield Seed(mechanism, bytes([number]) + of_parts([(0, first), (0, _verifier(mechanism, first))]))
        yield Seed(f"{mechanism}, refused", bytes([number]) + of_parts([(0, first), (0, b"e=other-error")]))


def _subjects() -> Iterator[Seed]:
    attributes = [(0, b"alice"), (1, b"ServiceUsers"), (2, b"a@b.c"), (3, b' org\\,+=<>#;" ')]
    for rules in (0, 1, 2, 129):
        yield Seed(f"a name by rules {rules}", bytes([rules]) + of_parts(attributes))


TARGETS: Final = (
    Target("sasl-inspection", inspect_sasl, _exchanges, executions=1_500, allowance_bytes=192 * 1024),
    Target("sasl-logins", log_in, _challenges, executions=400),
    Target("certificate-names", map_names, _subjects, allowance_bytes=512 * 1024),
)
