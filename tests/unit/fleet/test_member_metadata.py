"""What a member says of itself: read as it was written, or refused with what is wrong."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import UnreadableFleetData
from kproxy.fleet.data_format import encode_data
from kproxy.fleet.member_metadata import MemberMetadata, MemberProfile, decode_member, encode_member
from kproxy.wire.messages.fleet_member_metadata import FleetMemberMetadata

PROFILE = MemberProfile("a1b2", "kproxy on host-1, process 17", "10.0.0.1", 19_099, "0.9", 1, 16)
MESSAGE: dict[str, Any] = {
    "token": "a1b2",
    "name": "kproxy",
    "host": "10.0.0.1",
    "port": 19_099,
    "kproxy_version": "0.9",
    "state_format_version": 1,
    "slot_count": 16,
    "map_epoch": 5,
    "seen_epoch": 7,
    "owned_slots": [1, 4],
}


@given(owned=st.frozensets(st.integers(0, 15)), epoch=st.integers(0, 2**62), is_leaving=st.booleans())
def test_a_member_is_read_as_it_was_written(owned: frozenset[int], epoch: int, is_leaving: bool) -> None:  # noqa: FBT001 - drawn
    member = MemberMetadata(PROFILE, owned, epoch, epoch, is_leaving)
    assert decode_member(encode_member(member)) == member


def test_a_member_that_owns_nothing_yet_knows_of_no_epoch() -> None:
    assert decode_member(encode_member(MemberMetadata(PROFILE))) == MemberMetadata(PROFILE)


def test_equal_members_have_equal_bytes() -> None:
    """A coordinator takes a follower that joins anew with the same bytes for one that missed its answer."""
    one = MemberMetadata(PROFILE, frozenset([1, 9, 4]), 3, 3)
    assert encode_member(one) == encode_member(replace(one, owned=frozenset([9, 4, 1])))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"token": ""}, "token of 0 characters"),
        ({"name": "n" * 300}, "name of 300 characters"),
        ({"host": ""}, "host of 0 characters"),
        ({"kproxy_version": ""}, "version of kproxy of 0 characters"),
        ({"port": 0}, "port 0, expected 1 to 65535"),
        ({"slot_count": 0}, "slot count 0, expected 1 to 10000"),
        ({"slot_count": 10_001}, "slot count 10001"),
        ({"seen_epoch": 2**62 + 1}, "seen epoch"),
        ({"map_epoch": 8}, "map epoch 8, expected -1 to 7"),
        ({"map_epoch": -1}, "slots that are owned without a map"),
        ({"owned_slots": [4, 1]}, "not in rising order"),
        ({"owned_slots": [1, 1]}, "not in rising order"),
        ({"owned_slots": [-1]}, "owned slot -1, expected 0 to 15"),
        ({"owned_slots": [16]}, "owned slot 16, expected 0 to 15"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnreadableFleetData, match=reason):
        decode_member(encode_data(FleetMemberMetadata(**{**MESSAGE, **wrong})))
