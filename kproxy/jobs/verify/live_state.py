"""The durable states that a running kproxy holds, asked of its admin port."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from kproxy.clients.admin_port import answer_of, items_of
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, as_job_failures
from kproxy.share.identifiers import topic_id_of

_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class LiveSlot:
    """The states of a slot of the state log, which are those at `applied_offset`. Items as the admin port has them."""

    partition: int
    applied_offset: int
    states: Sequence[Mapping[str, Any]]


def live_log(admin_url: str) -> str:
    """Return which log the running kproxy keeps its state in, as `LogReader.identity` names a topic of a cluster.

    Raises JobFailed: CHECK_FAILED when it keeps none, or does not say; CANNOT_CONNECT when nobody answers there.
    """
    told = _answer(admin_url, "state-log")
    if not told["items"]:
        raise JobFailed(
            f"the running kproxy at {admin_url} has no state log to be compared with: its /readyz says why",
            ExitCode.CHECK_FAILED,
        )
    cluster_id, topic, topic_id = (told.get(name) for name in ("clusterId", "stateTopic", "stateTopicId"))
    try:
        if cluster_id and topic:
            return f"{cluster_id}:{topic}:{UUID(bytes=topic_id_of(str(topic_id)))}"
    except ValueError:
        pass
    raise JobFailed(
        f"the running kproxy at {admin_url} does not say which log it keeps its state in: is it of another version?",
        ExitCode.CHECK_FAILED,
    )


def live_slots(admin_url: str) -> Iterator[LiveSlot]:
    """Yield the slots, ascending, of all processes that serve them together.

    Raises JobFailed: one of them is not ready, or not told of; CANNOT_CONNECT when nobody answers there.
    """
    for slot in _answer(admin_url, "state-log")["items"]:
        if slot["state"] != "ready":
            raise JobFailed(
                f"slot {slot['partition']} of the running kproxy is {slot['state']}: {slot['reason']}"
            )
        answer = _answer(admin_url, "state-log", str(slot["partition"]), "state", at="end")
        if doubt := answer.get("unavailable"):
            raise JobFailed(
                f"slot {slot['partition']} of the running kproxy cannot be compared with: {doubt}"
            )
        yield LiveSlot(slot["partition"], answer["appliedOffset"], answer["items"])


def live_delivery_limit(admin_url: str) -> int | None:
    """Return how often the running kproxy delivers a record at most; None from one that does not say.

    Raises JobFailed: CANNOT_CONNECT when nobody answers there.
    """
    for status in _answer(admin_url, "status")["items"]:
        limit = status.get("shareGroups", {}).get("deliveryCountLimit")
        return limit if isinstance(limit, int) else None
    return None


def _answer(admin_url: str, *path: str, **query: str) -> Mapping[str, Any]:
    """Return an answer that has items. Raises JobFailed."""
    with as_job_failures():
        answer = answer_of(admin_url, *path, query=query, timeout_s=_TIMEOUT_S)
        items_of(answer)
        return answer
