import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Never, TypeVar

import pytest

from kproxy.errors import BrokerUnavailable, CoordinatorNotAvailable
from kproxy.handlers.asked_rights import ASK_BROKER
from kproxy.handlers.authorization import EVERYTHING, NOTHING
from kproxy.net.authorization import acl_watch
from kproxy.net.authorization.acl_questions import AclAnswer, HiddenAcls, KnownAcls, NoAuthorizer
from kproxy.net.authorization.acl_watch import AclTerms, AclWatch
from kproxy.net.cluster.broker_client import BrokerClient, dial
from kproxy.net.tasks import TaskKeeper
from kproxy.net.waking_turns import MOST_IN_A_TURN
from kproxy.security.acls import AclBinding, AclOperation, ResourceType
from kproxy.security.principal import UNKNOWN, Principal
from kproxy.security.standard_authorizer import AuthorizerRules
from kproxy.settings.choices import AuthorizerSource
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.describe_acls_response import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from tests.in_memory.answering_broker import AnsweringBroker
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.backing import LIMITS, CountedThings
from tests.worlds.waiting import most_in_a_turn

ALICE: Final = Principal("User", "alice")
HOST: Final = "/10.0.0.7"
READ_ORDERS: Final = KnownAcls([AclBinding(2, "orders", 3, "User:alice", "10.0.0.7", 3, 3)])
SAME: Final = KnownAcls(is_unchanged=True)
HIDDEN: Final = HiddenAcls("the broker answered DescribeAcls with CLUSTER_AUTHORIZATION_FAILED (31)")

DESCRIBE: Final = ApiKey.DESCRIBE_ACLS
_READ_ORDERS: Final = DescribeAclsResource(2, "orders", 3, [AclDescription("User:alice", "10.0.0.7", 3, 3)])

Answer = TypeVar("Answer")


def _no_memory(*_: object) -> Never:
    raise MemoryError


class ScriptedAcls:
    """A cluster that gives one answer after the other, the last one again and again; an exception is raised."""

    def __init__(self, *answers: AclAnswer | Exception) -> None:
        self.answers = list(answers)
        self.asked_count = 0
        self.client: BrokerClient | None = None
        """What is asked instead of the script, if any."""

    async def ask(self, question: Callable[[BrokerClient], Awaitable[Answer]]) -> Answer:
        self.asked_count += 1
        if self.client is not None:
            return await question(self.client)
        answer: Any = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        given: Answer = answer
        return given


class Watching:
    """A watch over a scripted cluster, and what it told."""

    def __init__(
        self,
        *answers: AclAnswer | Exception,
        is_wanted: bool = True,
        source: AuthorizerSource = AuthorizerSource.ACLS,
    ) -> None:
        self.clock = ManualClock()
        self.counts = CountedThings()
        self.cluster = ScriptedAcls(*answers)
        self.problems: list[str] = []
        self.watch = AclWatch(
            self.cluster,
            AuthorizerRules(),
            clock=self.clock,
            counting=self.counts,
            terms=AclTerms(refresh_ms=1, max_age_ms=60_000, source=source),
            is_wanted=lambda: is_wanted,
        )
        self.watch.on_change = lambda: self.problems.append(self.watch.problem)

    async def look(self, count: int = 1) -> None:
        for _ in range(count):
            await self.watch.look()

    def may_read(self, name: str = "orders", host: str = HOST) -> bool:
        permissions = self.watch.permissions_of(ALICE, host)
        return permissions.allows(AclOperation.READ, ResourceType.TOPIC, name)


async def test_before_anybody_said_anything_nobody_may_do_anything() -> None:
    watching = Watching(NoAuthorizer())
    assert "no broker said so far" in watching.watch.problem
    with pytest.raises(CoordinatorNotAvailable, match="what User:alice may do: no broker said so far"):
        watching.may_read()


async def test_without_an_authorizer_everybody_may_do_everything() -> None:
    # Given
    watching = Watching(NoAuthorizer())

    # When
    await watching.look()

    # Then
    assert watching.watch.permissions_of(ALICE, HOST) is EVERYTHING
    assert watching.problems == [""]
    assert watching.counts.of("acl_looks", "no_authorizer") == 1


async def test_who_it_is_that_nobody_knows_may_do_nothing_even_then() -> None:
    watching = Watching(NoAuthorizer())
    await watching.look()
    assert watching.watch.permissions_of(UNKNOWN, HOST) is NOTHING


