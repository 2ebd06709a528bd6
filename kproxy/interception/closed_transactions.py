"""Requests about transactions that would touch kproxy's state log: its topics, or the ids under which it is claimed.

A marker in a state topic would be a record that kproxy did not write, and a producer that takes a transactional id of
kproxy's fences the process that holds the slot. So these are answered here, as to a client without rights, and as a
broker does all or nothing: what is asked beside them is not attempted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.interception.closed_topics import DENIED, ClosedTopics
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages import add_partitions_to_txn_response as addition
from kproxy.wire.messages import write_txn_markers_response as markers
from kproxy.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from kproxy.wire.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from kproxy.wire.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kproxy.wire.messages.end_txn_request import EndTxnRequest
from kproxy.wire.messages.end_txn_response import EndTxnResponse
from kproxy.wire.messages.init_producer_id_request import InitProducerIdRequest
from kproxy.wire.messages.init_producer_id_response import InitProducerIdResponse
from kproxy.wire.messages.write_txn_markers_request import WriteTxnMarkersRequest

NO_TRANSACTION: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_NOT_ATTEMPTED: Final = ErrorCode.OPERATION_NOT_ATTEMPTED
_LAST_OF_CLIENTS: Final = 3
"""Of AddPartitionsToTxn: later versions are between brokers, and name several transactions (KIP-890)."""


def deny_transaction(request: DecodedRequest, closed: ClosedTopics) -> Message | None:
    """Return the answer to a request of `TRANSACTION_KEYS` that must not reach a broker; None when it may.

    Source: `KafkaApis.handleAddPartitionsToTxnRequest` and its neighbours.
    """
    answer = _DENIALS[request.api_key](request, closed)
    if answer is not None:
        closed.on_refused(request.api_key)
    return answer


def _deny_partitions(request: DecodedRequest, closed: ClosedTopics) -> Message | None:
    message = request.message
    assert isinstance(message, AddPartitionsToTxnRequest)
    if request.api_version <= _LAST_OF_CLIENTS:
        topics = message.v3_and_below_topics
        code_of = _codes(message.v3_and_below_transactional_id, topics, closed)
        if code_of is None:
            return None
        return addition.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_added(topics, code_of))
    found = [_codes(each.transactional_id, each.topics, closed) for each in message.transactions]
    if not any(found):
        return None
    return addition.AddPartitionsToTxnResponse(
        results_by_transaction=[
            addition.AddPartitionsToTxnResult(each.transactional_id, _added(each.topics, code_of or _none))
            for each, code_of in zip(message.transactions, found, strict=True)
        ]
    )


_CodeOf = Callable[[str], ErrorCode]


def _codes(
    transactional_id: str, topics: Iterable[AddPartitionsToTxnTopic], closed: ClosedTopics
) -> _CodeOf | None:
    """Return what is answered about each topic of a transaction; None when nothing speaks against it."""
    if closed.has_transaction(transactional_id):
        return lambda _: NO_TRANSACTION
    if not any(topic.name in closed.names for topic in topics):
        return None
    return lambda name: DENIED if name in closed.names else _NOT_ATTEMPTED


def _none(_name: str) -> ErrorCode:
    return _NOT_ATTEMPTED


def _added(
    topics: Iterable[AddPartitionsToTxnTopic], code_of: _CodeOf
) -> list[addition.AddPartitionsToTxnTopicResult]:
    return [
        addition.AddPartitionsToTxnTopicResult(
            topic.name,
            [
                addition.AddPartitionsToTxnPartitionResult(partition, code_of(topic.name))
                for partition in topic.partitions
            ],
        )
        for topic in topics
    ]


def _deny_markers(request: DecodedRequest, closed: ClosedTopics) -> Message | None:
    message = request.message
    assert isinstance(message, WriteTxnMarkersRequest)
    if not any(topic.name in closed.names for marker in message.markers for topic in marker.topics):
        return None
    return markers.WriteTxnMarkersResponse(
        [
            markers.WritableTxnMarkerResult(
                marker.producer_id,
                [_unwritten(topic.name, topic.partition_indexes, closed) for topic in marker.topics],
            )
            for marker in message.markers
        ]
    )


def _unwritten(
    name: str, partitions: Sequence[int], closed: ClosedTopics
) -> markers.WritableTxnMarkerTopicResult:
    code = DENIED if name in closed.names else _NOT_ATTEMPTED
    results = [markers.WritableTxnMarkerPartitionResult(partition, code) for partition in partitions]
    return markers.WritableTxnMarkerTopicResult(name, results)


def _by_transaction(
    answer: Callable[[], Message],
) -> Callable[[DecodedRequest, ClosedTopics], Message | None]:
    def deny(request: DecodedRequest, closed: ClosedTopics) -> Message | None:
        message = request.message
        assert isinstance(message, InitProducerIdRequest | AddOffsetsToTxnRequest | EndTxnRequest)
        return answer() if closed.has_transaction(message.transactional_id or "") else None

    return deny


_DENIALS: Final[Mapping[int, Callable[[DecodedRequest, ClosedTopics], Message | None]]] = {
    ApiKey.INIT_PRODUCER_ID: _by_transaction(
        lambda: InitProducerIdResponse(error_code=NO_TRANSACTION, producer_epoch=-1)
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: _deny_partitions,
    ApiKey.ADD_OFFSETS_TO_TXN: _by_transaction(lambda: AddOffsetsToTxnResponse(error_code=NO_TRANSACTION)),
    ApiKey.END_TXN: _by_transaction(lambda: EndTxnResponse(error_code=NO_TRANSACTION)),
    ApiKey.WRITE_TXN_MARKERS: _deny_markers,
}
TRANSACTION_KEYS: Final = frozenset(map(int, _DENIALS))
"""The requests about transactions that are looked into."""
