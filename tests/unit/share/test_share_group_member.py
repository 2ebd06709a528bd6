"""A member and its image."""

from kproxy.share.identifiers import MemberEpoch, TopicIdPartition
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group_member import ShareGroupMember
from tests.worlds.share_builders import ALICE, TOPIC


def test_a_member_restored_from_its_image_lacks_nothing_but_its_session() -> None:
    # Given
    member = ShareGroupMember(
        ALICE,
        rack_id="a",
        client_id="client-1",
        client_host="/10.0.0.7",
        subscribed_topic_names=frozenset({"paid"}),
        member_epoch=MemberEpoch(7),
        previous_member_epoch=MemberEpoch(4),
        assigned=frozenset({TopicIdPartition(TOPIC, 1)}),
        session_deadline_ms=9_000,
        session_check_ms=8_000,
    )

    # When
    restored = ShareGroupMember.restore(ALICE, member.image(), 45_000)

    # Then
    assert restored.image() == member.image()
    assert (restored.session_deadline_ms, restored.session_check_ms) == (45_000, None)


def test_a_heartbeat_begins_the_session_anew_and_who_replaces_a_member_goes_on_with_its_session() -> None:
    # Given
    limits = GroupLimits(session_timeout_ms=20_000, heartbeat_interval_ms=4_000)
    member = ShareGroupMember(ALICE)
    member.hear(limits, 1_000)

    # When
    restored = ShareGroupMember.restore(ALICE, member.image(), 90_000)
    restored.continue_session_of(member)

    # Then
    assert (restored.heard_ms, restored.session_deadline_ms) == (1_000, 21_000)
    assert restored.heartbeat_interval_ms == 4_000
