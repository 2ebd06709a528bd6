"""Claims and the header with the claim epoch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.statelog.claims import (
    CLAIM_HEADER,
    STATE_FORMAT_VERSION,
    Claim,
    claim_epoch_of,
    claim_header,
    claim_messages,
    claim_of,
)
from kproxy.wire.messages.kproxy_claim_value import KproxyClaimValue


def test_the_epoch_is_eight_bytes_big_endian() -> None:
    assert claim_header(258) == ("kproxy.claim", b"\0\0\0\0\0\0\x01\x02")


@given(st.integers(0, 2**63 - 1))
def test_an_epoch_is_read_back_whatever_stands_beside_it(claim_epoch: int) -> None:
    assert claim_epoch_of((("other", None), claim_header(claim_epoch), ("another", b"x"))) == claim_epoch


def test_a_record_without_the_header_has_no_epoch() -> None:
    assert claim_epoch_of((("kproxy.actor", b"{}"),)) is None


@pytest.mark.parametrize(
    "headers",
    [
        ((CLAIM_HEADER, None),),
        ((CLAIM_HEADER, b"\0" * 7),),
        ((CLAIM_HEADER, b"\0" * 9),),
        ((CLAIM_HEADER, b"\xff" * 8),),
        (claim_header(1), claim_header(1)),
    ],
)
def test_an_epoch_that_cannot_be_is_refused(headers: tuple[tuple[str, bytes | None], ...]) -> None:
    with pytest.raises(CorruptStateRecord, match="claim"):
        claim_epoch_of(headers)


def test_a_claim_survives_its_messages() -> None:
    claim = Claim("pod-1", STATE_FORMAT_VERSION)
    _, value = claim_messages(claim)
    assert claim_of(value) == claim


def test_a_newer_format_is_refused_with_its_owner_and_both_versions() -> None:
    with pytest.raises(
        UnsupportedStateRecord, match=r"format 3 of the log, claimed by 'pod-2'.*up to 2: run the"
    ):
        claim_of(KproxyClaimValue("pod-2", STATE_FORMAT_VERSION + 1))
