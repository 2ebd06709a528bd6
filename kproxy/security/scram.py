"""SCRAM (RFC 5802, RFC 7677) as Kafka speaks it: the messages, and the side that logs in.

Kafka prepares no user name and no password (SASLprep): it takes their UTF-8 as it is (`ScramFormatter.normalize`).
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.errors import KproxyError
from kproxy.wording import counted

HASHES: Final[Mapping[str, str]] = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""The hash function of each mechanism, by the mechanism's name."""

FEWEST_ITERATIONS: Final = 4_096
"""Kafka's `ScramMechanism.minIterations`: fewer would give the password to who only pretends to be a broker."""

MOST_ITERATIONS: Final = 65_536
"""Four times as many as Kafka's tools allow; to hash so often takes 40 ms, in which nobody else is served."""

MOST_CHALLENGE_BYTES: Final = 8 * 1024
"""Of a message of the server: three attributes, which take 100 times their bytes while they are taken apart."""

_GS2_HEADER: Final = "n,,"
_BEGINS: Final = re.compile(
    r"n,(a=(?P<authzid>[^,]+))?,(m=[^,]+,)?n=(?P<name>[^,]+),r=(?P<nonce>[^,]+)(?P<extensions>(,[^,]+)*)"
)
_SASL_NAME: Final = re.compile(r"(?:[^=,]|=2C|=3D)+")
_CHALLENGE: Final = re.compile(r"r=(?P<nonce>[^,]+),s=(?P<salt>[^,]+),i=(?P<iterations>[0-9]{1,9})(,[^,]+)*")


class LoginFailed(KproxyError):
    """What the other side of a SASL exchange said cannot be, or proves that it is not who it should be.

    Raised by logins; kproxy closes the connection, and the operator is told. The text has no secret.
    """


@dataclass(frozen=True, slots=True)
class ClientFirst:
    """What a client says first: who it is (`name`), and for whom it wants to act (empty for itself).

    A client that `has_token` names a delegation token instead of a user.
    """

    name: str
    authorization_id: str
    has_token: bool


def read_client_first(message: bytes) -> ClientFirst | None:
    """Return what the first message of a client says, None when it is none (`ScramMessages.ClientFirstMessage`)."""
    try:
        found = _BEGINS.fullmatch(message.decode())
    except UnicodeDecodeError:
        return None
    if found is None:
        return None
    name, authorization_id = found["name"], found["authzid"] or ""
    if not all(_SASL_NAME.fullmatch(part) for part in (name, authorization_id) if part):
        return None
    return ClientFirst(_plain_name(name), _plain_name(authorization_id), "tokenauth=" in found["extensions"])


class ScramLogin:
    """The client's side of one exchange; `SaslLogin`.

    Args:
        mechanism: a key of `HASHES`.
        username: as it is, without any escapes.
        password: as it is.
        nonce: printable ASCII without commas, that was never used before.
    """

    def __init__(self, mechanism: str, username: str, password: str, nonce: str) -> None:
        self.mechanism = mechanism
        self._hash = HASHES[mechanism]
        self._password = password.encode()
        self._nonce = nonce
        self._client_first_bare = f"n={_sasl_name(username)},r={nonce}"
        self._server_final: bytes | None = None

    def begin(self) -> bytes:
        """Return the client's first message."""
        return f"{_GS2_HEADER}{self._client_first_bare}".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        """Return the client's next message; None when the server has proved that it knows the password, too.

        Raises:
            LoginFailed: the message cannot be, or proves that the server does not.
        """
        if self._server_final is None:
            return self._final(challenge)
        if not hmac.compare_digest(challenge.partition(b",")[0], self._server_final):
            raise LoginFailed(
                "the broker did not prove that it knows the password itself: it may be an impostor"
            )
        return None

    def _final(self, challenge: bytes) -> bytes:
        if len(challenge) > MOST_CHALLENGE_BYTES:
            raise LoginFailed(
                f"the broker's first message has {counted(len(challenge), 'byte')}, "
                f"{MOST_CHALLENGE_BYTES} at most are expected"
            )
        server_first = challenge.decode(errors="replace")
        found = _CHALLENGE.fullmatch(server_first)
        if found is None or not found["nonce"].startswith(self._nonce) or found["nonce"] == self._nonce:
            raise LoginFailed("the broker's first message is none of SCRAM's, or answers somebody else's")
        salted = self._salted_password(_bytes_of(found["salt"]), _iterations(found["iterations"]))
        without_proof = f"c={b64encode(_GS2_HEADER.encode()).decode()},r={found['nonce']}"
        signed = f"{self._client_first_bare},{server_first},{without_proof}".encode()
        client_key = self._hmac(salted, b"Client Key")
        signature = self._hmac(hashlib.new(self._hash, client_key).digest(), signed)
        proof = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
        self._server_final = b"v=" + b64encode(self._hmac(self._hmac(salted, b"Server Key"), signed))
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def _salted_password(self, salt: bytes, iterations: int) -> bytes:
        return hashlib.pbkdf2_hmac(self._hash, self._password, salt, iterations)

    def _hmac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self._hash)


def _iterations(text: str) -> int:
    if not FEWEST_ITERATIONS <= int(text) <= MOST_ITERATIONS:
        allowed = f"{FEWEST_ITERATIONS} to {MOST_ITERATIONS}"
        raise LoginFailed(f"the broker's iteration count is {text}, expected {allowed}")
    return int(text)


def _bytes_of(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise LoginFailed("the broker's salt is not in base64") from None


def _sasl_name(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _plain_name(sasl_name: str) -> str:
    return sasl_name.replace("=2C", ",").replace("=3D", "=")
