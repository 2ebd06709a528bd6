"""Records of the state log as rows of a table: the gist of each."""

import json
from typing import Final

from kproxy.clients.dump_format import data_of
from kproxy.clients.log_lines import LogLine
from kproxy.clients.tables import cell_text
from kproxy.errors import CorruptStateRecord
from kproxy.notation import iso_time
from kproxy.statelog.actors import ACTOR_HEADER, Actor, RecordEnd, decode_actor
from kproxy.wire.records import Record

TABLE_HEADER: Final = ("PARTITION", "OFFSET", "TIMESTAMP", "TYPE", "KEY", "CLAIM", "CAUSES", "VALUE")


def row_of(line: LogLine) -> list[str]:
    """Return the cells of a record under TABLE_HEADER."""
    key = "" if line.key is None else ":".join(map(str, data_of(line.key).values()))
    value = None if line.value is None else json.dumps(data_of(line.value), separators=(",", ":"))
    cells = [
        line.partition,
        line.record.offset,
        iso_time(line.record.timestamp_ms) if line.record.timestamp_ms >= 0 else None,
        line.record_type,
        key,
        line.claim_epoch,
        ",".join(_causes(line.record)),
        line.error or value,
    ]
    return [cell_text(cell) for cell in cells]


def _causes(record: Record) -> list[str]:
    causes: dict[str, None] = {}
    for name, value in record.headers:
        if name == ACTOR_HEADER:
            try:
                causes[_gist(decode_actor(value))] = None
            except CorruptStateRecord:
                causes["?"] = None
    return list(causes)


def _gist(actor: Actor) -> str:
    """Return in a word what was done: the type of an acknowledgement or the cause, and if that was at the limit."""
    what = actor.cause.value if actor.acknowledge_type is None else actor.acknowledge_type.name.lower()
    return f"{what}+{RecordEnd.DELIVERY_LIMIT}" if actor.is_at_delivery_limit else what
