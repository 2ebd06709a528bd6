"""Which versions a client is told of and held to, and what happens when share groups come and go under it."""

import struct

import pytest

from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from tests.transcripts.transcript import (
    BROKER,
    CHUNK_SIZES,
    CLIENT,
    Answers,
    AnswersNothingYet,
    Refuses,
    Serves,
    play,
)
from tests.worlds.conversing import (
    SERVED,
    Conversation,
    opaque_request,
    opaque_response,
    request,
    response,
)

pytestmark = pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)

SHARE_FETCH = request(78, 1, 20, ShareFetchRequest(group_id="g"))
HANDSHAKE = request(17, 1, 2, SaslHandshakeRequest(mechanism="PLAIN"))
SHAKEN = response(17, 1, 2, SaslHandshakeResponse(mechanisms=["PLAIN"]))
AUTHENTICATE = request(36, 2, 3, SaslAuthenticateRequest(auth_bytes=b"\0user\0secret"))
AUTHENTICATED = response(36, 2, 3, SaslAuthenticateResponse(session_lifetime_ms=3_600_000))
LISTED_GROUPS = {74: (1, 1)}
"""Of a broker that lists no resources with configurations kproxy lists groups."""
SHARE_RANGES = {**LISTED_GROUPS, 76: (1, 1), 78: (1, 2), 79: (1, 2)}


def ask(correlation_id: int, version: int = 3) -> bytes:
    return request(18, version, correlation_id, ApiVersionsRequest())


def tell(
    correlation_id: int, ranges: dict[int, tuple[int, int]], version: int = 3, error_code: int = 0
) -> bytes:
    entries = [
        ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in ranges.items()
    ]
    return response(18, version, correlation_id, ApiVersionsResponse(error_code=error_code, api_keys=entries))


def told(correlation_id: int, ranges: dict[int, tuple[int, int]], version: int = 3) -> bytes:
    """Return what the client is told of a broker whose `ranges` need no change, share groups being on."""
    entries = [
        ApiVersion(api_key=key, min_version=low, max_version=high)
        for key, (low, high) in sorted({**ranges, **SHARE_RANGES}.items())
    ]
    level = FinalizedFeatureKey(name="share.version", max_version_level=1, min_version_level=1)
    supported = SupportedFeatureKey(name="share.version", min_version=0, max_version=1)
    message = ApiVersionsResponse(
        api_keys=entries,
        supported_features=[supported] if version >= 4 else [],
        finalized_features=[level] if version >= 3 else [],
        finalized_features_epoch=0 if version >= 3 else -1,
    )
    return response(18, version, correlation_id, message)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_versions_may_be_asked_for_twice_and_each_answer_counts(version: int, chunk_bytes: int) -> None:
    older, newer = {12: (0, 4)}, {12: (0, 3)}

    play(
        CLIENT >> ask(1, version),
        BROKER << ask(1, version),
        BROKER >> tell(1, older, version),
        CLIENT << told(1, older, version),
        CLIENT >> opaque_request(2),
        BROKER << opaque_request(2),
        BROKER >> opaque_response(2),
        CLIENT << opaque_response(2),
        CLIENT >> ask(3, version),
        BROKER << ask(3, version),
        BROKER >> tell(3, newer, version),
        CLIENT << told(3, newer, version),
        CLIENT >> opaque_request(4),
        Refuses("version_not_advertised"),
        chunk_bytes=chunk_bytes,
    )


def test_what_both_sides_know_is_told_as_the_broker_tells_it(chunk_bytes: int) -> None:
    """Produce keeps its 0, which tells librdkafka about compression, and Metadata its versions with topic ids."""
    ranges = {0: (0, 13), 1: (4, 18), 3: (0, 13), 9: (1, 10)}

    play(
        CLIENT >> ask(1),
        BROKER << ask(1),
        BROKER >> tell(1, ranges),
        CLIENT << told(1, ranges),
        chunk_bytes=chunk_bytes,
    )


def test_a_broker_that_finds_fault_with_the_name_of_the_client_software_is_believed(chunk_bytes: int) -> None:
    asked = request(18, 3, 1, ApiVersionsRequest(client_software_name="-no name-"))
    refusal = tell(1, {}, error_code=42)

    play(
        CLIENT >> asked,
        BROKER << asked,
        BROKER >> refusal,
        CLIENT << refusal,
        CLIENT >> opaque_request(2),
        BROKER << opaque_request(2),
        chunk_bytes=chunk_bytes,
    )


