"""`kproxy run` that ends itself with SIGKILL where a test says: the real application, watched at its appends.

Started instead of `-m kproxy`, with the same arguments. Each line of the standard input is a failpoint, and begins
one life of kproxy in a forked process: what is imported stays imported, so a life begins at once. The standard
output tells, one JSON object a line: `born` (process_id), `handed` and `answered` (appends), `killing` (moment,
appends) and `died` (status).
"""

import asyncio
import ctypes
import gc
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kproxy.application import admin_port, run_proxy
from kproxy.cli import main as command_line
from kproxy.net.cluster import broker_connections
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.state_log import log_appender
from kproxy.net.state_log import service as state_log_service
from kproxy.net.state_log.log_appender import LogAppender
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_parts import StatePartitionMetadata
from kproxy.statelog.group_records import decode_group_record
from kproxy.statelog.state_records import decode_state_record
from kproxy.wire.messages.produce_response import ProduceResponse
from kproxy.wire.records import Record, decode_records

PARENT_DEATH_SIGNAL: Final = 1
"""PR_SET_PDEATHSIG of `prctl`."""

PRODUCER_AT: Final = 43
"""Where a batch has its producer id; its epoch and its base sequence follow."""

PRELOADED: Final = (run_proxy, admin_port, broker_connections, state_log_service)


@dataclass(frozen=True, slots=True)
class Failpoint:
    """Which append ends a life, and at which moment: the `count`-th of those whose records are of `kind`.

    Kinds: `claim`; in the state topic the cause of a record's actor, such as `acknowledge`, `initialize`, `load`;
    in the groups topic `initializing`, `initialized` and `group`. Moments: `handed` (given to the appender, no byte
    sent), `sent` (its bytes were given to the socket), `landed` (the broker's answer came, and nothing was made of
    it yet). A count of 0 never comes.
    """

    kind: str
    moment: str
    count: int = 1


def main() -> None:
    """Live as often as the standard input says."""
    arguments = sys.argv[1:]
    gc.freeze()
    for line in sys.stdin:
        process_id = os.fork()
        if process_id == 0:
            _live(Failpoint(**json.loads(line)), arguments)
        tell("born", process_id=process_id)
        _, status = os.waitpid(process_id, 0)
        tell("died", status=os.waitstatus_to_exitcode(status))


def tell(event: str, **keys: object) -> None:
    """Write one line at once: whoever is killed next has said it."""
    os.write(1, json.dumps({"event": event, **keys}).encode() + b"\n")


class AppendWatch:
    """Stands between the appender and its connection."""

    def __init__(self, failpoint: Failpoint, groups_topic: str) -> None:
        self._failpoint = failpoint
        self._groups_topic = groups_topic
        self._to_come = failpoint.count
        self._under_way: list[dict[str, object]] = []

    def install(self) -> None:
        """Watch every appender of this process."""
        original, watch = LogAppender._produce, self

        async def produce(
            appender: LogAppender, client: BrokerClient, sent: Sequence[log_appender._Waiting]
        ) -> ProduceResponse:
            appends = [watch.describe(waiting) for waiting in sent]
            watch.handed(appends)
            response = asyncio.get_running_loop().create_task(original(appender, client, sent))
            # The request is written in the task's first step.
            await asyncio.sleep(0)
            watch.pass_by("sent", appends)
            answer = await response
            watch.pass_by("landed", appends)
            watch.answered(appends)
            return answer

        LogAppender._produce = produce  # type: ignore[method-assign, assignment]

    def describe(self, waiting: log_appender._Waiting) -> dict[str, object]:
        """What a test may want to know of an append: where it goes, of what kinds it is, and who wrote it."""
        topic, batch = waiting.topic.name, waiting.batch
        kinds = {self._kind(topic, record) for record in decode_records(memoryview(batch)).records}
        return {
            "topic": topic,
            "partition": waiting.partition,
            "producer_id": int.from_bytes(batch[PRODUCER_AT : PRODUCER_AT + 8]),
            "producer_epoch": int.from_bytes(batch[PRODUCER_AT + 8 : PRODUCER_AT + 10]),
            "base_sequence": int.from_bytes(batch[PRODUCER_AT + 10 : PRODUCER_AT + 14]),
            "kinds": sorted(kinds),
        }

    def handed(self, appends: list[dict[str, object]]) -> None:
        """Note that these are in flight from now on."""
        self._under_way += appends
        tell("handed", appends=appends)
        self.pass_by("handed", appends)

    def answered(self, appends: list[dict[str, object]]) -> None:
        """Note that these are in flight no more."""
        self._under_way = [append for append in self._under_way if append not in appends]
        tell("answered", appends=appends)

    def pass_by(self, moment: str, appends: list[dict[str, Any]]) -> None:
        """End the process if this is where it was told to."""
        if moment != self._failpoint.moment:
            return
        if any(self._failpoint.kind in append["kinds"] for append in appends):
            self._to_come -= 1
            if self._to_come == 0:
                tell("killing", moment=moment, appends=self._under_way)
                os.kill(os.getpid(), signal.SIGKILL)

    def _kind(self, topic: str, record: Record) -> str:
        return _group_kind(record) if topic == self._groups_topic else _state_kind(record)


def _live(failpoint: Failpoint, arguments: Sequence[str]) -> None:
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    [groups_topic] = [value[1:] for value in map(_after("kproxy.groups.topic.name"), arguments) if value]
    AppendWatch(failpoint, groups_topic).install()
    sys.argv = ["kproxy", *arguments]
    try:
        command_line.main()
    except SystemExit as end:
        os._exit(int(end.code or 0))
    os._exit(1)


def _after(prefix: str) -> Any:
    return lambda text: text[len(prefix) :] if text.startswith(prefix) else ""


def _state_kind(record: Record) -> str:
    decoded = decode_state_record(record)
    if isinstance(decoded.record, Claim):
        return "claim"
    return decoded.actors[0].cause.value if decoded.actors else "nobody"


def _group_kind(record: Record) -> str:
    decoded = decode_group_record(record).record
    if isinstance(decoded, Claim):
        return "claim"
    if isinstance(decoded, StatePartitionMetadata):
        return "initializing" if decoded.initializing else "initialized"
    return "group"


if __name__ == "__main__":
    main()
