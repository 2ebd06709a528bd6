"""Records of TLSv1.3 made by hand, with the keys that a client's own TLS wrote down: Python's sends no KeyUpdate."""

import struct
from pathlib import Path
from typing import Self

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

_DATA, _HANDSHAKE = 23, 22
_HASH_BYTES, _KEY_BYTES, _NONCE_BYTES = 48, 32, 12


class ForgedRecords:
    """What a client sends behind its handshake, with TLS_AES_256_GCM_SHA384; its own TLS sends nothing any more."""

    def __init__(self, secret: bytes) -> None:
        self._take(secret)

    @classmethod
    def of(cls, key_log: Path) -> Self:
        """Return those of the only connection in a file of keys (`SSLContext.keylog_filename`)."""
        (secret,) = (
            line.split()[2]
            for line in key_log.read_text("ascii").splitlines()
            if line.startswith("CLIENT_TRAFFIC_SECRET_0 ")
        )
        return cls(bytes.fromhex(secret))

    def data(self, plaintext: bytes) -> bytes:
        """Return a record of application data."""
        return self._record(plaintext, _DATA)

    def key_updates(self, count: int, *, are_answered: bool) -> bytes:
        """Return so many KeyUpdate messages (RFC 8446, section 4.6.3), each in the only record that it may be in."""
        made = bytearray()
        for _ in range(count):
            made += self._record(bytes([24, 0, 0, 1, are_answered]), _HANDSHAKE)
            self._take(self._derived(b"traffic upd", _HASH_BYTES))
        return bytes(made)

    def _take(self, secret: bytes) -> None:
        self._secret, self._number = secret, 0
        self._key = AESGCM(self._derived(b"key", _KEY_BYTES))
        self._nonce = int.from_bytes(self._derived(b"iv", _NONCE_BYTES), "big")

    def _derived(self, label: bytes, count: int) -> bytes:
        """HKDF-Expand-Label (RFC 8446, section 7.1)."""
        name = b"tls13 " + label
        return HKDFExpand(SHA384(), count, struct.pack(">HB", count, len(name)) + name + b"\0").derive(
            self._secret
        )

    def _record(self, plaintext: bytes, kind: int) -> bytes:
        inner = plaintext + bytes([kind])
        head = struct.pack(">BHH", _DATA, 0x0303, len(inner) + 16)
        nonce = (self._nonce ^ self._number).to_bytes(_NONCE_BYTES, "big")
        self._number += 1
        return head + self._key.encrypt(nonce, inner, head)
