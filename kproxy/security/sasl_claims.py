"""Who a client says it is, in the tokens of the SASL mechanisms that Kafka has. Whether it is true the broker says.

Where brokers could read a message in another way than it is read here, nothing is believed: the principal is UNKNOWN.
Kafka's own rule makes a principal of the name that was proven (`DefaultKafkaPrincipalBuilder`); a broker with a
`principal.builder.class` of its own may make another one.
"""

import json
import re
from base64 import urlsafe_b64decode
from binascii import Error as NotBase64
from typing import Final

from kproxy.security.logins import OAUTHBEARER, PLAIN
from kproxy.security.principal import UNKNOWN, USER, Principal
from kproxy.security.scram import HASHES, read_client_first

MOST_TOKEN_BYTES: Final = 64 * 1024
"""Of a message with a password or a token of OAuth; Kafka's own clients take no larger ones from their endpoints."""

MOST_SCRAM_BYTES: Final = 8 * 1024
"""Of a message of SCRAM: a few attributes, which take 100 times their bytes while they are taken apart."""

_PLAIN_PARTS: Final = 3
_JWS_PARTS: Final = 3
_BEARER: Final = re.compile(
    rb"n,(a=(?P<authzid>[^,]+))?,\x01auth=(?i:bearer) +(?P<token>[-_.~+/A-Za-z0-9]+=*)\x01"
    rb"(?P<more>([A-Za-z]+=[^\x01]*\x01)*)\x01"
)
_REFUSED: Final = b"\x01"


def legible(mechanism: str, message: bytes) -> bytes:
    """Return `message`, a token of the client, or nothing where it is larger than any that is looked into."""
    most = MOST_SCRAM_BYTES if mechanism in HASHES else MOST_TOKEN_BYTES
    return message if len(message) <= most else b""


def claim_in(mechanism: str, message: bytes, *, sub_claim_name: str) -> Principal | None:
    """Return who `message` of a client says that it is.

    UNKNOWN when that cannot be told, or it is more than `legible`; None when this message does not say, because an
    earlier one does.

    Args:
        mechanism: as SaslHandshake named it.
        message: one token of the exchange. Secret.
        sub_claim_name: the claim of OAUTHBEARER's tokens that names the principal
            (`sasl.oauthbearer.sub.claim.name` of the brokers).
    """
    if message and not legible(mechanism, message):
        return UNKNOWN
    if mechanism == PLAIN:
        return _claim_of_plain(message)
    if mechanism in HASHES:
        return _claim_of_scram(message)
    if mechanism == OAUTHBEARER:
        return _claim_of_bearer(message, sub_claim_name)
    return UNKNOWN


def _claim_of_plain(message: bytes) -> Principal:
    parts = message.split(b"\0", _PLAIN_PARTS)
    if len(parts) != _PLAIN_PARTS or parts[0] not in {b"", parts[1]}:
        return UNKNOWN
    return _user(parts[1])


def _claim_of_scram(message: bytes) -> Principal | None:
    first = read_client_first(message)
    if first is None:
        return None
    # A delegation token stands for its owner, whom only brokers know (KIP-48).
    if first.has_token or first.authorization_id not in {"", first.name}:
        return UNKNOWN
    return Principal(USER, first.name)


def _claim_of_bearer(message: bytes, sub_claim_name: str) -> Principal | None:
    if message == _REFUSED:
        return None
    found = _BEARER.fullmatch(message)
    if found is None or b"auth=" in found["more"]:
        return UNKNOWN
    principal = _subject_of(found["token"], sub_claim_name)
    if found["authzid"] is not None and found["authzid"] != principal.name.encode():
        return UNKNOWN
    return principal


def _subject_of(token: bytes, sub_claim_name: str) -> Principal:
    parts = token.split(b".")
    if len(parts) != _JWS_PARTS:
        return UNKNOWN
    try:
        payload = urlsafe_b64decode(parts[1] + b"=" * (-len(parts[1]) % 4))
        claims = json.loads(payload, object_pairs_hook=_each_once)
    except (NotBase64, ValueError, RecursionError):
        return UNKNOWN
    subject = claims.get(sub_claim_name) if isinstance(claims, dict) else None
    # Brokers that verify signatures trim the name, and those with unsecured tokens do not.
    if not isinstance(subject, str) or not subject or subject != subject.strip():
        return UNKNOWN
    return Principal(USER, subject)


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _user(name: bytes) -> Principal:
    try:
        return Principal(USER, name.decode()) if name else UNKNOWN
    except UnicodeDecodeError:
        return UNKNOWN
