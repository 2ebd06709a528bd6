"""`kproxy.wire.frames`: lengths that cannot be, and what really stands there."""

import pytest

from kproxy.errors import PeerViolation
from kproxy.wire.frames import name_foreign_protocol, refuse_request_length, refuse_response_length

MAX_BYTES = 104_857_600


def reason_of(first_bytes: bytes, *, max_bytes: int = MAX_BYTES) -> str:
    with pytest.raises(PeerViolation) as refusal:
        refuse_request_length(first_bytes, int.from_bytes(first_bytes, "big", signed=True), max_bytes)
    return refusal.value.reason


@pytest.mark.parametrize(
    ("first_bytes", "reason"),
    [
        (b"\x16\x03\x01\x02", "tls_on_plaintext"),
        (b"\x16\x03\x03\x00", "tls_on_plaintext"),
        (b"GET ", "http_on_kafka_port"),
        (b"POST", "http_on_kafka_port"),
        (b"PRI ", "http_on_kafka_port"),
        (b"PROX", "proxy_header"),
        (b"\r\n\r\n", "proxy_header"),
        (b"\xff\xff\xff\xff", "frame_length_negative"),
        (b"\x80\x00\x00\x00", "frame_length_negative"),
        (b"\x00\x00\x00\x00", "frame_too_short"),
        (b"\x00\x00\x00\x07", "frame_too_short"),
        (b"\x06\x40\x00\x01", "frame_too_large"),
    ],
)
def test_a_length_that_no_request_has_is_named_by_what_it_really_is(first_bytes: bytes, reason: str) -> None:
    assert reason_of(first_bytes) == reason


@pytest.mark.parametrize("length", [8, 100, MAX_BYTES])
def test_a_length_within_the_bounds_is_let_through_at_both_ends(length: int) -> None:
    refuse_request_length(length.to_bytes(4, "big"), length, MAX_BYTES)


def test_the_refusal_of_a_large_frame_names_both_numbers() -> None:
    with pytest.raises(PeerViolation, match=r"1001 bytes.*1000"):
        refuse_request_length((1001).to_bytes(4, "big"), 1001, 1000)


def test_a_tls_alert_of_a_broker_is_recognised_although_it_reads_as_a_large_response() -> None:
    alert = b"\x15\x03\x03\x00"

    with pytest.raises(PeerViolation) as refusal:
        refuse_response_length(alert, 352_518_912)

    assert refusal.value.reason == "tls_on_plaintext"


def test_a_response_may_be_larger_than_any_request() -> None:
    refuse_response_length((500_000_000).to_bytes(4, "big"), 500_000_000)


def test_ordinary_lengths_are_no_foreign_protocol() -> None:
    assert name_foreign_protocol(b"\x00\x00\x01\x00") is None