async def test_what_the_lists_say_holds_from_the_clients_own_address() -> None:
    watching = Watching(READ_ORDERS)
    await watching.look()
    assert watching.may_read()
    assert not watching.may_read("payments")
    assert not watching.may_read(host="/10.0.0.8")


async def test_the_same_lists_leave_what_was_decided_as_it_is() -> None:
    # Given
    watching = Watching(READ_ORDERS, SAME)
    await watching.look()
    permissions = watching.watch.permissions_of(ALICE, HOST)

    # When
    watching.clock.advance(59_000)
    await watching.look()
    watching.clock.advance(59_000)

    # Then
    assert watching.watch.permissions_of(ALICE, HOST) is permissions
    assert watching.counts.of("acl_looks", "same") == 1


async def test_a_right_that_was_taken_away_is_gone_with_the_next_answer() -> None:
    watching = Watching(READ_ORDERS, KnownAcls())
    await watching.look(2)
    assert not watching.may_read()


async def test_lists_that_cannot_be_asked_for_hold_until_they_are_too_old() -> None:
    # Given
    watching = Watching(READ_ORDERS, BrokerUnavailable("nobody answers"))
    await watching.look(2)
    watching.clock.advance(60_000)
    assert watching.may_read()

    # When
    watching.clock.advance(1)
    await watching.look()

    # Then
    with pytest.raises(
        CoordinatorNotAvailable, match="60001 ms old, and cannot be asked for: nobody answers"
    ):
        watching.may_read()
    assert [bool(problem) for problem in watching.problems] == [False, True]


async def test_where_kproxy_may_not_see_the_lists_nothing_is_served_and_it_says_what_to_do() -> None:
    # Given
    watching = Watching(HIDDEN)

    # When
    await watching.look()

    # Then
    assert "let kproxy's principal DESCRIBE the cluster" in watching.watch.problem
    with pytest.raises(CoordinatorNotAvailable, match="CLUSTER_AUTHORIZATION_FAILED"):
        watching.may_read()
    assert watching.counts.of("acl_looks", "refused") == 1


async def test_an_authorizer_that_appears_ends_what_was_allowed_to_everybody() -> None:
    watching = Watching(NoAuthorizer(), HIDDEN)
    await watching.look(2)
    with pytest.raises(CoordinatorNotAvailable):
        watching.may_read()


async def test_a_cluster_without_authorizer_that_cannot_be_asked_still_has_none() -> None:
    # Given
    watching = Watching(NoAuthorizer(), BrokerUnavailable("nobody answers"))
    await watching.look(2)

    # When
    watching.clock.advance(10_000_000)

    # Then
    assert watching.watch.permissions_of(ALICE, HOST) is EVERYTHING


async def test_very_many_lists_are_taken_in_elsewhere() -> None:
    bindings = [AclBinding(2, f"topic-{number}", 3, "User:alice", "*", 3, 3) for number in range(1_000)]
    watching = Watching(KnownAcls(bindings))
    await watching.look()
    assert watching.may_read("topic-999")


async def test_lists_that_could_not_be_taken_in_are_taken_in_when_they_are_told_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    watching = Watching(NoAuthorizer())
    response = DescribeAclsResponse(resources=[_READ_ORDERS])
    async with AnsweringBroker({DESCRIBE: lambda _: response}, version_ranges={DESCRIBE: (1, 3)}) as broker:
        watching.cluster.client = await dial(broker.address, LIMITS)
        with monkeypatch.context() as patch:
            patch.setattr(acl_watch, "StandardAuthorizer", _no_memory)
            with pytest.raises(MemoryError):
                await watching.look()

        # When
        await watching.look()

    # Then
    assert watching.may_read()
    assert watching.counts.of("acl_looks", "different") == 1


async def test_lists_where_there_was_no_authorizer_end_what_was_allowed_to_everybody_before_they_are_taken_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    watching = Watching(NoAuthorizer(), READ_ORDERS)
    await watching.look()
    monkeypatch.setattr(acl_watch, "StandardAuthorizer", _no_memory)

    # When
    with pytest.raises(MemoryError):
        await watching.look()

    # Then
    with pytest.raises(CoordinatorNotAvailable, match="have yet to be taken in"):
        watching.may_read()


async def test_requests_wait_for_the_first_answer_and_no_longer() -> None:
    # Given
    watching = Watching(BrokerUnavailable("not yet"), NoAuthorizer())
    waiting = TaskKeeper().spawn(watching.watch.wait_until_known(), name="request")
    await watching.look()
    assert not waiting.done()

    # When
    await watching.look()

    # Then
    await asyncio.wait_for(waiting, 5)
    await watching.watch.wait_until_known()


