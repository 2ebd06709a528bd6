"""What scenarios of claims begin with: a cluster that has the state topics, and what claims and loads slots there."""

from collections.abc import Callable, Coroutine
from typing import TypeAlias

from kproxy.net.state_log.claim import SlotClaims
from kproxy.net.state_log.loading import LoadedSlot
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.backing import run
from tests.worlds.state_logs import StateLogBacking, create_state_topics

Scenario: TypeAlias = Callable[
    [ScriptedStateLog, StateLogBacking, SlotClaims], Coroutine[object, object, None]
]


def on_cluster(scenario: Scenario, **policy: object) -> None:
    """Run `scenario` on a cluster that has the state topics; slots are claimed and loaded by `policy`."""

    async def wired() -> None:
        async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
            create_state_topics(cluster)
            claims = backing.claims(await backing.found(), **policy)  # type: ignore[arg-type]  # passed on
            await scenario(cluster, backing, claims)

    run(wired)


async def opened(claims: SlotClaims) -> LoadedSlot:
    """Claim slot 0 and load it."""
    return await claims.load(await claims.claim(0))
