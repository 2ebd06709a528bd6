"""Answers of brokers: what an error code means for whoever needed a success, and how one of any length is read."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import BrokerUnavailable, MalformedMessage
from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.cluster.broker_client import CLIENT_ID, BrokerClient
from kproxy.net.cluster.prepared_request import PreparedRequest
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message

Found = TypeVar("Found")

LONG_ANSWER_BYTES: Final = 256 * 1024
"""What is longer is decoded beside the event loop: of some 8,000 groups, or 5,000 partitions, which take 8 ms."""

_FIRST_FLEXIBLE: Final = {ApiKey.METADATA: 9, ApiKey.LIST_GROUPS: 3}
_FIRST_THROTTLED: Final = {ApiKey.METADATA: 3, ApiKey.LIST_GROUPS: 1}
"""Since when answers to what may be asked at length begin with ThrottleTimeMs."""

_CORRELATION_ID_BYTES: Final = 4


class BrokerRefusal(BrokerUnavailable):
    """A broker answered with an error code.

    Raised by `require_success`; handled like any BrokerUnavailable, unless the code says what else to do.
    """

    def __init__(self, error_code: ErrorCode, detail: str) -> None:
        super().__init__(error_code, detail)
        self.error_code = error_code
        self._detail = detail

    def __str__(self) -> str:
        return self._detail


def require_success(error_code: int, what: str) -> None:
    """Raise BrokerRefusal, which names `what` was asked of whom, unless `error_code` is NONE."""
    code = known_code(error_code)
    if code is not ErrorCode.NONE:
        raise BrokerRefusal(code, f"{what}: {code.name} ({error_code})")


@dataclass(frozen=True, slots=True)
class _Frame:
    """An answer as it came. `throttle_time_ms` is what the connection has to know of it at once."""

    throttle_time_ms: int
    content: bytes


async def answer_of_any_length(
    client: BrokerClient,
    api_key: ApiKey,
    message: Message,
    version: int,
    find: Callable[[Message], Found],
) -> Found:
    """Return what `find` finds in the broker's answer to a METADATA or LIST_GROUPS request.

    How long it is nobody can know before. A long one is decoded, and looked through by `find`, in a thread: `find`
    touches nothing but the message.

    Raises:
        BrokerUnavailable: see `BrokerClient.request`.
    """
    request = PreparedRequest.of(api_key, version, CLIENT_ID, message)
    answer = await client.repeat(request, partial(_read, api_key, version))
    if not isinstance(answer, _Frame):
        return find(answer)
    try:
        return await asyncio.to_thread(lambda: find(_decoded(api_key, version, answer.content)))
    except MalformedMessage as malformed:
        failure = BrokerFailure(
            "malformed_response", f"{client.peer} sent an answer that cannot be read: {malformed}"
        )
        client.close(failure)
        raise failure from malformed


def _read(api_key: ApiKey, version: int, frame: memoryview) -> Message | _Frame:
    if len(frame) <= LONG_ANSWER_BYTES:
        return _decoded(api_key, version, frame)
    if version < _FIRST_THROTTLED[api_key]:
        return _Frame(0, bytes(frame))
    begin = _CORRELATION_ID_BYTES + (
        1 if version >= _FIRST_FLEXIBLE[api_key] else 0
    )  # brokers send no tags there
    return _Frame(int.from_bytes(frame[begin : begin + 4], "big", signed=True), bytes(frame))


def _decoded(api_key: ApiKey, version: int, frame: bytes | memoryview) -> Message:
    return codecs.decode_response(api_key, version, frame)[1]