async def test_those_who_waited_for_the_first_answer_go_on_in_several_turns() -> None:
    watching = Watching(NoAuthorizer())
    waits = (watching.watch.wait_until_known() for _ in range(4 * MOST_IN_A_TURN))
    looking = partial(TaskKeeper().spawn, watching.look(), name="look")
    assert await most_in_a_turn(waits, looking) <= MOST_IN_A_TURN


async def test_the_wait_for_the_first_answer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acl_watch, "PATIENCE_SECONDS", 0.01)
    watching = Watching(NoAuthorizer())
    await asyncio.wait_for(watching.watch.wait_until_known(), 5)
    assert watching.cluster.asked_count == 0


async def test_it_asks_for_ever() -> None:
    # Given
    watching = Watching(BrokerUnavailable("not yet"), READ_ORDERS, SAME)
    running = TaskKeeper().spawn(watching.watch.run(), name="watch")

    # When
    async with asyncio.timeout(5):
        while watching.counts.of("acl_looks", "same") < 2:
            watching.clock.advance(100)
            await asyncio.sleep(0.001)

    # Then
    running.cancel()
    assert watching.counts.of("acl_looks", "failed") == 1


async def test_it_asks_nothing_while_nobody_wants_to_know() -> None:
    # Given
    watching = Watching(NoAuthorizer(), is_wanted=False)
    running = TaskKeeper().spawn(watching.watch.run(), name="watch")

    # When
    for _ in range(10):
        await asyncio.sleep(0.001)

    # Then
    running.cancel()
    assert watching.cluster.asked_count == 0


async def test_where_the_lists_cannot_be_seen_the_clients_own_brokers_are_asked() -> None:
    # Given
    watching = Watching(HIDDEN, source=AuthorizerSource.AUTO)

    # When
    await watching.look()

    # Then
    assert watching.watch.permissions_of(ALICE, HOST) is ASK_BROKER
    assert watching.watch.permissions_of(UNKNOWN, HOST) is NOTHING
    assert (watching.watch.problem, watching.watch.source_in_use) == ("", "operations")


async def test_lists_that_can_be_seen_again_are_gone_by_again() -> None:
    # Given
    watching = Watching(HIDDEN, READ_ORDERS, source=AuthorizerSource.AUTO)

    # When
    await watching.look(2)

    # Then
    assert watching.may_read()
    assert watching.watch.source_in_use == "acls"


async def test_lists_that_can_be_seen_no_more_hold_until_they_are_too_old() -> None:
    # Given
    watching = Watching(READ_ORDERS, HIDDEN, source=AuthorizerSource.AUTO)
    await watching.look(2)
    before = (watching.may_read(), watching.watch.source_in_use)

    # When
    watching.clock.advance(60_001)

    # Then
    assert before == (True, "acls")
    assert watching.watch.permissions_of(ALICE, HOST) is ASK_BROKER


async def test_a_cluster_that_is_away_is_no_reason_to_ask_anybody_else() -> None:
    # Given
    watching = Watching(BrokerUnavailable("nobody is there"), source=AuthorizerSource.AUTO)

    # When
    await watching.look()

    # Then
    assert watching.watch.source_in_use == ""
    with pytest.raises(CoordinatorNotAvailable):
        watching.may_read()


async def test_where_only_lists_count_nobody_else_is_asked() -> None:
    # Given
    watching = Watching(HIDDEN, source=AuthorizerSource.ACLS)

    # When
    await watching.look()

    # Then
    with pytest.raises(CoordinatorNotAvailable, match="DESCRIBE the cluster"):
        watching.may_read()


async def test_where_only_operations_count_no_lists_are_asked_for() -> None:
    # Given
    watching = Watching(READ_ORDERS, source=AuthorizerSource.OPERATIONS)
    await watching.watch.wait_until_known()

    # When
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(watching.watch.run(), 0.01)

    # Then
    assert watching.cluster.asked_count == 0
    assert watching.watch.permissions_of(ALICE, HOST) is ASK_BROKER
    assert (watching.watch.problem, watching.watch.source_in_use) == ("", "operations")


async def test_without_an_authorizer_nobody_is_asked_for_operations() -> None:
    # Given
    watching = Watching(HIDDEN, NoAuthorizer(), source=AuthorizerSource.AUTO)

    # When
    await watching.look(2)

    # Then
    assert watching.watch.permissions_of(ALICE, HOST) is EVERYTHING
    assert watching.watch.source_in_use == "none"
