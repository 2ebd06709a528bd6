"""Capture files as tcpdump would write them, of connections that the tests make up."""

import io
import socket
from typing import Any

import dpkt

CLIENT, BROKER = ("10.0.0.7", 50_112), ("10.0.0.9", 9_092)
SYN, ACK = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK

End = tuple[str, int]


class Capture:
    """Packets between two ends; each has its own count of bytes sent."""

    def __init__(self, link_type: int = dpkt.pcap.DLT_EN10MB, form: Any = dpkt.pcap) -> None:
        """Begin; `form` is `dpkt.pcap`, or `dpkt.pcapng` for what Wireshark writes."""
        self._file = io.BytesIO()
        self._writer = form.Writer(self._file, linktype=link_type)
        self._link_type = link_type
        self._next: dict[tuple[End, End], int] = {}
        self._now = 1_795_000_000.0

    def open(self, source: End = CLIENT, target: End = BROKER) -> None:
        """Both ends say SYN."""
        self._next |= {(source, target): 100, (target, source): 2**32 - 5}
        self._packet(source, target, b"", SYN, 100)
        self._packet(target, source, b"", SYN | ACK, 2**32 - 5)
        self._next = {ends: number + 1 for ends, number in self._next.items()}

    def send(
        self, payload: bytes, source: End = CLIENT, target: End = BROKER, *, is_captured: bool = True
    ) -> None:
        """One packet; the capture may have missed it."""
        number = self._next.setdefault((source, target), 1)
        self._next[source, target] = (number + len(payload)) % 2**32
        if is_captured:
            self._packet(source, target, payload, ACK, number)

    def answer(self, payload: bytes) -> None:
        """The broker sends."""
        self.send(payload, BROKER, CLIENT)

    def file(self) -> io.BytesIO:
        """What was captured so far."""
        return io.BytesIO(self._file.getvalue())

    def _packet(self, source: End, target: End, payload: bytes, flags: int, number: int) -> None:
        segment = dpkt.tcp.TCP(
            sport=source[1], dport=target[1], seq=number % 2**32, flags=flags, data=payload
        )
        packet = dpkt.ip.IP(
            src=socket.inet_aton(source[0]),
            dst=socket.inet_aton(target[0]),
            p=dpkt.ip.IP_PROTO_TCP,
            data=segment,
        )
        packet.len = len(packet)
        is_raw = self._link_type == dpkt.pcap.DLT_RAW
        self._now += 0.001
        self._writer.writepkt(bytes(packet if is_raw else dpkt.ethernet.Ethernet(data=packet)), self._now)
