"""TCP segments out of a capture file, pcap or pcapng, as tcpdump and Wireshark write them."""

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from kproxy.clients.frames.described_frames import NoFrame
from kproxy.wording import counted

_SECTION: Final = b"\x0a\x0d\x0d\x0a"
"""How a pcapng file begins."""
_MOST_BLOCK_BYTES: Final = 64 << 20
_MAGICS: Final = (
    _SECTION,
    b"\xa1\xb2\xc3\xd4",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x4d\x3c\xb2\xa1",
)
MAGIC_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Segment:
    """What one packet carries of a TCP connection, from `source` to `target` (`HOST:PORT`)."""

    source: str
    target: str
    sequence: int
    payload: bytes
    is_first: bool
    """SYN: the sequence number is one below that of the first byte."""
    is_from_client: bool
    """SYN without ACK: who sends it opens the connection."""
    at_ms: int


def is_capture(first_bytes: bytes) -> bool:
    """Tell whether a file that begins with these bytes is a pcap or a pcapng file."""
    return first_bytes[:MAGIC_BYTES] in _MAGICS


def segments_of(file: BinaryIO) -> Iterator[Segment]:
    """Yield the TCP segments of a capture in its order; other packets are passed over.

    Raises NoFrame when the file is damaged, and for link layers other than Ethernet, Linux "any", loopback and raw IP.
    """
    import dpkt
    from dpkt import pcapng

    blocks = _Blocks(file)
    try:
        reader = pcapng.Reader(blocks) if blocks.magic == _SECTION else dpkt.pcap.Reader(blocks)
        unpack = _unpacker(dpkt, reader.datalink())
        for seconds, packet in reader:
            segment = _segment(dpkt, unpack, packet, int(seconds * 1000))
            if segment is not None:
                yield segment
    except (dpkt.UnpackError, ValueError, OverflowError, struct.error) as error:
        raise NoFrame(f"a damaged capture: {error}") from error


class _Blocks:
    """What dpkt reads a capture from: forwards only, for a pipe cannot be rewound, and no block without bounds."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.name = getattr(file, "name", "")
        self.magic = self._seen = file.read(MAGIC_BYTES)

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer at the end. Raises ValueError for what no block can have."""
        if not 0 <= size <= _MOST_BLOCK_BYTES:
            raise ValueError(f"it has a block of {counted(size, 'byte')}")
        seen, self._seen = self._seen[:size], self._seen[size:]
        return seen + self._file.read(size - len(seen))


def _unpacker(dpkt: Any, link_type: int) -> Any:
    known = {
        dpkt.pcap.DLT_EN10MB: dpkt.ethernet.Ethernet,
        dpkt.pcap.DLT_LINUX_SLL: dpkt.sll.SLL,
        dpkt.pcap.DLT_LINUX_SLL2: dpkt.sll2.SLL2,
        dpkt.pcap.DLT_NULL: dpkt.loopback.Loopback,
        dpkt.pcap.DLT_LOOP: dpkt.loopback.Loopback,
    }
    if link_type in known:
        return known[link_type]
    if link_type in {dpkt.pcap.DLT_RAW, 12, 14, 101, 228, 229}:
        return lambda packet: _RawIp(dpkt, packet)
    raise NoFrame(f"a capture of link type {link_type}: capture Ethernet, `-i any`, loopback or raw IP")


class _RawIp:
    """A packet that begins with its IP header, in the form that dpkt gives link layers."""

    def __init__(self, dpkt: Any, packet: bytes) -> None:
        is_version_6 = bool(packet) and packet[0] >> 4 == 6
        self.data = dpkt.ip6.IP6(packet) if is_version_6 else dpkt.ip.IP(packet)


def _segment(dpkt: Any, unpack: Any, packet: bytes, at_ms: int) -> Segment | None:
    try:
        network = unpack(packet).data
    except dpkt.UnpackError:
        return None  # cut off by the capture's snapshot length, or not IP
    if not isinstance(network, (dpkt.ip.IP, dpkt.ip6.IP6)) or not isinstance(network.data, dpkt.tcp.TCP):
        return None
    transport = network.data
    flags = transport.flags
    return Segment(
        f"{_host(network.src)}:{transport.sport}",
        f"{_host(network.dst)}:{transport.dport}",
        transport.seq,
        bytes(transport.data),
        bool(flags & dpkt.tcp.TH_SYN),
        flags & (dpkt.tcp.TH_SYN | dpkt.tcp.TH_ACK) == dpkt.tcp.TH_SYN,
        at_ms,
    )


def _host(address: bytes) -> str:
    is_version_6 = len(address) == 16
    text = socket.inet_ntop(socket.AF_INET6 if is_version_6 else socket.AF_INET, address)
    return f"[{text}]" if is_version_6 else text
