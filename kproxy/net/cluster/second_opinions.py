"""When one broker's word about a topic is not enough.

Brokers hear of topics one after the other: a topic just created is unknown to a broker that is behind, and one just
deleted still known. So where an answer contradicts what is known, a topic that is gone, that has another id, or that is
back again, some other brokers are asked, too, and the majority is believed. Without one all stays as it is known, also
who the brokers are: one that was cut off from its controller may name itself alone, and know no topic of the others.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeAlias

from kproxy.error_codes import ErrorCode
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.contact import Answered, ClusterContact
from kproxy.settings.addresses import HostPort
from kproxy.share.identifiers import TopicId
from kproxy.telemetry import logs
from kproxy.wire.message_schema import ZERO_UUID
from kproxy.wire.messages.metadata_request import MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic

log = logs.logger("net.cluster.second_opinions")

MOST_WITNESSES: Final = 2
"""How many others are asked. One that is behind is outvoted by two, and to ask all of a large cluster costs it."""

WITNESS_TIMEOUT_MS: Final = 500
"""How long they have, together. Who says nothing until then has no voice, but where state would be deleted."""

Opinion: TypeAlias = Mapping[str, TopicId | None]
"""What a broker says: the id of each name, None where it knows no such topic; left out where it does not say."""

ExpectedTopics: TypeAlias = Mapping[str, Collection[TopicId]]
"""Ids by name."""

Question: TypeAlias = Callable[[list[MetadataRequestTopic], BrokerClient], Awaitable[MetadataResponse]]
"""Asks one broker for topics. Raises BrokerUnavailable."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a broker's answer."""

    doubted: frozenset[str] = frozenset()
    """The names of topics about which it contradicts what was known."""
    undecided: frozenset[str] = frozenset()
    """The names of topics about which it is not believed."""
    outvoted_by: MetadataResponse | None = None
    """What one of those answered who are believed instead, if there is a majority for it."""


class KnownTopics(Protocol):
    """What is known: `ClusterView`."""

    def id_of(self, name: str) -> TopicId | None:
        """Return the id of the topic of that name."""
        ...

    def was_gone(self, topic_id: TopicId) -> bool:
        """Return whether the topic is known to be gone."""
        ...


class SecondOpinions:
    """Asks for them whom `contact` knows, by `question`, where an answer contradicts what is `known`."""

    def __init__(self, contact: ClusterContact, known: KnownTopics, question: Question) -> None:
        self._contact = contact
        self._known = known
        self._question = question

    async def on(
        self, answered: Answered[MetadataResponse], asked_names: Collection[str], expected: ExpectedTopics
    ) -> Verdict:
        """Return what an answer to a question for `asked_names` is not believed about."""
        opinion = opinion_in(answered.value, asked_names)
        doubtful = contradictions(opinion, self._known, expected)
        if not doubtful:
            return Verdict()
        known_before = {name: self._known.id_of(name) for name in doubtful}
        others = await self._contact.ask_others(
            partial(self._question, [MetadataRequestTopic(name=name) for name in sorted(doubtful)]),
            than=_node_id_of(answered),
            first=answered.value.controller_id,
            most=MOST_WITNESSES,
            timeout_ms=WITNESS_TIMEOUT_MS,
        )
        opinions = [opinion, *(opinion_in(other, doubtful) if other else {} for other in others)]
        undecided = undecided_names(doubtful, opinions, self._known, expected)
        if undecided:
            log.info("brokers_disagree_about_topics", topics=sorted(undecided)[:10], asked=len(opinions))
        majority = majority_against(undecided, opinions)
        # What is known meanwhile is younger than this answer.
        judged = {name for name in doubtful if self._known.id_of(name) == known_before[name]}
        younger = contradictions(opinion, self._known, expected={}) - judged
        return Verdict(doubtful, undecided | younger, None if majority is None else others[majority - 1])

    def younger(self, topics: Collection[MetadataResponseTopic], expected: ExpectedTopics) -> frozenset[str]:
        """Return the names of those topics of an answer, not doubted before, that contradict what is known by now."""
        names = [topic.name for topic in topics if topic.name is not None]
        return contradictions(opinion_in(MetadataResponse(topics=list(topics)), names), self._known, expected)


def _node_id_of(answered: Answered[MetadataResponse]) -> int | None:
    if answered.node_id is not None or answered.address is None:
        return answered.node_id
    brokers = answered.value.brokers
    return next(
        (each.node_id for each in brokers if HostPort(each.host, each.port) == answered.address), None
    )


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
    """Return those of `names` about which the first of `opinions` is not confirmed by more than half of them.

    By more than half of those that say something of a name; that something `expected` is gone, by more than half of
    all: its state is deleted then, and nobody can take that back. Who is silent may be away, or slow for a moment.
    """
    return frozenset(name for name in names if not _is_decided(name, opinions, known, expected))


def majority_against(names: Collection[str], opinions: Sequence[Opinion]) -> int | None:
    """Return which of `opinions` more than half of those share who say something of one of `names`, not the first."""
    for name in names:
        votes = [opinion[name] for opinion in opinions if name in opinion]
        for position, opinion in enumerate(opinions):
            if (
                name in opinion
                and opinion[name] != votes[0]
                and _is_majority(votes.count(opinion[name]), votes)
            ):
                return position
    return None


def _is_decided(name: str, opinions: Sequence[Opinion], known: KnownTopics, expected: ExpectedTopics) -> bool:
    votes = [opinion[name] for opinion in opinions if name in opinion]
    said = votes[0]
    if not _is_confirmed(
        votes, _known_ids(name, known, expected), is_back=said is not None and known.was_gone(said)
    ):
        return False
    voices_needed = len(opinions) // 2 + 1
    return all(
        len(votes) - votes.count(topic_id) >= voices_needed
        for topic_id in expected.get(name, ())
        if topic_id != said
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
