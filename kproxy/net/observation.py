"""What the rules report, turned into counters and log lines."""

from functools import lru_cache

from kproxy.handlers.request_context import RequestContext
from kproxy.net.counting import Measuring
from kproxy.telemetry import logs
from kproxy.wire.api_keys import ApiKey

log = logs.logger("net.requests")


class ShellObserver:
    """Implements the handlers' `Observer`: what is counted or measured goes to the metrics, refusals to the log."""

    def __init__(self, measuring: Measuring) -> None:
        self._counting = measuring

    def count(self, counter: str, amount: int = 1, *labels: str) -> None:
        self._counting.count(counter, amount, *labels)

    def observe(self, histogram: str, value: float, *labels: str) -> None:
        self._counting.observe(histogram, value, *labels)

    def refused(self, context: RequestContext, *, reason: str, detail: str) -> None:
        api = api_name(context.api_key)
        self._counting.count("requests_refused", 1, api, reason)
        # What a client did wrong or too late is no reason for an operator to act; of a client that is refused again and
        # again the first refusal is news.
        tell = log.debug if context.refusals.length(context.api_key) else log.info
        tell(
            "request_refused",
            reason=reason,
            api=api,
            version=context.api_version,
            peer=context.peer,
            client_id=context.client_id,
            node=context.node_id,
            detail=detail,
        )

    def closed_topic(self, api_key: int) -> None:
        """Count and tell of a request for one of the topics in which kproxy keeps its state."""
        api = api_name(api_key)
        self._counting.count("requests_refused", 1, api, "state_topic")
        log.info(
            "state_topic_refused", api=api, detail="clients must not touch the topics of kproxy's state log"
        )

    def closed_group(self, api_key: int) -> None:
        """Count and tell of a request that would act on the group of kproxy's own fleet."""
        api = api_name(api_key)
        self._counting.count("requests_refused", 1, api, "fleet_group")
        log.info("fleet_group_refused", api=api, detail="clients must not touch kproxy.fleet.group")

    def fault(self, context: RequestContext, error: Exception) -> None:
        """Tell of a fault of kproxy's own in a request: it was answered UNKNOWN_SERVER_ERROR."""
        api = api_name(context.api_key)
        self._counting.count("requests_refused", 1, api, "internal_error")
        log.crash("request_failed", error, api=api, version=context.api_version, peer=context.peer)


@lru_cache(maxsize=256)
def api_name(api_key: int) -> str:
    """Return Kafka's name of an API for labels and logs, such as `ShareFetch`."""
    return ApiKey(api_key).kafka_name
