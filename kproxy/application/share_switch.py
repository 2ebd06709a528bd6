"""`ShareSwitch`: whether kproxy serves share groups, as the backing cluster, the state log and the settings have it."""

from typing import Final

from kproxy.handlers.registry import ServedApis, Service
from kproxy.interception.routing import RoutingTable
from kproxy.net.broker_failures import AuthenticationExpected
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.cluster.share_support import ShareSupport, ShareSupportWatch
from kproxy.net.state_log.service import StateLogService
from kproxy.settings import Settings, ShareUpstream
from kproxy.telemetry import logs

log = logs.logger("application")

SERVED_BY_CLUSTER: Final = (
    "the backing cluster serves share groups itself, and two coordinators for one group would deliver "
    "records twice; use the cluster's own, or set kproxy.share.upstream=shadow"
)
SWITCHED_OFF: Final = "share groups are switched off: kproxy.share.enable=false"


class ShareSwitch:
    """Turns share groups on and off.

    They are off where they cannot be served: the cluster serves them itself, or turned kproxy's own connections away.
    As long as neither is known, and while the state log cannot be used, they are unavailable: their APIs are
    advertised all the same, for a share consumer that is told of none gives up for good.

    Args:
        apis: what is turned on and off.
        routes: what is advertised.
        support: what the cluster does about share groups.
        settings: whether they are served although the cluster does so, too (`kproxy.share.upstream`), and whether they
            are served at all (`kproxy.share.enable`); what a cluster serves itself is its own matter.
    """

    def __init__(
        self,
        apis: ServedApis,
        routes: RoutingTable,
        support: ShareSupportWatch,
        *,
        metadata: ClusterMetadataCache,
        state_log: StateLogService,
        settings: Settings,
    ) -> None:
        self._apis = apis
        self._routes = routes
        self._support = support
        self._metadata = metadata
        self._state_log = state_log
        self._is_shadowing = settings.share_upstream is ShareUpstream.SHADOW
        self._is_enabled = settings.share_enable
        self._is_on_unsaid = False

    def set(self) -> None:
        """Let share groups be as everything is now; to be called whenever something of it changed."""
        before = self._apis.service
        if off := self._why_off():
            self._apis.turn_off(off)
            self._state_log.readiness.release()
        elif doubt := self._why_doubtful():
            self._apis.set_unavailable(doubt)
        elif not self._is_enabled:
            self._apis.disable(SWITCHED_OFF)
            self._state_log.readiness.release()
        else:
            self._serve_from_state_log()
        self._route()
        if self._apis.service is not before:
            self._say(self._missing_slots())

    def say_on(self) -> None:
        """Log that share groups are on; to be called when nothing is missing. Nothing where that was said already."""
        if self._is_on_unsaid:
            self._say("")

    async def first_word(self, timeout_s: float) -> None:
        """Return when it is clear what becomes of share groups, and of the state log if they are served.

        Each is waited for `timeout_s` at most.
        """
        if self._why_doubtful() and not self._why_off():
            await self._support.known(timeout_s)
        if self._is_enabled and not (self._why_doubtful() or self._why_off()):
            await self._state_log.first_word(timeout_s)

    def _missing_slots(self) -> str:
        """Return why requests wait although share groups are turned on, empty where they do not."""
        is_on = self._apis.service is Service.ON
        slots = self._state_log.slots if is_on else None
        return "" if slots is None else slots.problem()

    def _say(self, missing: str) -> None:
        self._is_on_unsaid = bool(missing)
        state = Service.UNAVAILABLE if missing else self._apis.service
        log.info("share_groups", state=state.value, reason=missing or self._apis.reason)

    def _route(self) -> None:
        advertised, is_on = self._apis.version_ranges(), not self._apis.is_off
        if (self._routes.served, self._routes.is_feature_on) != (advertised, is_on):
            self._routes.serve(advertised, is_feature_on=is_on)

    def _serve_from_state_log(self) -> None:
        self._state_log.start()
        if problem := self._state_log.problem:
            self._apis.set_unavailable(f"the state log cannot be used: {problem}")
        else:
            self._apis.set_available()

    def _why_off(self) -> str:
        """Return why share groups cannot be served, empty when they can, or may."""
        if self._support.current is ShareSupport.SERVED and not self._is_shadowing:
            return SERVED_BY_CLUSTER
        failure = self._metadata.last_failure
        # A broker that stops at just that moment looks the same; one that has answered does not expect it.
        is_turned_away = isinstance(failure, AuthenticationExpected) and self._metadata.age_ms is None
        if self._support.current is ShareSupport.UNKNOWN and is_turned_away:
            return f"the backing cluster could not be asked: {failure}"
        return ""

    def _why_doubtful(self) -> str:
        """Return why nobody knows yet whether they can be served, empty when that is known."""
        if self._support.current is not ShareSupport.UNKNOWN or self._is_shadowing:
            return ""
        return (
            "nobody said yet whether the backing cluster serves share groups itself: "
            f"{self._support.failure or 'no answer so far'}; kproxy goes on asking"
        )
