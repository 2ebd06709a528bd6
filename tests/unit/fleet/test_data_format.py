"""Two bytes of version, then the message; what is not so is refused in words."""

import pytest

from kproxy.errors import UnreadableFleetData
from kproxy.fleet.data_format import MOST_BYTES, decode_data, encode_data, require_between, require_text
from kproxy.wire.messages.fleet_map_message import FleetMapMessage


def test_what_was_written_is_read() -> None:
    message = FleetMapMessage(epoch=7, owners=[0, -1])
    assert decode_data(encode_data(message), FleetMapMessage) == message


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "0 bytes, expected 2 to 1048576"),
        (b"\x00", "1 byte, expected 2"),
        (bytes(MOST_BYTES + 1), "1048577 bytes"),
        (b"\x00\x01" + bytes(20), "version 1, this kproxy reads version 0"),
        (b"\x00\x00" + bytes(3), "FleetMapMessage v0"),
    ],
)
def test_other_bytes_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableFleetData, match=reason):
        decode_data(data, FleetMapMessage)


@pytest.mark.parametrize("text", ["", "x" * 256])
def test_a_text_is_there_and_is_not_long(text: str) -> None:
    with pytest.raises(UnreadableFleetData, match=f"name of {len(text)} characters, expected 1 to 255"):
        require_text(text, "name")


@pytest.mark.parametrize(("number", "is_refused"), [(0, True), (1, False), (9, False), (10, True)])
def test_both_ends_are_inclusive(number: int, is_refused: bool) -> None:  # noqa: FBT001 - parametrized
    if is_refused:
        with pytest.raises(UnreadableFleetData, match=f"port {number}, expected 1 to 9"):
            require_between(number, "port", first=1, last=9)
    else:
        assert require_between(number, "port", first=1, last=9) == number
