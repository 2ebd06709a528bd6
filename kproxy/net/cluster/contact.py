"""`ClusterContact`: some broker of the backing cluster that answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, TypeVar

from kproxy.errors import BrokerUnavailable
from kproxy.interception.broker_addresses import BackingBroker
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


class ClusterContact:
    """Asks one broker after the other until one answers.

    First the one that answered last, then the others that are known, then the bootstrap servers: so a cluster
    whose brokers have all moved is found again where it was found first.
    """

    def __init__(self, bootstrap_servers: Sequence[HostPort], connections: BrokerConnections) -> None:
        self._bootstrap_servers = tuple(bootstrap_servers)
        self._connections = connections
        self._node_ids: list[int] = []

    def learn(self, brokers: Sequence[BackingBroker]) -> None:
        """Ask these brokers from now on, in the order in which they answered before."""
        known = {broker.node_id for broker in brokers}
        remaining = [node_id for node_id in self._node_ids if node_id in known]
        self._node_ids = remaining + sorted(known.difference(remaining))
        self._connections.learn(brokers)

    def pass_on(self) -> None:
        """Ask the one that answered last after all others from now on."""
        self._node_ids[:] = [*self._node_ids[1:], *self._node_ids[:1]]

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
        attempts = [
            *(partial(self._ask_known, node_id, question) for node_id in self._node_ids),
            *(partial(self._ask_stranger, address, question) for address in self._bootstrap_servers),
        ]
        try:
            return await first_answer(attempts, patience_seconds=PATIENCE_SECONDS if is_repeatable else None)
        except NobodyAnswered as nobody:
            raise _nobody_answers(nobody.failures) from None

    async def _ask_known(self, node_id: int, question: Callable[[BrokerClient], Awaitable[Answer]]) -> Answer:
        answer = await question(await self._connections.control(node_id))
        self._prefer(node_id)
        return answer

    async def _ask_stranger(
        self, address: HostPort, question: Callable[[BrokerClient], Awaitable[Answer]]
    ) -> Answer:
        async with self._visit(address) as client:
            return await question(client)

    async def ask_others(
        self,
        question: Callable[[BrokerClient], Awaitable[Answer]],
        *,
        first: int,
        most: int,
        timeout_ms: int,
    ) -> Sequence[Answer]:
        """Return what brokers other than the one that answered last answer to `question`, at once.

        These are at most `most`, the one with the node id `first` among them if it is another one. Who cannot be
        asked, or has not answered after `timeout_ms`, is left out.
        """
        others = sorted(self._node_ids[1:], key=lambda node_id: node_id != first)[:most]
        answers: list[Answer] = []

        async def ask_one(node_id: int) -> None:
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    answers.append(await question(await self._connections.control(node_id)))
            except (BrokerUnavailable, TimeoutError) as failure:
                log.debug("broker_not_asked", node_id=node_id, detail=failure)

        async with asyncio.TaskGroup() as group:
            for node_id in others:
                group.create_task(ask_one(node_id))
        return answers

    @asynccontextmanager
    async def _visit(self, address: HostPort) -> AsyncIterator[BrokerClient]:
        client = await self._connections.dialler.open(address)
        try:
            yield client
        finally:
            client.close()

    def _prefer(self, node_id: int) -> None:
        if node_id in self._node_ids:  # another answer may have said meanwhile that it left
            self._node_ids.remove(node_id)
            self._node_ids.insert(0, node_id)


def _nobody_answers(failures: Sequence[BrokerUnavailable]) -> BrokerUnavailable:
    tried = "; ".join(dict.fromkeys(str(failure) for failure in failures))
    detail = f"no broker of the backing cluster answers: {tried}"
    if any(isinstance(failure, AuthenticationExpected) for failure in failures):
        return AuthenticationExpected("authentication_expected", detail)
    return BrokerUnavailable(detail)
