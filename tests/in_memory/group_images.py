"""Images of share groups that hypothesis makes up, for tests of what keeps them."""

from typing import Final

from hypothesis import strategies as st

from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    MemberEpoch,
    MemberId,
    TopicId,
    TopicIdPartition,
)
from kproxy.share.share_group_image import MemberImage, ShareGroupImage, StatePartitions, StateTopics

GROUP: Final = GroupId("orders-group")
ALICE: Final = MemberId("alice")
ORDERS: Final = TopicId(bytes(15) + b"\x01")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
epochs = st.integers(0, 2**31 - 1)
topic_ids = st.binary(min_size=16, max_size=16).map(TopicId)
partitions = st.integers(0, 2**31 - 1)
assignments = st.frozensets(st.builds(TopicIdPartition, topic_ids, partitions), max_size=4)
member_ids = st.text("abcdef", min_size=1, max_size=4).map(MemberId)
member_images = st.builds(
    MemberImage,
    st.none() | texts,
    texts,
    texts,
    st.frozensets(texts, max_size=3),
    epochs.map(MemberEpoch),
    st.integers(-1, 2**31 - 1).map(MemberEpoch),
    assignments,
)


def state_topics() -> st.SearchStrategy[StateTopics]:
    """Topics with at least one partition each."""
    of_topic = st.builds(StatePartitions, texts, st.frozensets(partitions, min_size=1, max_size=3))
    return st.dictionaries(topic_ids, of_topic, max_size=2)


@st.composite
def initializing_topics(draw: st.DrawFn) -> StateTopics:
    """The same, of which some partitions are to begin at offset 0."""
    return {
        topic_id: StatePartitions(
            topic.topic_name,
            topic.partitions,
            draw(st.frozensets(st.sampled_from(sorted(topic.partitions)))),
        )
        for topic_id, topic in draw(state_topics()).items()
    }


@st.composite
def images(draw: st.DrawFn) -> ShareGroupImage:
    """Any group. Only members have a target assignment."""
    members = draw(st.dictionaries(member_ids, member_images, max_size=3))
    return ShareGroupImage(
        group_id=GROUP,
        group_epoch=GroupEpoch(draw(epochs)),
        assignment_epoch=AssignmentEpoch(draw(epochs)),
        members=members,
        target={member_id: draw(assignments) for member_id in members if draw(st.booleans())},
        initializing=draw(initializing_topics()),
        initialized=draw(state_topics()),
        deleting=draw(state_topics()),
        is_being_deleted=draw(st.booleans()),
    )
