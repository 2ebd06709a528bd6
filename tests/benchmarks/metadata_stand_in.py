"""A stand-in for a broker that answers Metadata at once, with topics of any size: what asking costs kproxy alone."""

import multiprocessing
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.queues import Queue
from typing import Final

from kproxy.settings import HostPort
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.frames import LENGTH_BYTES, unpack_request_head
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

HOST: Final = "127.0.0.1"
REPLICAS: Final = (1, 2, 3)
VERSIONS: Final = ((ApiKey.METADATA, 12), (ApiKey.API_VERSIONS, 3))


@contextmanager
def metadata_stand_in(partitions_per_topic: int) -> Iterator[HostPort]:
    """Run it in a process of its own; whatever topic is asked for has so many partitions of three replicas."""
    ports: Queue[int] = multiprocessing.Queue()
    process = multiprocessing.Process(target=_serve, args=(ports, partitions_per_topic), daemon=True)
    process.start()
    try:
        yield HostPort(HOST, ports.get())
    finally:
        process.kill()
        process.join()


def _serve(ports: "Queue[int]", partitions_per_topic: int) -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
        ports.put(port)
        while True:
            connection, _ = listener.accept()
            answering = threading.Thread(
                target=_answer_all, args=(connection, port, partitions_per_topic), daemon=True
            )
            answering.start()


def _answer_all(connection: socket.socket, port: int, partitions_per_topic: int) -> None:
    """Answer each request; answers to the same question are made once."""
    made: dict[bytes, bytes] = {}
    stream = connection.makefile("rb")
    while head := stream.read(LENGTH_BYTES):
        frame = stream.read(int.from_bytes(head, "big"))
        _, api_key, version, correlation_id = unpack_request_head(head + frame)
        question = frame[:4] + frame[8:]
        if question not in made:
            answer = _answer(codecs.decode_request(frame), port, partitions_per_topic)
            made[question] = b"".join(codecs.encode_response(api_key, version, 0, answer))
        encoded = made[question]
        connection.sendall(encoded[:4] + correlation_id.to_bytes(4, "big") + encoded[8:])


def _answer(request: codecs.DecodedRequest, port: int, partitions_per_topic: int) -> codecs.Message:
    message = request.message
    if not isinstance(message, MetadataRequest):
        return ApiVersionsResponse(api_keys=[ApiVersion(key, 0, newest) for key, newest in VERSIONS])
    partitions = [
        MetadataResponsePartition(0, number, 1, 5, list(REPLICAS), list(REPLICAS))
        for number in range(partitions_per_topic)
    ]
    topics = [
        MetadataResponseTopic(
            0, topic.name, str(topic.name).encode().ljust(16, b".")[-16:], partitions=partitions
        )
        for topic in message.topics or []
    ]
    brokers = [MetadataResponseBroker(1, HOST, port)]
    return MetadataResponse(brokers=brokers, cluster_id="stand-in", controller_id=1, topics=topics)
