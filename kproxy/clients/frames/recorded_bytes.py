"""Frames out of hex text or raw bytes: one after the other, each with its length before it, or one without."""

import re
import struct
from collections.abc import Iterator
from typing import Final

from kproxy.clients.frames.described_frames import NoFrame
from kproxy.wording import counted

LENGTH: Final = struct.Struct(">i")
_HEX: Final = re.compile(rb"(?:0[xX])?[0-9a-fA-F]+")
_BETWEEN_DIGITS: Final = re.compile(rb"[\s:,]+|(?<=[\s:,])0[xX]|^0[xX]|\\x")
_SHOWN_BYTES: Final = 16
_LARGEST_VERSION: Final = 14
"""A Produce request without its length begins like a frame of so many bytes: with API key 0, and its version."""


def bytes_of_hex(text: str) -> bytes:
    r"""Return the bytes of hex digits; blanks, colons, commas, `0x` and `\x` between them do not count.

    Raises NoFrame for other characters and for an odd number of digits.
    """
    digits = re.sub(r"[\s:,]+|\\x|0[xX](?=[0-9a-fA-F])", "", text)
    try:
        return bytes.fromhex(digits)
    except ValueError as error:
        wrong = re.search(r"[^0-9a-fA-F]", digits)
        what = (
            f"{wrong[0]!r} is no hex digit"
            if wrong
            else f"{counted(len(digits), 'digit')} make no whole byte"
        )
        raise NoFrame(f"no hex: {what}") from error


def is_hex_text(content: bytes) -> bool:
    """Tell whether a file's content is hex digits with blanks and the like between them."""
    words = _BETWEEN_DIGITS.sub(b" ", content).split()
    return bool(words) and all(_HEX.fullmatch(word) for word in words)


def frames_in(content: bytes) -> Iterator[memoryview]:
    """Yield each frame without its length. What begins with no fitting length is one frame without it.

    Raises NoFrame when frames come first, and then something else.
    """
    view = memoryview(content)
    ends = list(_whole_frames(view))
    if not ends or (ends[-1] < len(view) and ends[0] <= _LARGEST_VERSION + LENGTH.size):
        yield view
        return
    position = 0
    for end in ends:
        yield view[position + LENGTH.size : end]
        position = end
    if position < len(view):
        rest = bytes(view[position : position + _SHOWN_BYTES]).hex()
        raise NoFrame(
            f"behind the last whole frame there are {counted(len(view) - position, 'byte')}, {rest}...: "
            "cut off, or no frame"
        )


def _whole_frames(view: memoryview) -> Iterator[int]:
    """Yield where each frame ends, as long as lengths fit."""
    position = 0
    while position + LENGTH.size <= len(view):
        position += LENGTH.size + max(LENGTH.unpack_from(view, position)[0], -LENGTH.size)
        if position > len(view) or position < LENGTH.size:
            return
        yield position
