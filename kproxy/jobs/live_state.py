"""The durable states that a running kproxy holds, asked of its admin port."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed

_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class LiveSlot:
    """The states of a slot of the state log, which are those at `applied_offset`. Items as the admin port has them."""

    partition: int
    applied_offset: int
    states: Sequence[Mapping[str, Any]]


def live_slots(admin_url: str) -> Iterator[LiveSlot]:
    """Yield the slots that are ready, ascending. Raises JobFailed: CANNOT_CONNECT when nobody answers there."""
    for slot in _answer(admin_url, "state-log")["items"]:
        if slot["state"] != "ready":
            raise JobFailed(
                f"slot {slot['partition']} of the running kproxy is {slot['state']}: {slot['reason']}"
            )
        answer = _answer(admin_url, f"state-log/{slot['partition']}/state?at=end")
        yield LiveSlot(slot["partition"], answer["appliedOffset"], answer["items"])


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
