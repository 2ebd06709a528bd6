"""The durable states that a running kproxy holds, asked of its admin port."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener
from uuid import UUID

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.share.identifiers import topic_id_of

_TIMEOUT_S = 30.0


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
    """Yield the slots that are ready, ascending. Raises JobFailed: CANNOT_CONNECT when nobody answers there."""
    for slot in _answer(admin_url, "state-log")["items"]:
        if slot["state"] != "ready":
            raise JobFailed(
                f"slot {slot['partition']} of the running kproxy is {slot['state']}: {slot['reason']}"
            )
        answer = _answer(admin_url, f"state-log/{slot['partition']}/state?at=end")
        yield LiveSlot(slot["partition"], answer["appliedOffset"], answer["items"])


def live_delivery_limit(admin_url: str) -> int | None:
    """Return how often the running kproxy delivers a record at most; None from one that does not say.

    Raises JobFailed: CANNOT_CONNECT when nobody answers there.
    """
    for status in _answer(admin_url, "status")["items"]:
        limit = status.get("shareGroups", {}).get("deliveryCountLimit")
        return limit if isinstance(limit, int) else None
    return None


def _answer(admin_url: str, path: str) -> Mapping[str, Any]:
    parts = urlsplit(admin_url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise JobFailed(f"--admin-url {admin_url!r}: expected http://HOST:PORT", ExitCode.USAGE)
    url = f"{admin_url.rstrip('/')}/api/v1/{path}"
    # The admin port is next door: a proxy named in the environment has no business between.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(url, timeout=_TIMEOUT_S) as response:
            answer = json.load(response)
    except HTTPError as error:
        with error:
            raise JobFailed(f"{url} answered {error.code} {error.reason}") from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise JobFailed(
            f"cannot reach {url}: {reason}; is kproxy running there, with kproxy.admin.listener on?",
            ExitCode.CANNOT_CONNECT,
        ) from error
    except (HTTPException, ValueError) as error:
        raise JobFailed(f"{url} did not answer as a kproxy does: {error!r}") from error
    if not isinstance(answer, dict) or not isinstance(answer.get("items"), list):
        raise JobFailed(f"{url} did not answer as a kproxy does: no items")
    return answer
