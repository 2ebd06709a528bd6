"""Which requests take more than four times their size in memory, and how much: measured, so that nothing grows unseen.

Where an element of the wire is an object in Python, four times cannot hold: a name of seven bytes is a string of 56 in
a list of pointers, a struct of six bytes an object of 100 with a list of its own. What bounds these is their number:
50,000 in one request (`LARGEST_REQUEST_ELEMENTS`), 10,000 that administrators may name. Everything else holds: long
strings, tags that nobody knows, numbers, and what is streamed or refused without being decoded.
"""

from collections.abc import Mapping
from typing import Final

from tests.hostile.hostile_requests import ALLOWANCE_BYTES, Hostile

DECODED_BYTES: Final[Mapping[tuple[int, str], int]] = {
    (8, "topics"): 125,
    (8, "topics.partitions"): 98,
    (10, "coordinator_keys"): 255,
    (16, "states_filter"): 42,
    (16, "types_filter"): 42,
    (28, "topics"): 155,
    (28, "topics.partitions"): 98,
    (32, "resources"): 160,
    (32, "resources.configuration_keys"): 42,
    (33, "resources"): 160,
    (33, "resources.configs"): 138,
    (42, "groups_names"): 42,
    (44, "resources"): 160,
    (44, "resources.configs"): 143,
    (76, "subscribed_topic_names"): 42,
    (77, "group_ids"): 42,
    (78, "topics"): 118,
    (78, "topics.partitions"): 143,
    (78, "topics.partitions.acknowledgement_batches"): 138,
    (78, "forgotten_topics_data"): 118,
    (79, "topics"): 118,
    (79, "topics.partitions"): 135,
    (79, "topics.partitions.acknowledgement_batches"): 138,
    (83, "topics"): 118,
    (83, "topics.partitions"): 50,
    (84, "topics"): 118,
    (84, "topics.partitions"): 67,
    (85, "topics"): 118,
    (85, "topics.partitions"): 106,
    (85, "topics.partitions.state_batches"): 82,
    (86, "topics"): 118,
    (86, "topics.partitions"): 71,
    (87, "topics"): 118,
    (87, "topics.partitions"): 67,
    (90, "groups"): 155,
    (90, "groups.topics"): 155,
    (91, "topics"): 155,
    (91, "topics.partitions"): 55,
    (92, "topics"): 90,
}
"""Bytes of memory for each element beyond four times the size of the request, by API key and array, until it is
decoded: with names of seven bytes at most."""


def most_decoded_bytes(hostile: Hostile) -> int:
    """Return how much memory a request may take until it is decoded, or answered at once."""
    known = DECODED_BYTES.get((hostile.api_key, hostile.name), 0)
    return 4 * len(hostile.frame) + known * hostile.element_count + ALLOWANCE_BYTES


SERVED_BYTES: Final = 400
"""Bytes of memory that each element may take of the whole process while it is answered, beyond four times the bytes of
the request and of its answer: 337 were the most that was measured (79, `topics.partitions`)."""


def most_served_bytes(hostile: Hostile, answered_bytes: int) -> int:
    """Return how much memory a request may take until it is answered with so many bytes."""
    has_known_cost = (hostile.api_key, hostile.name) in DECODED_BYTES
    for_elements = SERVED_BYTES * hostile.element_count if has_known_cost else 0
    return 4 * (len(hostile.frame) + answered_bytes) + for_elements + ALLOWANCE_BYTES
