"""Cases 83 to 90: what admin clients ask and change."""

from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.conformance import admin_requests, preparation
from tests.conformance.case import case
from tests.conformance.grounds import Ground
from tests.conformance.member import ACCEPT, BRIEF, ack, acknowledge_errors, acquired
from tests.conformance.membership import JOINING
from tests.conformance.scenario import Play

CLASSIC_DESCRIBE_VERSIONS: Final = (5, 6)
NO_ERROR_VERSION: Final = 5
"""Of DescribeGroups: the last one that says Dead of a group that is not there, and no error."""


@case(83)
def offsets_are_altered_only_of_a_group_without_members(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    play.produce_batches(topic, 5)
    refused = admin_requests.alter_offsets(play, group.group_id, topic, 3)
    assert refused.error_code == ErrorCode.NON_EMPTY_GROUP
    group.founder_leaves()
    assert admin_requests.alter_offsets(play, group.group_id, topic, 3).error_code == ErrorCode.NONE
    group.founder_returns()
    assert acquired(group.member().fetch_records()) == [(3, 4, 1)]
    missing = play.new_name("missing")
    assert admin_requests.alter_offsets(play, missing, topic, 2).error_code == ErrorCode.NONE
    admin_requests.describe_offsets(play, {missing: None})


@case(84)
def a_group_without_offsets_begins_as_a_new_one(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    play.produce_batches(topic, 5)
    member = group.member()
    assert acquired(member.fetch()) == [(0, 4, 1)]
    assert acknowledge_errors(member.acknowledge(ack(0, 4, ACCEPT))) == [ErrorCode.NONE]
    member.drop()
    assert admin_requests.delete_offsets(play, group.group_id, topic).error_code == ErrorCode.NON_EMPTY_GROUP
    group.founder_leaves()
    assert admin_requests.delete_offsets(play, group.group_id, topic).error_code == ErrorCode.NONE
    again = admin_requests.delete_offsets(play, group.group_id, topic)
    assert again.responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    missing = admin_requests.delete_offsets(play, play.new_name("missing"), topic)
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    group.founder_returns()
    assert acquired(group.member().fetch_records()) == [(0, 4, 1)]


@case(85)
def a_group_is_deleted_when_it_has_no_members(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    unknown = play.new_name("unknown")
    refused = admin_requests.delete_groups(play, group.group_id, unknown)
    assert {each.group_id: each.error_code for each in refused.results} == {
        group.group_id: ErrorCode.NON_EMPTY_GROUP,
        unknown: ErrorCode.GROUP_ID_NOT_FOUND,
    }
    group.founder_leaves()
    play.say("before", admin_requests.listed(play, [group.group_id]))
    deleted = admin_requests.delete_groups(play, group.group_id)
    assert [each.error_code for each in deleted.results] == [ErrorCode.NONE]
    play.say("after", admin_requests.listed(play, [group.group_id]))


@case(86)
def offsets_are_described_of_what_is_initialized_with_their_lag(play: Play) -> None:
    topic, other = play.topic(2), play.topic()
    group = play.group(topic)
    play.produce_batches(topic, 6)
    member = group.member()
    assert acquired(member.fetch_records()) == [(0, 5, 1)]
    answer = member.acknowledge(ack(0, 1, ACCEPT), ack(4, 4, ACCEPT))
    assert acknowledge_errors(answer) == [ErrorCode.NONE]
    admin_requests.describe_offsets(play, {group.group_id: None})
    named = {topic.name: [0, 1], other.name: [0], play.new_name("unknown"): [0]}
    admin_requests.describe_offsets(play, {group.group_id: named})
    admin_requests.describe_offsets(play, {play.new_name("unknown"): None, group.group_id: {}})


@case(87)
def as_a_classic_group_a_share_group_is_dead(play: Play) -> None:
    """3.9.2 has no version 6, which says it with an error too: such a client asks in version 5."""
    group = play.group(play.topic(), is_loaded=False)
    newest = play.newest_version(ApiKey.DESCRIBE_GROUPS)
    for version in CLASSIC_DESCRIBE_VERSIONS:
        described = admin_requests.described_as_classic(play, group.group_id, min(version, newest))
        error_code = (
            ErrorCode.GROUP_ID_NOT_FOUND if min(version, newest) > NO_ERROR_VERSION else ErrorCode.NONE
        )
        assert (described.group_state, described.error_code) == ("Dead", error_code)
        assert described.members == ()


@case(88)
def share_groups_are_listed_by_their_type_and_state(play: Play) -> None:
    topic = play.topic()
    stable, empty = play.group(topic), play.group(topic)
    empty.founder_leaves()
    classic = play.new_name("classic")
    preparation.commit_offset(play.helper, classic, topic)
    groups = [stable.group_id, empty.group_id, classic]
    play.say("all", admin_requests.listed(play, groups))
    play.say("share groups", admin_requests.listed(play, groups, types=["share"]))
    play.say("classic groups", admin_requests.listed(play, groups, types=["Classic"]))
    play.say("share groups in capitals", admin_requests.listed(play, groups, types=["SHARE"]))
    play.say("empty share groups", admin_requests.listed(play, groups, types=["share"], states=["Empty"]))
    play.say("stable groups", admin_requests.listed(play, groups, states=["stable"]))
    described = admin_requests.describe_group(play, stable.group_id, empty.group_id, classic)
    assert len(described.groups) == len(groups)


@case(89)
def a_configuration_out_of_range_or_unknown_is_refused(play: Play) -> None:
    group = play.new_name("group")
    for key, value in (
        ("share.delivery.count.limit", "99"),
        ("share.no.such.key", "1"),
        ("share.record.lock.duration.ms", "999"),
        ("share.record.lock.duration.ms", "soon"),
        ("share.auto.offset.reset", "sometime"),
        ("errors.deadletterqueue.topic.name", "letters"),
    ):
        assert admin_requests.alter_config(play, group, key, value) == ErrorCode.INVALID_CONFIG


@case(90, ground=Ground.DISABLED)
def where_share_groups_are_switched_off_their_apis_are_answered_unsupported_version(play: Play) -> None:
    topic = play.topic()
    member = play.member(play.new_name("group"), (topic,), member_id="member")
    request = ShareGroupHeartbeatRequest(
        group_id=member.group or "", member_id="member", subscribed_topic_names=[topic.name]
    )
    joined = member.ask("heartbeat", ApiKey.SHARE_GROUP_HEARTBEAT, 1, request, ShareGroupHeartbeatResponse)
    codes = [
        joined.error_code,
        member.fetch(terms=BRIEF).error_code,
        member.acknowledge().error_code,
        member.heartbeat(JOINING, topics=[topic.name]).error_code,
    ]
    assert codes == [ErrorCode.UNSUPPORTED_VERSION] * len(codes)


@case(104)
def a_group_that_altering_offsets_created_is_listed(play: Play) -> None:
    group, topic = play.new_group_id(), play.topic()
    play.group(topic)  # with a member that the topic was assigned to: the coordinator has heard of it
    assert admin_requests.alter_offsets(play, group, topic, 0).error_code == ErrorCode.NONE
    play.say("listed", admin_requests.listed(play, [group]))


@case(102, ground=Ground.DISABLED)
def where_share_groups_are_switched_off_admin_clients_are_told_so(play: Play) -> None:
    """The other half of case 90."""
    topic, group = play.topic(), play.new_name("group")
    described = admin_requests.describe_group(play, group)
    codes = [
        described.groups[0].error_code,
        admin_requests.describe_offsets(play, {group: None}).groups[0].error_code,
        admin_requests.alter_offsets(play, group, topic, 0).error_code,
        admin_requests.delete_offsets(play, group, topic).error_code,
    ]
    assert codes == [ErrorCode.UNSUPPORTED_VERSION] * len(codes)
