"""What decoding and encoding cost: `python -m tests.benchmarks.codecs [--rounds N]`.

Each row is one message; emitted codec and construct tree take turns, and the best of all rounds counts, in
microseconds a message. Figures of different machines or days do not compare; the ratio does.
"""

import argparse
import timeit
from collections.abc import Callable, Sequence

from kproxy.wire.codecs import Message, decode, encode
from kproxy.wire.messages import metadata_response, share_fetch_request, share_fetch_response
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.worlds.both_codecs import CODEC_KINDS, selected

TOPIC_ID = bytes(range(16))


def share_fetch_with_acknowledgements() -> ShareFetchRequest:
    """10 partitions with 3 acknowledgement batches each."""
    batches = [share_fetch_request.AcknowledgementBatch(first, first + 9, [1]) for first in (0, 10, 20)]
    partitions = [share_fetch_request.FetchPartition(index, 0, batches) for index in range(10)]
    topics = [share_fetch_request.FetchTopic(TOPIC_ID, partitions)]
    return ShareFetchRequest("group", "member-id-xx", 5, 500, 1, 1 << 20, 500, 500, topics=topics)


def share_fetch_with_records(size_bytes: int) -> ShareFetchResponse:
    """10 partitions with records of that size."""
    acquired = [share_fetch_response.AcquiredRecords(0, 499, 1)]
    partitions = [
        share_fetch_response.PartitionData(index, records=bytes(size_bytes), acquired_records=acquired)
        for index in range(10)
    ]
    return ShareFetchResponse(
        acquisition_lock_timeout_ms=30000,
        responses=[share_fetch_response.ShareFetchableTopicResponse(TOPIC_ID, partitions)],
    )


def metadata_of_a_large_cluster() -> MetadataResponse:
    """100 topics with 10 partitions each."""
    partitions = [
        metadata_response.MetadataResponsePartition(0, index, 1, 5, [1, 2, 3], [1, 2, 3])
        for index in range(10)
    ]
    topics = [
        metadata_response.MetadataResponseTopic(0, f"topic-{number}", TOPIC_ID, partitions=partitions)
        for number in range(100)
    ]
    brokers = [metadata_response.MetadataResponseBroker(node, "localhost", 9092) for node in range(3)]
    return MetadataResponse(0, brokers, "cluster", 1, topics)


MESSAGES: list[tuple[str, Message, int]] = [
    ("ShareFetch request, 10 x 3 batches", share_fetch_with_acknowledgements(), 2),
    ("ShareFetch response, 10 x 1 kB", share_fetch_with_records(1_000), 2),
    ("ShareFetch response, 10 x 1 MB", share_fetch_with_records(1_000_000), 2),
    ("Metadata response, 100 x 10", metadata_of_a_large_cluster(), 12),
]


def microseconds(work: Callable[[], object], rounds: int) -> float:
    """Return the best time of one call."""
    timer = timeit.Timer(work)
    repetitions = max(1, int(0.02 / max(timer.timeit(1), 1e-7)))
    return min(timer.repeat(rounds, repetitions)) / repetitions * 1e6


def measure(message: Message, version: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Return the times of decoding and of encoding by codec."""
    whole = b"".join(encode(message, version))
    times: dict[str, tuple[float, float]] = {}
    for kind in CODEC_KINDS:
        with selected(kind):
            times[kind] = (
                microseconds(lambda: decode(type(message), version, whole), rounds),
                microseconds(lambda: encode(message, version), rounds),
            )
    return times


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per message."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args(arguments).rounds
    print(f"{'us a message, decode / encode':36}{'emitted':>18}{'construct':>20}{'ratio':>16}")
    for name, message, version in MESSAGES:
        times = measure(message, version, rounds)
        (fast_decode, fast_encode), (slow_decode, slow_encode) = times["emitted"], times["construct"]
        ratio = f"{slow_decode / fast_decode:.1f} / {slow_encode / fast_encode:.1f}"
        emitted, construct = (
            f"{fast_decode:.1f} / {fast_encode:.1f}",
            f"{slow_decode:.0f} / {slow_encode:.0f}",
        )
        print(f"{name:36}{emitted:>18}{construct:>20}{ratio:>16}")


if __name__ == "__main__":
    main()
