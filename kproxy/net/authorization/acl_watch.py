"""`AclWatch`: what the authorizer of the backing cluster would say, kept fresh by asking for its access control lists.

| a broker said | what clients may do |
|---|---|
| nothing yet | nothing; requests wait for a moment |
| that it has no authorizer | everything, until another answer comes |
| its access control lists | what they say, until they are too old |
| that kproxy may not see them | what the last lists say, until they are too old; then what their own brokers say |

With a source of `acls` nobody's own broker is asked, and nothing is allowed then. With `operations` nothing else is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeVar, assert_never

from kproxy.errors import BrokerUnavailable, CoordinatorNotAvailable, MalformedMessage
from kproxy.handlers.asked_rights import ASK_BROKER
from kproxy.handlers.authorization import EVERYTHING, NOTHING, Permissions
from kproxy.handlers.ports import Clock
from kproxy.net.authorization.acl_questions import (
    LARGE_ANSWER_BYTES,
    AclAnswer,
    AclQuestion,
    HiddenAcls,
    KnownAcls,
    NoAuthorizer,
)
from kproxy.net.backoff import Backoff
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.counting import Counting
from kproxy.net.waking_turns import WakingTurns
from kproxy.security.acls import AclBinding
from kproxy.security.principal import UNKNOWN, Principal
from kproxy.security.standard_authorizer import AuthorizerRules, StandardAuthorizer
from kproxy.settings.choices import AuthorizerSource
from kproxy.telemetry import logs
from kproxy.wording import counted

log = logs.logger("net.authorization.acl_watch")

Answer = TypeVar("Answer")

PATIENCE_SECONDS: Final = 15.0
"""How long a request waits for the first answer: as long as for the state log."""

_BINDINGS_AT_ONCE: Final = LARGE_ANSWER_BYTES // 64
"""More are indexed in a thread."""

SOURCES_IN_USE: Final = ("none", AuthorizerSource.ACLS.value, AuthorizerSource.OPERATIONS.value)
"""What can be gone by; `none` stands for a cluster without an authorizer."""

_LONGEST_REST_MS: Final = 1_000
"""How long nobody is asked while nobody wants to know; then it is seen whether somebody does."""

ADVICE: Final = (
    "let kproxy's principal DESCRIBE the cluster: kafka-acls.sh --add --cluster --operation Describe "
    "--allow-principal User:NAME"
)


class Cluster(Protocol):
    """The backing cluster, as `ClusterMetadataCache` asks it."""

    async def ask(self, question: Callable[[BrokerClient], Awaitable[Answer]]) -> Answer:
        """Return what the first broker that can be asked answers. Raises BrokerUnavailable."""
        ...


@dataclass(frozen=True, slots=True)
class AclTerms:
    """How often to ask, how old what was answered may become, and what else there is to go by."""

    refresh_ms: int = 5_000
    max_age_ms: int = 60_000
    source: AuthorizerSource = AuthorizerSource.ACLS


class AclWatch:
    """Implements `Authorizer`. `run` asks for ever, while `is_wanted`; `on_change` is told when `problem` changes.

    Those who waited for the first answer go on in `turns`.
    """

    def __init__(  # noqa: PLR0913 - keyword-only collaborators
        self,
        cluster: Cluster,
        rules: AuthorizerRules,
        *,
        clock: Clock,
        counting: Counting,
        terms: AclTerms,
        is_wanted: Callable[[], bool] = lambda: True,
        turns: WakingTurns | None = None,
    ) -> None:
        self._turns = turns if turns is not None else WakingTurns()
        self.on_change: Callable[[], None] = lambda: None
        self._cluster = cluster
        self._rules = rules
        self._clock = clock
        self._counting = counting
        self._terms = terms
        self._is_wanted = is_wanted
        self._question = AclQuestion()
        self._backoff = Backoff(clock)
        self._authorizer: StandardAuthorizer | None = None
        self._has_none = self._is_hidden = False
        self._heard_ms = 0
        self._failure = "no broker said so far what clients may do"
        self._told_problem = self._failure
        self._is_known = asyncio.Event()
        if terms.source is AuthorizerSource.OPERATIONS:
            self._told_problem = ""
            self._is_known.set()

    # ------------------------------------------------ the Authorizer port

    @property
    def problem(self) -> str:
        """Why it cannot be told what anybody may do; empty while it can."""
        if self._has_none or self._has_lists or self._asks_brokers:
            return ""
        if self._authorizer is None:
            return self._failure
        age_ms = self._clock.now_ms() - self._heard_ms
        return f"the access control lists are {age_ms} ms old, and cannot be asked for: {self._failure}"

    def permissions_of(self, principal: Principal, client_host: str) -> Permissions:
        if principal == UNKNOWN:
            return NOTHING
        if self._has_none:
            return EVERYTHING
        if self._authorizer is not None and self._has_lists:
            return self._authorizer.permissions_of(principal, client_host.rpartition("/")[2])
        if self._asks_brokers:
            return ASK_BROKER
        raise CoordinatorNotAvailable(f"it cannot be told what {principal} may do: {self.problem}")

    async def wait_until_known(self) -> None:
        if not self._is_known.is_set():
            await self.known(PATIENCE_SECONDS)
            await self._turns.begin()

    # ------------------------------------------------ for the rest of kproxy

    @property
    def source_in_use(self) -> str:
        """What is gone by: `none` (there is no authorizer), `acls`, `operations`; empty while nothing is known."""
        if self._has_none:
            return "none"
        if self._has_lists:
            return AuthorizerSource.ACLS.value
        return AuthorizerSource.OPERATIONS.value if self._asks_brokers else ""

    async def known(self, timeout_s: float) -> None:
        """Return when a broker has said what clients may do, or that it does not tell, or after `timeout_s`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_known.wait(), timeout_s)

    async def run(self) -> None:
        """Ask for ever; cancelled at the end."""
        while True:
            pause_ms = min(self._terms.refresh_ms, _LONGEST_REST_MS)
            if self._is_wanted() and self._terms.source is not AuthorizerSource.OPERATIONS:
                await self.look()
                pause_ms = self._backoff.remaining_ms if self._is_searching else self._terms.refresh_ms
            await asyncio.sleep(max(pause_ms, 1) / 1000)

    async def look(self) -> None:
        """Ask once, and take in what is answered."""
        asked_ms = self._clock.now_ms()
        try:
            result = await self._take(await self._cluster.ask(self._question.ask), asked_ms)
        except (BrokerUnavailable, MalformedMessage) as failure:
            result = "failed"
            self._note_failure(str(failure))
        self._counting.count("acl_looks", 1, result)
        self._tell()

    # ------------------------------------------------ private

    @property
    def _has_lists(self) -> bool:
        """Whether there are lists, and they are not too old."""
        is_young = self._clock.now_ms() - self._heard_ms <= self._terms.max_age_ms
        return self._authorizer is not None and is_young

    @property
    def _asks_brokers(self) -> bool:
        """Whether each client's own broker is asked, unless there are lists."""
        is_automatic = self._terms.source is AuthorizerSource.AUTO and self._is_hidden
        return is_automatic or self._terms.source is AuthorizerSource.OPERATIONS

    @property
    def _is_searching(self) -> bool:
        """Whether nothing is known at all, so that requests wait."""
        return not self._is_known.is_set()

    async def _take(self, answer: AclAnswer, asked_ms: int) -> str:
        """Go by an answer from now on; return what to count."""
        match answer:
            case NoAuthorizer():
                self._take_none()
                return "no_authorizer"
            case HiddenAcls(reason):
                self._note_failure(f"{reason}; {ADVICE}")
                self._has_none = False
                self._take_hidden()
                self._is_known.set()
                return "refused"
            case KnownAcls(bindings, is_unchanged):
                if not is_unchanged:
                    await self._index(bindings)
                    self._question.believe(
                        answer
                    )  # not before: what failed to be taken in has to be read again
                self._has_none = self._is_hidden = False
                self._heard_ms = asked_ms
                self._succeeded()
                return "same" if is_unchanged else "different"
            case _:
                assert_never(answer)

    async def _index(self, bindings: Sequence[AclBinding]) -> None:
        if self._has_none:
            self._has_none, self._failure = False, "its access control lists have yet to be taken in"
        make = partial(StandardAuthorizer, bindings, self._rules)
        is_large = len(bindings) > _BINDINGS_AT_ONCE
        self._authorizer = await asyncio.to_thread(make) if is_large else make()
        log.info("acls_changed", detail=f"the cluster has {counted(len(bindings), 'access control list')}")

    def _take_none(self) -> None:
        if not self._has_none:
            log.info("no_authorizer", detail="the backing cluster has none: everybody may do everything")
        self._has_none, self._is_hidden = True, False
        self._authorizer = None
        self._question.forget()
        self._succeeded()

    def _take_hidden(self) -> None:
        if self._terms.source is AuthorizerSource.AUTO and not self._is_hidden:
            detail = "clients' own brokers are asked what they may do, on the clients' connections"
            log.info("operations_asked_for", detail=detail)
        self._is_hidden = True

    def _succeeded(self) -> None:
        self._failure = ""
        self._backoff.succeeded()
        self._is_known.set()

    def _note_failure(self, failure: str) -> None:
        self._backoff.failed()
        if failure != self._failure:
            log.warning("acls_unknown", detail=failure)
        self._failure = failure

    def _tell(self) -> None:
        problem = self.problem
        if bool(problem) is not bool(self._told_problem):
            if problem:
                log.error("share_groups_refused", detail=problem)
            self.on_change()
        self._told_problem = problem
