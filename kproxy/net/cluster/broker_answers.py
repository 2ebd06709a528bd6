"""Answers of brokers: what an error code means for whoever needed a success, and how one of any length is read."""

import asyncio
from collections.abc import Callable
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
    if not isinstance(answer, bytes):
        return find(answer)
    return await read_beside(client, lambda: find(_decoded(api_key, version, answer)))


async def read_beside(client: BrokerClient, read: Callable[[], Found]) -> Found:
    """Return what `read` makes of a long answer of `client`, in a thread; the connection ends where it cannot.

    Raises:
        BrokerUnavailable: it raised MalformedMessage.
    """
    try:
        return await asyncio.to_thread(read)
    except MalformedMessage as malformed:
        failure = BrokerFailure(
            "malformed_response", f"{client.peer} sent an answer that cannot be read: {malformed}"
        )
        client.close(failure)
        raise failure from malformed


def _read(api_key: ApiKey, version: int, frame: memoryview) -> Message | bytes:
    return bytes(frame) if len(frame) > LONG_ANSWER_BYTES else _decoded(api_key, version, frame)


def _decoded(api_key: ApiKey, version: int, frame: bytes | memoryview) -> Message:
    return codecs.decode_response(api_key, version, frame)[1]
