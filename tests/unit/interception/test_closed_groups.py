"""Who acts on the group of kproxy's own processes is answered as one without rights, and the broker hears nothing."""

from typing import Any, Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import PeerViolation
from kproxy.interception.closed_groups import GROUP_KEYS, deny_group
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.interception.sasl_watch import SaslWatch
from kproxy.wire import codecs, group_ids
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.by_api_key import REQUEST_CLASSES
from kproxy.wire.messages.heartbeat_request import HeartbeatRequest
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kproxy.wire.messages.offset_commit_response import OffsetCommitResponse
from tests.worlds.conversing import Conversation, opaque_request, request

FLEET: Final = "the-fleet"
DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
ROUTES: Final = [
    (api_key, version)
    for api_key in sorted(GROUP_KEYS)
    for version in range(codecs.valid_versions(api_key)[0], codecs.valid_versions(api_key)[1] + 1)
]


def about(api_key: int, version: int, group_id: str) -> bytes:
    request_class: Any = REQUEST_CLASSES[api_key]
    return request(api_key, version, 1, request_class(group_id=group_id))


def a_conversation(*, is_feature_on: bool = True, sasl: SaslWatch | None = None) -> Conversation:
    conversation = Conversation(share_group_ids={"a share group"}, sasl=sasl)
    conversation.routes.closed_topics = ClosedTopics(groups=[FLEET])
    conversation.routes.serve(conversation.routes.served, is_feature_on=is_feature_on)
    return conversation


def test_what_acts_on_one_group_is_what_tells_its_id_among_its_first_fields() -> None:
    assert GROUP_KEYS == group_ids.API_KEYS


@pytest.mark.parametrize("is_feature_on", [True, False])
@pytest.mark.parametrize("piece", [1, 10_000])
@pytest.mark.parametrize(("api_key", "version"), ROUTES)
def test_the_fleets_group_is_closed_whatever_is_asked_and_in_whatever_pieces(
    api_key: int, version: int, piece: int, *, is_feature_on: bool
) -> None:
    # Given
    talk = a_conversation(is_feature_on=is_feature_on)
    refused: list[int] = []
    talk.routes.closed_topics.on_group_refused = refused.append
    asked = about(api_key, version, FLEET)

    # When
    sent = b"".join(talk.client_sends(asked[at : at + piece]) for at in range(0, len(asked), piece))
    answered = b"".join(talk.session.take_for_client())

    # Then
    _, answer = codecs.decode_response(api_key, version, memoryview(answered)[4:])
    assert sent == b""
    assert refused == [api_key]
    assert getattr(answer, "error_code", DENIED) == DENIED


@pytest.mark.parametrize(("api_key", "version"), ROUTES)
def test_other_groups_are_asked_about_as_ever(api_key: int, version: int) -> None:
    for group_id in ("orders", FLEET + "s", FLEET[:-1]):
        asked = about(api_key, version, group_id)
        assert a_conversation().client_sends(asked) == asked


def test_each_partition_of_a_commit_is_denied() -> None:
    # Given
    topics = [
        OffsetCommitRequestTopic("orders", partitions=[OffsetCommitRequestPartition(at) for at in (0, 7)])
    ]
    commit = DecodedRequest(ApiKey.OFFSET_COMMIT, 8, 1, "client", OffsetCommitRequest(FLEET, topics=topics))

    # When
    answer = deny_group(commit, ClosedTopics(groups=[FLEET]))

    # Then
    assert isinstance(answer, OffsetCommitResponse)
    (topic,) = answer.topics
    assert [(part.partition_index, part.error_code) for part in topic.partitions] == [
        (0, DENIED),
        (7, DENIED),
    ]


def test_a_version_that_is_too_old_to_be_answered_ends_the_connection() -> None:
    commit = bytearray(about(ApiKey.OFFSET_COMMIT, 2, FLEET))
    commit[7] = 1

    with pytest.raises(PeerViolation, match="API key 8 version 1"):
        a_conversation().client_sends(bytes(commit))


def test_answers_keep_their_order_and_who_has_not_authenticated_gets_none() -> None:
    # Given
    beat = request(ApiKey.HEARTBEAT, 4, 2, HeartbeatRequest(FLEET, 1, "member"))
    talk = a_conversation()

    # When
    sent = talk.client_sends(opaque_request(1) + beat)

    # Then
    assert sent == opaque_request(1)
    assert talk.session.take_for_client() == []
    with pytest.raises(PeerViolation, match="before the client has authenticated"):
        a_conversation(sasl=SaslWatch(is_required=True)).client_sends(beat)


def test_where_no_group_is_closed_nothing_is_looked_into() -> None:
    join = request(ApiKey.JOIN_GROUP, 9, 1, JoinGroupRequest(FLEET))

    assert Conversation().client_sends(join) == join
