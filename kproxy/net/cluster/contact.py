"""`ClusterContact`: some broker of the backing cluster that answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, TypeVar

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import Clock
from kproxy.interception.broker_addresses import BackingBroker
from kproxy.net.backoff import Backoff
from kproxy.net.broker_failures import AuthenticationExpected
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.first_answer import NobodyAnswered, first_answer
from kproxy.settings.addresses import HostPort
from kproxy.telemetry import logs

log = logs.logger("net.cluster.contact")

Answer = TypeVar("Answer")

PATIENCE_SECONDS: Final = 1.0
"""How long one broker may say nothing before the next is asked as well: most answer within milliseconds, and who waits
for `/readyz`, for a topic or for a leader must not wait until the request to one that hangs has timed out."""

SILENT_PART: Final = 0.75
"""Of this time, of which one that said nothing, and is waited for no more, is told from one that had no time to."""

FORMER_VOICE_MS: Final = 600_000
"""How long a broker that the cluster stopped naming, and that is silent since, is one of those whose opinion counts.
Whoever names itself alone may be cut off from its controller, and the others are the cluster then."""

MOST_FORMER: Final = 4
"""Brokers that are remembered when they are not named any more: the last ones."""

LEAST_SILENCE_MS: Final = 30_000
LONGEST_SILENCE_MS: Final = 120_000
"""For how long one that did not answer is not asked before a known broker: each may cost whoever asks
`PATIENCE_SECONDS`; but where the only known broker is cut off, the others must be found soon after they are back."""


@dataclass(frozen=True, slots=True)
class Answered(Generic[Answer]):
    """An answer, and the node id of whose it is; None of a bootstrap server at `address` that may be any broker."""

    value: Answer
    node_id: int | None
    address: HostPort | None = None


@dataclass(slots=True)
class _Former:
    """A broker that is not named any more, and when it was heard of last."""

    broker: BackingBroker
    heard_ms: int


class ClusterContact:
    """Asks one broker after the other until one answers.

    First the one that answered last, then the others that are known, then the bootstrap servers: so a cluster
    whose brokers have all moved is found again where it was found first. Last those that were known some minutes ago.
    Where one is passed on from these are asked before it, once: it may be cut off, and name itself alone.
    """

    def __init__(
        self, bootstrap_servers: Sequence[HostPort], connections: BrokerConnections, clock: Clock
    ) -> None:
        self._bootstrap_servers = tuple(bootstrap_servers)
        self._connections = connections
        self._clock = clock
        self._began_ms = clock.now_ms()
        self._node_ids: list[int] = []
        self._brokers: dict[int, BackingBroker] = {}
        self._former: dict[int, _Former] = {}  # who left last is the last
        self._pass_count = 0
        # By node id, of those that have not answered since: in which pass.
        self._passed_over: dict[int, int] = {}
        self._is_elsewhere_due = False
        self._silences: dict[HostPort, Backoff] = {}

    def learn(self, brokers: Sequence[BackingBroker]) -> None:
        """Ask these brokers from now on, in the order in which they answered before."""
        known = {broker.node_id: broker for broker in brokers}
        remaining = [node_id for node_id in self._node_ids if node_id in known]
        self._node_ids = remaining + sorted(known.keys() - set(remaining))
        self._node_ids.sort(key=lambda node_id: self._passed_over.get(node_id) == self._pass_count)
        self._remember(known)
        self._connections.learn(brokers)

    def pass_on(self) -> None:
        """Ask the one that answered last after all others that are known, from now on.

        Of the others those come first that were not found unreachable a moment ago. Until one of them answers, those
        that were known lately and bootstrap servers at other addresses are asked before it, too.
        """
        first, others = self._node_ids[:1], self._node_ids[1:]
        others.sort(key=lambda node_id: self._connections.backoff_ms(node_id) > 0)
        self._node_ids[:] = [*others, *first]
        self._pass_count += 1
        known = {each: number for each, number in self._passed_over.items() if each in others}
        self._passed_over = known | dict.fromkeys(first, self._pass_count)
        self._is_elsewhere_due = True

    async def ask(
        self, question: Callable[[BrokerClient], Awaitable[Answer]], *, is_repeatable: bool = True
    ) -> Answer:
        """Return what the first broker that can be asked answers to `question`.

        Where one says nothing for `PATIENCE_SECONDS` the next is asked as well, and what comes first counts; not
        so a question that is not `is_repeatable`, which is asked elsewhere only after a failure.

        Raises:
            TopicIdsMissing: the question found the cluster unfit.
            BrokerUnavailable: nobody answers; the text says who was tried, and what happened there. It is an
                AuthenticationExpected if a broker was reached that seems to expect TLS or SASL.
        """
        return (await self.ask_whom(question, is_repeatable=is_repeatable)).value

    async def ask_whom(
        self, question: Callable[[BrokerClient], Awaitable[Answer]], *, is_repeatable: bool = True
    ) -> Answered[Answer]:
        """Return what `ask` does, and whose answer it is. Raises as it does."""
        try:
            return await first_answer(
                self._attempts(question, is_patient=not is_repeatable),
                patience_seconds=PATIENCE_SECONDS if is_repeatable else None,
            )
        except NobodyAnswered as nobody:
            raise _nobody_answers(nobody.failures) from None

    def _attempts(
        self, question: Callable[[BrokerClient], Awaitable[Answer]], *, is_patient: bool
    ) -> Sequence[Callable[[], Awaitable[Answered[Answer]]]]:
        """Return whom to ask, in order.

        Who is patient waits for each, and so for no silent one before a known one; nor does an answer to it say that a
        broker that was passed on from is to be believed again.
        """
        ask_known = self._hear if is_patient else self._ask_known
        known = [partial(ask_known, node_id, question) for node_id in self._node_ids]
        is_one_left = not self._passed_over.keys().isdisjoint(self._node_ids)
        is_due = is_one_left and self._is_elsewhere_due and not is_patient
        elsewhere = self._elsewhere() if is_due else ()
        before_the_last = [partial(self._ask_elsewhere, address, question) for address in elsewhere]
        strangers = [
            partial(self._ask_stranger, address, question)
            for address in (*self._bootstrap_servers, *map(_address, self._lately_known()))
            if address not in elsewhere
        ]
        return [*known[:-1], *before_the_last, *known[-1:], *strangers]

    def _elsewhere(self) -> Sequence[HostPort]:
        """Return where brokers may be that are not known, and that were not silent a moment ago."""
        addresses = dict.fromkeys([*map(_address, self._lately_known()), *self._bootstrap_servers])
        for known in self._brokers.values():
            addresses.pop(_address(known), None)
        self._silences = {address: each for address, each in self._silences.items() if address in addresses}
        return [address for address in addresses if not self._is_silent(address)]

    def _is_silent(self, address: HostPort) -> bool:
        return address in self._silences and self._silences[address].remaining_ms > 0

    async def _ask_known(
        self, node_id: int, question: Callable[[BrokerClient], Awaitable[Answer]]
    ) -> Answered[Answer]:
        pass_count = self._pass_count
        answer = await question(await self._connections.control(node_id))
        # What it was asked before it was passed on from tells nothing of those that are to be asked since.
        if pass_count >= self._passed_over.get(node_id, 0):
            self._prefer(node_id)
        return Answered(answer, node_id)

    async def _ask_stranger(
        self, address: HostPort, question: Callable[[BrokerClient], Awaitable[Answer]]
    ) -> Answered[Answer]:
        async with self._visit(address) as client:
            answer = await question(client)
        self._silences.pop(address, None)
        return Answered(answer, self._node_at(address), address)

    async def _ask_elsewhere(
        self, address: HostPort, question: Callable[[BrokerClient], Awaitable[Answer]]
    ) -> Answered[Answer]:
        pass_count, loop = self._pass_count, asyncio.get_running_loop()
        began_s = loop.time()
        try:
            answered = await self._ask_stranger(address, question)
        except BrokerUnavailable:
            self._note_silence(address)
            raise
        except asyncio.CancelledError:  # another one answered first, or whoever asked has gone
            # It may have begun a little later than the wait for it, and be cancelled just when that was over.
            if loop.time() - began_s >= PATIENCE_SECONDS * SILENT_PART:
                self._note_silence(address)
            raise
        if pass_count == self._pass_count:
            self._is_elsewhere_due = False
        return answered

    def _note_silence(self, address: HostPort) -> None:
        if not self._is_silent(address):  # several questions at once are one silence
            silence = self._silences.setdefault(
                address, Backoff(self._clock, first_ms=LEAST_SILENCE_MS, last_ms=LONGEST_SILENCE_MS)
            )
            silence.failed()

    async def ask_others(
        self,
        question: Callable[[BrokerClient], Awaitable[Answer]],
        *,
        than: int | None,
        first: int,
        most: int,
        timeout_ms: int,
    ) -> Sequence[Answer | None]:
        """Return what brokers other than `than`, None for one that may be any, answer to `question`, at once.

        These are at most `most`, the one with the node id `first` among them if it is another one; and `most` of those
        that were known in the last `FORMER_VOICE_MS`. None stands for each that cannot be asked, has not answered after
        `timeout_ms`, or would be another one if it were known who it is.
        """
        others = sorted(
            (node_id for node_id in self._node_ids if node_id != than), key=lambda node_id: node_id != first
        )[:most]
        former = [broker for broker in self._lately_known() if broker.node_id != than][-most:]

        async def ask_one(asking: Callable[[], Awaitable[Answered[Answer]]]) -> Answer | None:
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    return (await asking()).value
            except (BrokerUnavailable, TimeoutError) as failure:
                log.debug("broker_not_asked", detail=failure)
                return None

        async with asyncio.TaskGroup() as group:
            asked = [
                *(group.create_task(ask_one(partial(self._hear, each, question))) for each in others),
                *(group.create_task(ask_one(partial(self._hear_former, each, question))) for each in former),
            ]
        silent_count = int(than is None) + self._unmet_count(1 + len(asked), at_most=1 + most)
        return [*(task.result() for task in asked), *[None] * silent_count]

    async def _hear(
        self, node_id: int, question: Callable[[BrokerClient], Awaitable[Answer]]
    ) -> Answered[Answer]:
        return Answered(await question(await self._connections.control(node_id)), node_id)

    async def _hear_former(
        self, broker: BackingBroker, question: Callable[[BrokerClient], Awaitable[Answer]]
    ) -> Answered[Answer]:
        answered = await self._ask_stranger(_address(broker), question)
        if (former := self._former.get(broker.node_id)) is not None:
            former.heard_ms = self._clock.now_ms()
        return answered

    def _unmet_count(self, met_count: int, *, at_most: int) -> int:
        """How many brokers there may be that were not met since the start, as the bootstrap servers let expect."""
        if self._clock.now_ms() - self._began_ms >= FORMER_VOICE_MS:
            return 0
        return max(min(len(self._bootstrap_servers), at_most) - met_count, 0)

    def _remember(self, known: dict[int, BackingBroker]) -> None:
        now_ms = self._clock.now_ms()
        self._former |= {
            node_id: _Former(broker, now_ms)
            for node_id, broker in self._brokers.items()
            if node_id not in known
        }
        addresses = {_address(broker) for broker in known.values()}
        for node_id, former in tuple(self._former.items()):
            # Where another broker lives now, that one would answer.
            if node_id in known or _address(former.broker) in addresses:
                del self._former[node_id]
        while len(self._former) > MOST_FORMER:
            del self._former[next(iter(self._former))]
        self._brokers = known

    def _lately_known(self) -> Sequence[BackingBroker]:
        since_ms = self._clock.now_ms() - FORMER_VOICE_MS
        for node_id in [node_id for node_id, each in self._former.items() if each.heard_ms <= since_ms]:
            del self._former[node_id]
        return [former.broker for former in self._former.values()]

    def _node_at(self, address: HostPort) -> int | None:
        brokers = [*self._brokers.values(), *self._lately_known()]
        return next((broker.node_id for broker in brokers if _address(broker) == address), None)

    @asynccontextmanager
    async def _visit(self, address: HostPort) -> AsyncIterator[BrokerClient]:
        client = await self._connections.dialler.open(address)
        try:
            yield client
        finally:
            client.close()

    def _prefer(self, node_id: int) -> None:
        if node_id not in self._node_ids:  # another answer may have said meanwhile that it left
            return
        self._node_ids.remove(node_id)
        self._node_ids.insert(0, node_id)
        self._passed_over.pop(node_id, None)
        self._is_elsewhere_due = False


def _address(broker: BackingBroker) -> HostPort:
    return HostPort(broker.host, broker.port)


def _nobody_answers(failures: Sequence[BrokerUnavailable]) -> BrokerUnavailable:
    tried = "; ".join(dict.fromkeys(str(failure) for failure in failures))
    detail = f"no broker of the backing cluster answers: {tried}"
    if any(isinstance(failure, AuthenticationExpected) for failure in failures):
        return AuthenticationExpected("authentication_expected", detail)
    return BrokerUnavailable(detail)
