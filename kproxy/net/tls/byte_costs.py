"""`ByteCosts`: tells bytes that make TLS work from bytes that say something, by the time that they take. Pure."""

from typing import Final

from kproxy.net.tls.paced_transport import RECORD_BYTES

LOOK_BYTES: Final = 2 * 1024
"""Decrypted first of what is larger than a record, to see whether it takes long."""

FEW_BYTES: Final = 512
"""Of fewer the time says little, and is not looked at as long as costs are low."""

LONG_SECONDS_PER_BYTE: Final = 1e-7
"""OpenSSL takes a fifth of that for records of 40 bytes, half for those of one byte, and three to seven times as long
for KeyUpdate messages (RFC 8446, section 4.6.3), of which a read of 256 KiB may have 9,700. It has no limit to them."""

PROOF_BYTES: Final = 256 * 1024
"""Behind a piece that took long: as many have to be quick before the next ones are not looked at piece by piece."""


class ByteCosts:
    """The pieces in which what one peer sends is decrypted, and what they cost.

    Costs are high behind two pieces that took long, for during one the thread may have been held up, and as long as no
    `LOOK_BYTES` were quick.
    """

    __slots__ = ("_quick_bytes", "are_high", "piece_bytes")

    def __init__(self) -> None:
        self.are_high = False
        """Whether each further piece is to be decrypted in a turn that has time for it."""
        self.piece_bytes = RECORD_BYTES
        """How large the next piece is; of more than that together, the first one has `LOOK_BYTES`."""
        self._quick_bytes = 0

    def note(self, piece_bytes: int, seconds: float) -> None:
        """Take note that a piece of so many bytes took so long."""
        is_watched = self.piece_bytes == LOOK_BYTES
        if seconds > piece_bytes * LONG_SECONDS_PER_BYTE and seconds > FEW_BYTES * LONG_SECONDS_PER_BYTE:
            self.are_high, self.piece_bytes, self._quick_bytes = is_watched, LOOK_BYTES, 0
        elif is_watched:
            self._quick_bytes += piece_bytes
            self.are_high = self.are_high and self._quick_bytes < LOOK_BYTES
            if self._quick_bytes >= PROOF_BYTES:
                self.piece_bytes = RECORD_BYTES