def test_versions_may_be_asked_for_before_and_after_sasl(chunk_bytes: int) -> None:
    ranges = {12: (0, 4), 17: (1, 1), 36: (0, 2)}

    play(
        CLIENT >> ask(1),
        BROKER << ask(1),
        BROKER >> tell(1, ranges),
        CLIENT << told(1, ranges),
        CLIENT >> HANDSHAKE,
        BROKER << HANDSHAKE,
        BROKER >> SHAKEN,
        CLIENT << SHAKEN,
        CLIENT >> AUTHENTICATE,
        BROKER << AUTHENTICATE,
        BROKER >> AUTHENTICATED,
        CLIENT << AUTHENTICATED,
        CLIENT >> ask(4) + HANDSHAKE,
        BROKER << ask(4) + HANDSHAKE,
        BROKER >> tell(4, ranges) + SHAKEN,
        CLIENT << told(4, ranges) + SHAKEN,
        chunk_bytes=chunk_bytes,
    )


def test_a_client_may_authenticate_anew_while_it_is_at_work(chunk_bytes: int) -> None:
    """KIP-368: before its session at the broker ends, on the same connection, behind whatever is under way."""
    play(
        CLIENT >> SHARE_FETCH + HANDSHAKE + AUTHENTICATE + SHARE_FETCH,
        Answers(b"fetched"),
        CLIENT << b"fetched",
        BROKER << HANDSHAKE + AUTHENTICATE,
        AnswersNothingYet(),
        BROKER >> SHAKEN + AUTHENTICATED,
        CLIENT << SHAKEN + AUTHENTICATED,
        Answers(b"fetched again"),
        CLIENT << b"fetched again",
        chunk_bytes=chunk_bytes,
    )


def test_a_broker_that_refuses_a_version_says_so_in_version_0_and_the_client_asks_again(
    chunk_bytes: int,
) -> None:
    """KIP-511. What was known of the broker before stays known."""
    refusal = tell(1, {18: (0, 3)}, version=0, error_code=35)
    ranges = {10: (0, 2), 18: (0, 3)}

    play(
        CLIENT >> ask(1, version=4),
        BROKER << ask(1, version=4),
        BROKER >> refusal,
        CLIENT << refusal,
        CLIENT >> ask(2),
        BROKER << ask(2),
        BROKER >> tell(2, ranges),
        CLIENT << told(2, {**ranges, 10: (0, 6)}),
        chunk_bytes=chunk_bytes,
    )


def test_a_refusal_does_not_take_back_what_was_known_of_the_broker(chunk_bytes: int) -> None:
    ranges = {10: (0, 2)}
    refusal = tell(2, {18: (0, 3)}, version=0, error_code=35)
    sought = request(10, 4, 3, FindCoordinatorRequest(coordinator_keys=["g"]))
    as_the_broker_knows_it = request(10, 2, 3, FindCoordinatorRequest(key="g"))

    play(
        CLIENT >> ask(1),
        BROKER << ask(1),
        BROKER >> tell(1, ranges),
        CLIENT << told(1, {10: (0, 6)}),
        CLIENT >> ask(2, version=4),
        BROKER << ask(2, version=4),
        BROKER >> refusal,
        CLIENT << refusal,
        CLIENT >> sought,
        BROKER << as_the_broker_knows_it,
        chunk_bytes=chunk_bytes,
    )


def test_the_connections_of_a_rolling_upgrade_are_each_told_what_their_broker_knows(chunk_bytes: int) -> None:
    upgraded, waiting = Conversation(), Conversation()
    for conversation, ranges in ((upgraded, {12: (0, 4)}), (waiting, {12: (0, 3)})):
        play(
            CLIENT >> ask(1),
            BROKER << ask(1),
            BROKER >> tell(1, ranges),
            CLIENT << told(1, ranges),
            conversation=conversation,
            chunk_bytes=chunk_bytes,
        )

    play(
        CLIENT >> opaque_request(2),
        BROKER << opaque_request(2),
        conversation=upgraded,
        chunk_bytes=chunk_bytes,
    )
    play(
        CLIENT >> opaque_request(2),
        Refuses("version_not_advertised"),
        conversation=waiting,
        chunk_bytes=chunk_bytes,
    )


