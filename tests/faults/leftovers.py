"""What kproxy may hold when all who used it have gone, compared with what it held before. Pure."""

from collections.abc import Iterator
from typing import Final

from tests.faults.watched_kproxy import Ends, Held

CONNECTIONS_PER_BROKER: Final = 11
"""kproxy's own: one for questions, one for appends, one for people, two that follow logs, four that read (see
`BrokerConnections`); and two of the fleet's at the coordinator."""

ENDED_WITH_A_CONNECTION: Final = (
    "LimitedConnection",
    "ConnectionMemory",
    "ClientSession",
    "RequestStream",
    "ResponseStream",
    "UpstreamTwin",
    "ShareSession",
)
"""Classes of which nothing is left when there is no client."""

MOST_MORE_BYTES: Final = 12 * 1024 * 1024
"""By how much the memory of the process may have grown, whether it ran for a minute or for ten; 1 to 2 MB is usual."""


def left_over(before: Held, after: Held, *, brokers: int, vanished: set[Ends]) -> list[str]:
    """Return what is there `after` all clients have gone that should not be, in words; empty if nothing is.

    `before` is what was held without clients, once everything had been used. `vanished` are connections of which
    nothing will ever be heard: whoever still has one waits for ever.
    """
    return [
        *(f"{count} {what}" for what, count in after.share.items() if count),
        *(f"{ends[1]} is still connected" for ends in after.client_connections),
        *(
            f"the connection {ends} still waits for who has vanished"
            for ends in after.broker_connections & vanished
        ),
        *_counted(before, after, brokers),
    ]


def _counted(before: Held, after: Held, brokers: int) -> Iterator[str]:
    if len(after.broker_connections) > brokers * CONNECTIONS_PER_BROKER:
        yield f"{len(after.broker_connections)} connections to {brokers} brokers"
    if after.other_files > before.other_files:
        yield f"{after.other_files} other open files, {before.other_files} before"
    for name, count in (after.tasks - before.tasks).items():
        yield f"{count} more of the tasks {name!r}"
    for name in ENDED_WITH_A_CONNECTION:
        if after.objects[name] > before.objects[name]:
            yield f"{after.objects[name]} of the objects {name}, {before.objects[name]} before"
    if after.resident_bytes - before.resident_bytes > MOST_MORE_BYTES:
        yield f"{after.resident_bytes:,} bytes of memory, {before.resident_bytes:,} before"
