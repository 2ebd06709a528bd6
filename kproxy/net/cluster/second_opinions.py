"""When one broker's word about a topic is not enough.

Brokers hear of topics one after the other: a topic just created is unknown to a broker that is behind, and one just
deleted still known. So where an answer contradicts what is known, a topic that is gone, that has another id, or that is
back again, some other brokers are asked, too, and the majority is believed. Without one all stays as it is known.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import TopicId
from kproxy.wire.message_schema import ZERO_UUID
from kproxy.wire.messages.metadata_response import MetadataResponse

MOST_WITNESSES: Final = 2
"""How many others are asked. One that is behind is outvoted by two, and to ask all of a large cluster costs it."""

WITNESS_TIMEOUT_MS: Final = 500
"""How long they have, together. Who says nothing until then has no voice."""

Opinion: TypeAlias = Mapping[str, TopicId | None]
"""What a broker says: the id of each name, None where it knows no such topic; left out where it does not say."""

ExpectedTopics: TypeAlias = Mapping[str, Collection[TopicId]]
"""Ids by name."""


class KnownTopics(Protocol):
    """What is known: `ClusterView`."""

    def id_of(self, name: str) -> TopicId | None:
        """Return the id of the topic of that name."""
        ...

    def was_gone(self, topic_id: TopicId) -> bool:
        """Return whether the topic is known to be gone."""
        ...


def opinion_in(response: MetadataResponse, asked_names: Collection[str]) -> Opinion:
    """Return what a response to a question for `asked_names` says; a name that it leaves out is unknown to it."""
    opinion: dict[str, TopicId | None] = dict.fromkeys(asked_names)
    for topic in response.topics:
        if topic.name is None or topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            continue
        # A broker that still creates a topic names it without an id: that is no word about any topic.
        is_described = topic.error_code in {ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE}
        if is_described and topic.topic_id != ZERO_UUID:
            opinion[topic.name] = TopicId(topic.topic_id)
        else:
            opinion.pop(topic.name, None)
    return opinion


def denied_topics(
    response: MetadataResponse, expected: ExpectedTopics, undecided: Collection[str]
) -> frozenset[TopicId]:
    """Return the ids of `expected` whose names a response says are unknown, or another topic's; no `undecided` ones.

    A topic that a broker would not speak of, for want of authorization or for any other error, is not denied.
    """
    if not expected:
        return frozenset()
    names = [name for name in expected if name not in undecided]
    opinion = opinion_in(response, [topic.name for topic in response.topics if topic.name is not None])
    return frozenset(
        topic_id
        for name in names
        if name in opinion
        for topic_id in expected[name]
        if topic_id != opinion[name]
    )


def contradictions(opinion: Opinion, known: KnownTopics, expected: ExpectedTopics) -> frozenset[str]:
    """Return the names about which `opinion` says other than is known, or `expected` by who asked."""
    return frozenset(
        name
        for name, said in opinion.items()
        if _known_ids(name, known, expected) - {said} or (said is not None and known.was_gone(said))
    )


def undecided_names(
    names: Collection[str], opinions: Sequence[Opinion], known: KnownTopics, expected: ExpectedTopics
) -> frozenset[str]:
    """Return those of `names` about which the first of `opinions` is not confirmed by more than half of them."""
    return frozenset(
        name
        for name in names
        if not _is_confirmed(
            [opinion[name] for opinion in opinions if name in opinion],
            _known_ids(name, known, expected),
            is_back=(said := opinions[0][name]) is not None and known.was_gone(said),
        )
    )


def _is_confirmed(votes: Sequence[TopicId | None], known_ids: Collection[TopicId], *, is_back: bool) -> bool:
    said = votes[0]
    if is_back and not _is_majority(votes.count(said), votes):
        return False
    return all(
        _is_majority(len(votes) - votes.count(topic_id), votes) for topic_id in known_ids if topic_id != said
    )


def _is_majority(count: int, votes: Sequence[TopicId | None]) -> bool:
    return 2 * count > len(votes)


def _known_ids(name: str, known: KnownTopics, expected: ExpectedTopics) -> frozenset[TopicId]:
    known_id = known.id_of(name)
    of_view = frozenset[TopicId]() if known_id is None else frozenset({known_id})
    return of_view | frozenset(expected.get(name, ()))
