"""How brokers read unsigned varints: `org.apache.kafka.common.utils.ByteUtils.readUnsignedVarint`, as a reference."""

from hypothesis import strategies as st


class IllegalVarint(Exception):
    """A broker refuses the request."""


def read_as_kafka(encoded: bytes) -> tuple[int, int]:
    """Return the number and how many bytes it took; what lies beyond 32 bits is lost, and the rest is signed."""
    number = 0
    for index, byte in enumerate(encoded[:5]):
        bits = byte if index == 4 else byte & 0x7F
        number |= bits << (7 * index)
        if byte < 0x80:
            return int.from_bytes((number & 0xFFFFFFFF).to_bytes(4, "big"), "big", signed=True), index + 1
    raise IllegalVarint


def expected(encoded: bytes) -> tuple[int, int] | None:
    """Return number and length as kproxy has to read them; None for what it has to refuse: 32 bits and more."""
    try:
        number, length = read_as_kafka(encoded)
    except IllegalVarint:
        return None
    return None if length == 5 and encoded[4] > 0x07 else (number, length)


five_bytes = st.builds(
    lambda start, last: bytes(byte | 0x80 for byte in start) + bytes([last]),
    st.binary(min_size=4, max_size=4),
    st.integers(0, 255),
)
"""Every varint that takes five bytes, and those that do not end with them."""

varints = st.one_of(five_bytes, st.binary(min_size=5, max_size=5))
