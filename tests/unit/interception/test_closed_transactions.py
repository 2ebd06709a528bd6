"""What is answered to transactions that would touch kproxy's state log."""

from typing import Any, Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.interception.closed_transactions import TRANSACTION_KEYS, deny_transaction
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages import add_partitions_to_txn_request as addition
from kproxy.wire.messages import write_txn_markers_request as markers
from kproxy.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from kproxy.wire.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from kproxy.wire.messages.end_txn_request import EndTxnRequest
from kproxy.wire.messages.init_producer_id_request import InitProducerIdRequest
from kproxy.wire.messages.write_txn_markers_response import WriteTxnMarkersResponse

STATE: Final = "__kproxy_share_state"
OURS: Final = f"{STATE}-7"
TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
ID_DENIED: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
NOT_ATTEMPTED: Final = ErrorCode.OPERATION_NOT_ATTEMPTED


def denied(api_key: int, version: int, message: Message) -> tuple[Any, list[int]]:
    """The answer, None for none, and what was refused; the answer can be sent."""
    closed, refused = ClosedTopics((STATE, "__kproxy_share_groups")), list[int]()
    closed.on_refused = refused.append
    answer = deny_transaction(DecodedRequest(api_key, version, 1, "client", message), closed)
    if answer is not None:
        assert codecs.encode_response(api_key, version, 1, answer)
    return answer, refused


def topics(*names: str) -> list[addition.AddPartitionsToTxnTopic]:
    return [addition.AddPartitionsToTxnTopic(name, [0, 1]) for name in names]


def codes(results: Any) -> dict[str, set[int]]:
    return {
        topic.name: {part.partition_error_code for part in topic.results_by_partition} for topic in results
    }


@pytest.mark.parametrize(
    ("transactional_id", "named", "expected"),
    [
        ("payments", ("orders", STATE), {"orders": {NOT_ATTEMPTED}, STATE: {TOPIC_DENIED}}),
        (OURS, ("orders",), {"orders": {ID_DENIED}}),
    ],
    ids=["a topic of the state log", "an id of the state log"],
)
def test_no_partition_becomes_part_of_a_transaction_that_touches_the_state_log(
    transactional_id: str, named: tuple[str, ...], expected: dict[str, set[int]]
) -> None:
    # Given
    request = addition.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id, v3_and_below_topics=topics(*named)
    )

    # When
    answer, refused = denied(ApiKey.ADD_PARTITIONS_TO_TXN, 3, request)

    # Then
    assert isinstance(answer, AddPartitionsToTxnResponse)
    assert codes(answer.results_by_topic_v3_and_below) == expected
    assert refused == [ApiKey.ADD_PARTITIONS_TO_TXN]


def test_of_several_transactions_none_goes_on_when_one_touches_the_state_log() -> None:
    # Given
    transactions = [
        addition.AddPartitionsToTxnTransaction("payments", topics=topics("orders")),
        addition.AddPartitionsToTxnTransaction("others", topics=topics(STATE)),
    ]

    # When
    answer, _ = denied(
        ApiKey.ADD_PARTITIONS_TO_TXN, 5, addition.AddPartitionsToTxnRequest(transactions=transactions)
    )

    # Then
    assert isinstance(answer, AddPartitionsToTxnResponse)
    found = {each.transactional_id: codes(each.topic_results) for each in answer.results_by_transaction}
    assert found == {"payments": {"orders": {NOT_ATTEMPTED}}, "others": {STATE: {TOPIC_DENIED}}}


@pytest.mark.parametrize("transactional_id", [OURS, "__kproxy_share_groups-0"])
@pytest.mark.parametrize(
    ("api_key", "version", "request_of"),
    [
        (ApiKey.INIT_PRODUCER_ID, 6, InitProducerIdRequest),
        (ApiKey.ADD_OFFSETS_TO_TXN, 4, AddOffsetsToTxnRequest),
        (ApiKey.END_TXN, 5, EndTxnRequest),
    ],
)
def test_the_ids_under_which_the_state_log_is_claimed_are_nobody_elses(
    api_key: int, version: int, request_of: Any, transactional_id: str
) -> None:
    answer, refused = denied(api_key, version, request_of(transactional_id))
    assert answer.error_code == ID_DENIED
    assert refused == [api_key]


def test_no_marker_is_written_to_the_state_log() -> None:
    # Given
    named = [markers.WritableTxnMarkerTopic(name, [3]) for name in ("orders", STATE)]

    # When
    answer, _ = denied(
        ApiKey.WRITE_TXN_MARKERS,
        2,
        markers.WriteTxnMarkersRequest([markers.WritableTxnMarker(9, topics=named)]),
    )

    # Then
    assert isinstance(answer, WriteTxnMarkersResponse)
    [marker] = answer.markers
    assert marker.producer_id == 9
    found = {topic.name: [part.error_code for part in topic.partitions] for topic in marker.topics}
    assert found == {"orders": [NOT_ATTEMPTED], STATE: [TOPIC_DENIED]}


@pytest.mark.parametrize(
    ("api_key", "version", "message"),
    [
        (ApiKey.INIT_PRODUCER_ID, 6, InitProducerIdRequest(None)),
        (ApiKey.INIT_PRODUCER_ID, 6, InitProducerIdRequest(f"{STATE}-of-mine")),
        (ApiKey.INIT_PRODUCER_ID, 6, InitProducerIdRequest(f"my-{OURS}")),
        (ApiKey.END_TXN, 5, EndTxnRequest("payments-7")),
        (ApiKey.ADD_OFFSETS_TO_TXN, 4, AddOffsetsToTxnRequest("payments", group_id=STATE)),
        (
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            addition.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="payments", v3_and_below_topics=topics("orders")
            ),
        ),
        (
            ApiKey.ADD_PARTITIONS_TO_TXN,
            4,
            addition.AddPartitionsToTxnRequest(
                transactions=[addition.AddPartitionsToTxnTransaction("payments", topics=topics("orders"))]
            ),
        ),
        (
            ApiKey.WRITE_TXN_MARKERS,
            1,
            markers.WriteTxnMarkersRequest(
                [markers.WritableTxnMarker(9, topics=[markers.WritableTxnMarkerTopic("orders", [0])])]
            ),
        ),
    ],
)
def test_all_other_transactions_are_the_brokers(api_key: int, version: int, message: Message) -> None:
    assert denied(api_key, version, message) == (None, [])


def test_every_request_that_is_looked_into_is_here() -> None:
    assert {
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.END_TXN,
        ApiKey.WRITE_TXN_MARKERS,
    } == TRANSACTION_KEYS