@pytest.mark.parametrize("highest", [-5, 0])
def test_a_broker_with_nonsensical_or_ancient_versions_is_asked_nothing_it_cannot_answer(
    highest: int, chunk_bytes: int
) -> None:
    """Nothing is left to advertise: so nothing is enforced, and nothing translated below what can be written."""
    play(
        CLIENT >> ask(1),
        BROKER << ask(1),
        BROKER >> tell(1, {10: (0, highest), 42: (-9, -7), 16: (0, -1)}),
        CLIENT << told(1, {10: (0, 0)} if highest == 0 else {}),
        chunk_bytes=chunk_bytes,
    )


def test_what_no_versions_were_heard_for_is_the_brokers_to_judge(chunk_bytes: int) -> None:
    """A client that never asks for versions gets what it would get from the broker."""
    sought = request(10, 4, 1, FindCoordinatorRequest(coordinator_keys=["g"]))
    deleted = request(42, 2, 2, DeleteGroupsRequest(groups_names=["g"]))

    play(
        CLIENT >> sought + deleted,
        BROKER << sought + deleted,
        conversation=Conversation(served={}),
        chunk_bytes=chunk_bytes,
    )


def test_versions_that_nobody_knows_are_counted_as_one(chunk_bytes: int) -> None:
    conversation = Conversation()
    for version in range(100, 200):
        too_new = struct.pack(">ihhi", 11, 18, version, 1) + b"\xff\xff\x00"
        for start in range(0, len(too_new), chunk_bytes):
            conversation.client_sends(too_new[start : start + chunk_bytes])

    assert conversation.counts == {(18, 5): 100}


def test_share_groups_that_are_turned_on_are_served_to_clients_that_were_there_before(
    chunk_bytes: int,
) -> None:
    conversation = Conversation(served={})
    only = tell(1, {12: (0, 4)})

    play(
        CLIENT >> ask(1),
        BROKER << ask(1),
        BROKER >> only,
        CLIENT << only,
        Serves(SERVED),
        CLIENT >> SHARE_FETCH,
        Answers(b"fetched"),
        CLIENT << b"fetched",
        conversation=conversation,
        chunk_bytes=chunk_bytes,
    )


def test_share_groups_that_are_turned_off_are_refused_to_those_who_ask_all_the_same(chunk_bytes: int) -> None:
    play(
        CLIENT >> SHARE_FETCH,
        Answers(b"fetched"),
        CLIENT << b"fetched",
        Serves({}),
        CLIENT >> opaque_request(1),
        BROKER << opaque_request(1),
        CLIENT >> SHARE_FETCH,
        Refuses("unknown_api_key"),
        chunk_bytes=chunk_bytes,
    )


def test_a_share_request_that_is_being_answered_when_they_are_turned_off_is_answered(
    chunk_bytes: int,
) -> None:
    play(
        CLIENT >> SHARE_FETCH + opaque_request(1),
        Serves({}),
        Answers(b"fetched"),
        CLIENT << b"fetched",
        BROKER << opaque_request(1),
        chunk_bytes=chunk_bytes,
    )


def test_a_share_request_half_of_which_had_come_when_they_were_turned_off_is_refused(
    chunk_bytes: int,
) -> None:
    play(
        CLIENT >> SHARE_FETCH[:-3],
        Serves({}),
        CLIENT >> SHARE_FETCH[-3:],
        Refuses("unknown_api_key"),
        chunk_bytes=chunk_bytes,
    )


def test_a_group_config_half_of_which_had_come_when_they_were_turned_off_is_the_brokers(
    chunk_bytes: int,
) -> None:
    altered = request(
        44, 1, 1, IncrementalAlterConfigsRequest(resources=[AlterConfigsResource(resource_type=32)])
    )

    play(
        CLIENT >> altered[:-3],
        Serves({}),
        CLIENT >> altered[-3:],
        BROKER << altered,
        BROKER >> opaque_response(1),
        CLIENT << opaque_response(1),
        chunk_bytes=chunk_bytes,
    )


def test_an_answer_is_read_as_it_was_asked_for_whatever_was_switched_meanwhile(chunk_bytes: int) -> None:
    sought = request(10, 2, 1, FindCoordinatorRequest(key="g"))
    nobody = response(10, 2, 1, FindCoordinatorResponse(error_code=15, node_id=-1, host="", port=-1))

    play(
        CLIENT >> sought + ask(2),
        BROKER << sought + ask(2),
        Serves({}),
        BROKER >> nobody + tell(2, {12: (0, 4)}),
        CLIENT << nobody + tell(2, {12: (0, 4)}),
        chunk_bytes=chunk_bytes,
    )
