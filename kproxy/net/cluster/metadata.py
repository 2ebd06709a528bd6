"""`ClusterMetadataCache`: the backing cluster's brokers, topics and leaders, kept fresh.

Only topics that somebody asked about are kept: a cluster may have a hundred thousand. All questions go
through `MetadataRounds`, so no number of unknown topics, moved leaders or impatient clients makes a storm
of requests.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TypeVar

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.live.pauses import let_others_go_on
from kproxy.handlers.ports import BrokerEndpoint, Clock, PartitionLeader, TopicDescription
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.contact import Answered, ClusterContact
from kproxy.net.cluster.leader_doubts import THE_BROKERS, Doubted, RepeatedDoubts
from kproxy.net.cluster.metadata_looks import (
    LookAnswer,
    MetadataLook,
    MetadataLooks,
    ask_for_topics,
    require_usable,
)
from kproxy.net.cluster.metadata_rounds import MetadataRound, MetadataRounds, MetadataTiming, in_requests
from kproxy.net.cluster.second_opinions import ExpectedTopics, SecondOpinions, denied_topics
from kproxy.net.cluster.share_support import ShareSupport, probe_share_groups
from kproxy.net.cluster.topic_questions import TopicQuestions
from kproxy.net.cluster.view import (
    ClusterBroker,
    ClusterView,
    TakenIn,
    TopicIdsMissing,
    ViewChanges,
    in_portions,
    require_ids,
)
from kproxy.net.counting import Counting
from kproxy.net.tasks import TaskKeeper
from kproxy.settings.addresses import HostPort
from kproxy.share.identifiers import TopicId
from kproxy.telemetry import logs
from kproxy.wire.messages.metadata_request import MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse

Answer = TypeVar("Answer")

log = logs.logger("net.cluster.metadata")


class ClusterMetadataCache:
    """Implements `ClusterMetadata` for the backing cluster behind `bootstrap_servers`.

    `advertise` says where clients reach the virtual broker of a backing broker. Callbacks are called on the
    event loop, after a response was taken in, and must not raise.
    """

    def __init__(  # noqa: PLR0913 - keyword-only collaborators, named once in the composition root
        self,
        bootstrap_servers: Sequence[HostPort],
        *,
        connections: BrokerConnections,
        advertise: Callable[[ClusterBroker], BrokerEndpoint],
        clock: Clock,
        tasks: TaskKeeper,
        counting: Counting,
        timing: MetadataTiming | None = None,
    ) -> None:
        self.on_brokers: list[Callable[[Sequence[ClusterBroker]], None]] = []
        """Called with every broker when one came, went or moved."""
        self.on_topics: list[Callable[[Collection[TopicId]], None]] = []
        """Called with the topics that are new, gone, or have another leader or leader epoch somewhere."""
        self.on_refreshed: list[Callable[[], None]] = []
        """Called after each full round: those of `metadata.max.age.ms` and of `refresh`."""
        self.last_failure: BrokerUnavailable | None = None
        """Why the last round failed; None when it did not."""
        self._contact = ClusterContact(bootstrap_servers, connections, clock)
        self._advertise = advertise
        self._clock = clock
        self._tasks = tasks
        self._counting = counting
        self._timing = timing = timing if timing is not None else MetadataTiming()
        self.view = ClusterView(unknown_ttl_ms=timing.unknown_ttl_ms)
        """What brokers said last, to be looked into."""
        self._question = partial(ask_for_topics, self.view)
        self._second_opinions = SecondOpinions(self._contact, self.view, self._question)
        # What kproxy asks for itself, leaders of the state log among it, never waits for what clients name.
        self._rounds = MetadataRounds(self._run, clock=clock, tasks=tasks, timing=timing)
        self._questions = TopicQuestions(self._run, self._is_unheard, clock=clock, tasks=tasks, timing=timing)
        self._refreshed_ms: int | None = None
        self._looks = MetadataLooks()
        self._doubts = RepeatedDoubts(clock)
        self._contacted_ms: int | None = None

    # ------------------------------------------------ the ClusterMetadata port

    async def topics_named(self, names: Collection[str]) -> Mapping[str, TopicDescription]:
        """Return those of `names` that exist; asks the cluster for those it has not heard of lately.

        Raises:
            BrokerUnavailable: it had to be asked, and nobody answers.
        """
        await self._questions.ask(names)
        now_ms = self._clock.now_ms()
        found = ((name, self.view.topic_named(name, now_ms)) for name in names)
        return {name: description for name, description in found if description is not None}

    async def topic_with_id(self, topic_id: TopicId) -> TopicDescription | None:
        """Return the topic, or None when the cluster has no such id.

        Brokers before Kafka 3.1 cannot be asked by id: there, only topics named before are found.

        Raises:
            BrokerUnavailable: it had to be asked, and nobody answers.
        """
        return (await self.topics_with_ids((topic_id,))).get(topic_id)

    async def topics_with_ids(self, topic_ids: Collection[TopicId]) -> Mapping[TopicId, TopicDescription]:
        """Return those of `topic_ids` that the cluster has, as `topic_with_id` does for one.

        Raises:
            BrokerUnavailable: it had to be asked, and nobody answers.
        """
        await self._questions.ask(topic_ids)
        now_ms = self._clock.now_ms()
        found = ((topic_id, self.view.topic_with_id(topic_id, now_ms)) for topic_id in topic_ids)
        return {topic_id: description for topic_id, description in found if description is not None}

    async def missing_topics(self, topics: Mapping[TopicId, str]) -> Collection[TopicId]:
        """Ask by name, and return those of `topics` that the cluster does not have any more.

        Raises:
            BrokerUnavailable: nobody answers.
        """
        if not topics:
            return ()
        denied = await self._rounds.join(names=set(topics.values()), expected=topics)
        return [topic_id for topic_id in topics if topic_id in denied]

    def leader_of(self, topic_id: TopicId, partition: int) -> PartitionLeader | None:
        return self.view.leader_of(topic_id, partition)

    def advertised_endpoints(self) -> Collection[BrokerEndpoint]:
        return tuple(self._advertise(broker) for broker in self.view.brokers.values())

    async def refresh(self) -> None:
        """Ask for the brokers and all topics in the cache; concurrent calls share one round.

        Raises:
            BrokerUnavailable: nobody answers; the text says who was tried.
        """
        await self._rounds.join(is_full=True)

    # ------------------------------------------------ for the rest of kproxy.net and the application

    @property
    def cluster_id(self) -> str | None:
        """The backing cluster's id; None until it was heard."""
        return self.view.cluster_id

    @property
    def brokers(self) -> Sequence[ClusterBroker]:
        """The backing brokers as last heard."""
        return tuple(self.view.brokers.values())

    @property
    def age_ms(self) -> int | None:
        """How long ago the last full round succeeded; None if none has yet."""
        return None if self._refreshed_ms is None else self._clock.now_ms() - self._refreshed_ms

    @property
    def contact_age_ms(self) -> int | None:
        """How long ago the cluster last answered a round of any kind; None if it never has."""
        return None if self._contacted_ms is None else self._clock.now_ms() - self._contacted_ms

    async def ask_for_brokers(self) -> None:
        """Ask for nothing else: the cheapest proof that the cluster answers. Raises BrokerUnavailable."""
        await self._rounds.join()

    async def look_for_brokers(self) -> None:
        """Ask as `ask_for_brokers`, because one is not where it was said to be; see `confirm` with 0."""
        await self._look_up((THE_BROKERS,))

    def require_leader(self, topic: TopicDescription, partition: int) -> PartitionLeader:
        """Return the leader of a partition as last heard. Raises BrokerUnavailable when none is known."""
        leader = self.leader_of(topic.topic_id, partition)
        if leader is None or leader.leader_id < 0:
            raise BrokerUnavailable(f"no leader is known of {topic.name}-{partition}")
        return leader

    def describe(self, topic_id: TopicId) -> TopicDescription | None:
        """Return the topic if it is in the cache, without asking."""
        return self.view.topic_with_id(topic_id, self._clock.now_ms())

    def id_of(self, name: str) -> TopicId | None:
        """Return the id of the topic of that name in the cache, without asking."""
        return self.view.id_of(name)

    async def confirm(
        self, topic_ids: Collection[TopicId], *, not_older_than_ms: int, is_in_line: bool = False
    ) -> None:
        """Make sure that topics in the cache were seen under these ids less than `not_older_than_ms` ago; 0 asks.

        So none created anew is taken for the old one of its name; others are nobody's concern here. With 0 leaders are
        doubted, in line (`MetadataRounds.join`): if nobody has said other since the last time, another broker is asked.

        Raises:
            BrokerUnavailable: it had to be asked, and nobody answers.
        """
        now_ms = self._clock.now_ms()
        stale = self.view.names_not_confirmed_after(topic_ids, now_ms - not_older_than_ms)
        if stale and not_older_than_ms > 0:
            await self._rounds.join(names=stale, is_in_line=is_in_line)
        elif stale:
            await self._look_up(topic_ids, names=stale)

    async def look(self, names: Collection[str], in_passing: Sequence[str] = ()) -> bool:
        """Ask for the brokers and for the topics of `names`, and take in what is different; cheap when nothing is.

        `names` must be the same object, unchanged, as long as the same topics are meant; those `in_passing` are meant
        this once. Returns False when brokers say different things of some topic, so that it stays as it was.

        Raises:
            BrokerUnavailable: nobody answers.
        """
        try:
            are_settled = [await self._look(each) for each in self._looks.at(names, self.view, in_passing)]
        except BrokerUnavailable as failure:
            self._counting.count("metadata_looks", 1, "failed")
            self._note_unreachable(failure)
            raise
        self._note_reached()
        return all(are_settled)

    def ask_another_broker(self) -> None:
        """Ask another one first from now on: what the one asked so far says of topics is not what their leaders say."""
        self._contact.pass_on()

    def expect(self, names: Collection[str]) -> None:
        """Look for these topics at the next question, although they were missing a moment ago."""
        self.view.expect(names)

    async def probe_share_groups(self) -> ShareSupport:
        """Return what the first broker says that tells: ABSENT or SERVED. Raises BrokerUnavailable when none does."""
        return await self._contact.ask(probe_share_groups)

    async def ask(
        self, question: Callable[[BrokerClient], Awaitable[Answer]], *, is_repeatable: bool = True
    ) -> Answer:
        """Return what the first broker that can be asked answers, see `ClusterContact`. Raises BrokerUnavailable."""
        return await self._contact.ask(question, is_repeatable=is_repeatable)

    def start(self) -> None:
        """Begin to refresh every `metadata.max.age.ms`, and at once while the cluster cannot be reached."""
        self._tasks.spawn(self._refresh_forever(), name="metadata refresh")

    # ------------------------------------------------ private

    async def _look_up(self, doubted: Collection[Doubted], names: Collection[str] = ()) -> None:
        if self._doubts.are_for_another(doubted):
            self.ask_another_broker()
        with self._doubts.looked_up(doubted):
            await self._rounds.join(names=names, is_in_line=True)

    def _is_unheard(self, name_or_id: str | TopicId) -> bool:
        return self.view.is_unheard(name_or_id, self._clock.now_ms())

    async def _refresh_forever(self) -> None:
        while True:
            try:
                await self.refresh()
                await asyncio.sleep(self._timing.max_age_ms / 1000)
            except BrokerUnavailable:
                # The rounds themselves keep the pauses; this one is for those who are refused without a
                # round.
                await asyncio.sleep(self._timing.min_interval_ms / 1000)

    async def _run(self, this_round: MetadataRound) -> None:
        try:
            await self._ask_for(this_round)
        except BrokerUnavailable as failure:
            self._note_failure(failure)
            raise
        self._note_success()
        if this_round.is_full:
            self._note_full_round()

    async def _ask_for(self, this_round: MetadataRound) -> None:
        names = this_round.names.union(self.view.topic_names if this_round.is_full else ())
        ids, expected = this_round.topic_ids, this_round.expected_ids()
        # Brokers overlook the names in a request that has ids. One for no topics still brings the brokers.
        by_name = ([MetadataRequestTopic(name=name) for name in part] for part in in_requests(names))
        by_id = ([MetadataRequestTopic(name=None, topic_id=key) for key in part] for part in in_requests(ids))
        for topics in chain(by_name, by_id) if names or ids else ([],):
            this_round.denied |= await self._ask(topics, expected)
            now_ms = self._contacted_ms = self._clock.now_ms()
            asked_names = this_round.names.intersection(
                topic.name for topic in topics if topic.name is not None
            )
            asked_ids = [TopicId(topic.topic_id) for topic in topics if topic.name is None]
            self.view.note_missing(asked_names, asked_ids, now_ms)

    async def _ask(self, topics: list[MetadataRequestTopic], expected: ExpectedTopics) -> frozenset[TopicId]:
        """Ask, and return the `expected` topics that are gone."""
        answered = await self._contact.ask_whom(partial(self._question, topics))
        asked_names = [topic.name for topic in topics if topic.name is not None]
        taken_in = await self._take_in(answered, asked_names, expected)
        return denied_topics(answered.value, expected, taken_in.undecided)

    async def _look(self, look: MetadataLook) -> bool:
        async def question(client: BrokerClient) -> LookAnswer | None:
            answer = await look.ask(client, self.view)
            if answer is not None:
                require_usable(answer.response, client.peer, self.view.cluster_id)
            return answer

        answered = await self._contact.ask_whom(question)
        answer = answered.value
        if look.is_compared:
            self._counting.count("metadata_looks", 1, "same" if answer is None else "different")
        if answer is None:
            return True
        response = Answered(answer.response, answered.node_id, answered.address)
        taken_in = await self._take_in(response, look.names, {})
        if taken_in.is_alone and not taken_in.undecided:
            look.believe(answer, self.view)
        else:
            look.forget()
        return not taken_in.undecided

    async def _take_in(
        self, answered: Answered[MetadataResponse], asked_names: Collection[str], expected: ExpectedTopics
    ) -> TakenIn:
        """Take in a broker's answer, but what others do not confirm of what is different in it.

        Others have turns in between when it tells of very many partitions; what they hear is younger. Raises
        TopicIdsMissing where topics have no ids, after all else was taken in: brokers move there, too.
        """
        verdict = await self._second_opinions.on(answered, asked_names, expected)
        now_ms, undecided, is_alone = self._clock.now_ms(), verdict.undecided, True
        _, *later = in_portions(answered.value.topics, verdict.doubted)
        names = frozenset(topic.name for topics in later for topic in topics if topic.name is not None)
        self._tell(
            self.view.absorb(
                answered.value, asked_names=asked_names, now_ms=now_ms, undecided=undecided, later=names
            )
        )
        if verdict.outvoted_by is not None:
            self._tell(self.view.absorb_brokers(verdict.outvoted_by, now_ms))
        for topics in later:
            version = self.view.version
            await let_others_go_on()
            is_alone = is_alone and version == self.view.version
            undecided |= self._second_opinions.younger(topics, expected)
            self._tell(self.view.absorb_more(topics, now_ms=now_ms, undecided=undecided))
        require_ids(answered.value.topics)
        return TakenIn(undecided, is_alone)

    def _tell(self, changes: ViewChanges) -> None:
        self._contact.learn(self.brokers)
        self._doubts.settle(changes.moved_topics)
        if changes.are_brokers_changed:
            self._doubts.settle((THE_BROKERS,))
            log.info("backing_brokers_changed", node_ids=sorted(self.view.brokers))
            for tell_brokers in self.on_brokers:
                tell_brokers(self.brokers)
        if changes.moved_topics:
            for tell_topics in self.on_topics:
                tell_topics(changes.moved_topics)

    def _note_success(self) -> None:
        self._note_reached()
        self._counting.count("metadata_refreshes", 1, "ok")

    def _note_reached(self) -> None:
        if not isinstance(self.last_failure, TopicIdsMissing | None):
            log.info("backing_cluster_reached", cluster_id=self.view.cluster_id)
        self.last_failure = None
        self._contacted_ms = self._clock.now_ms()

    def _note_full_round(self) -> None:
        self._refreshed_ms = self._clock.now_ms()
        idle_since_ms = self._refreshed_ms - self._timing.idle_topic_ttl_ms
        self.view.forget_idle(idle_since_ms, apart_from=self._looks.names)
        for tell in self.on_refreshed:
            tell()

    def _note_failure(self, failure: BrokerUnavailable) -> None:
        self._note_unreachable(failure)
        self._counting.count("metadata_refreshes", 1, "failed")

    def _note_unreachable(self, failure: BrokerUnavailable) -> None:
        if isinstance(failure, TopicIdsMissing):
            self._contacted_ms = self._clock.now_ms()  # it answered
        elif isinstance(self.last_failure, TopicIdsMissing | None):
            log.warning("backing_cluster_unreachable", reason=type(failure).__name__, detail=failure)
        self.last_failure = failure
