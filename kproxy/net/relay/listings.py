"""Answering ListGroups and ListConfigResources, whose answers may have a part for each of very many groups.

1. The broker is asked first, and its half waits as it came: kproxy's is not made before.
2. The list is made in its turn (`ListingTurns`), of which there are few at a time, and counts as it grows.
3. It is merged and encoded in portions, with turns of the loop for others in between.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, Final

from kproxy.errors import MalformedMessage
from kproxy.handlers.live.pauses import let_others_go_on
from kproxy.handlers.registry import Apis
from kproxy.handlers.request_context import AnswerBudget, RequestContext
from kproxy.interception.calls import Call
from kproxy.interception.client_session import ClientSession
from kproxy.interception.relayed_half import RelayedHalf
from kproxy.interception.response_slots import Buffers, ResponseSlot, SlotKind
from kproxy.interception.rewrites.shared_apis import SHARED_APIS
from kproxy.interception.routing import Disposition
from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.relay.answering import Answered, context_of, framed
from kproxy.net.relay.limits.listing_turns import ListingTurns
from kproxy.security.principal import UNKNOWN
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message

PORTION: Final = 5_000
"""Entries that are merged, or encoded, in one turn of the loop: 4 ms."""

_LARGE_ANSWER_BYTES: Final = 64 * 1024
"""A broker's half that is longer is decoded in a thread."""

_DECODED_TIMES: Final = 9
"""How many times its own bytes it takes then."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """What a list is in the answers of one API: their last field."""

    field: str
    identity_of: Callable[[Any], Hashable]
    is_ours_last: bool = False
    """Whether kproxy's entries stand behind the broker's."""


LISTINGS: Final[Mapping[int, _Listing]] = {
    ApiKey.LIST_GROUPS: _Listing("groups", attrgetter("group_id"), is_ours_last=True),
    ApiKey.LIST_CONFIG_RESOURCES: _Listing("config_resources", attrgetter("resource_type", "resource_name")),
}
"""By API key. Of these a client that nobody knows gets what the broker lets it see."""


async def answer_listing(
    connection: Answered, call: Call, apis: Apis, budget: AnswerBudget, turns: ListingTurns
) -> None:
    """Answer `call`, of one of `LISTINGS`, or have it again when the broker has told its half.

    Raises:
        PeerViolation: by requests that waited behind this one.
        BrokerFailure: the broker's half cannot be decoded.
    """
    request, session = call.request, connection.session
    if call.is_large:
        await let_others_go_on()  # it was decoded in this turn, or the last one
    context = context_of(connection, request, budget)
    is_examined = call.disposition is Disposition.EXAMINE
    ours = SHARED_APIS[request.api_key].split(request.message).local if is_examined else request.message
    if is_examined and call.told is None and not session.broker_lacks(request.api_key):
        if connection.is_over:
            return
        half = session.left_half(request, request.message, lambda answer: answer)
        if ours is None or context.principal == UNKNOWN:
            session.pass_on(call.slot, half.frame(), half.answer, kept_bytes=call.memory_bytes)
        else:
            _ask_broker_first(session, call, half)
        return
    client = connection.peer.rpartition(":")[0], session.principal
    async with turns.turn(connection.connection_id, client):
        if connection.is_gone or connection.is_over:
            buffers: Buffers = []  # for nobody
        else:
            buffers = await _listed(call, ours, apis, context)
        if not connection.is_over:
            session.answer(call.slot, buffers)


def _ask_broker_first(session: ClientSession, call: Call, half: RelayedHalf) -> None:
    """Send `half` to the broker for `call`, which was taken of `session` and comes again with what the broker told.

    Until it is answered then, what the client sent behind it waits, as behind any request that kproxy answers.
    """
    slot = call.slot
    slot.kind, slot.rewrite = SlotKind.REWRITE, partial(_come_again, session, call, half)
    session.slots.keep(slot, call.memory_bytes)
    session.requests.for_broker.extend(half.frame())


def _come_again(session: ClientSession, call: Call, half: RelayedHalf, frame: memoryview) -> Buffers:
    """Put a place for kproxy's answer behind that of the broker's, which is taken off next."""
    whole, asked = bytes(frame), call.slot
    slot = ResponseSlot(SlotKind.LOCAL, asked.api_key, asked.api_version, asked.correlation_id)
    session.slots.insert(1, slot)
    session.call = replace(call, slot=slot, told=partial(half.told, whole), told_bytes=len(whole))
    return []


async def _listed(call: Call, ours: Message | None, apis: Apis, context: RequestContext) -> Buffers:
    """Return the frame of the whole answer."""
    request, listing = call.request, LISTINGS[call.request.api_key]
    theirs = await _told(call, context.answer_budget)
    local = await apis.serve(replace(request, message=ours), context) if ours is not None else None
    await let_others_go_on()
    if local is not None and getattr(local, "error_code"):  # noqa: B009  # each of these messages has it
        return framed(request, local)
    around = _without_entries(local, listing)
    if call.disposition is Disposition.EXAMINE:
        merge = SHARED_APIS[request.api_key].merge
        around = merge(request.message, around, _without_entries(theirs, listing))
    assert around is not None, "a request that is not the broker's alone has an answer of kproxy's"
    if getattr(around, "error_code"):  # noqa: B009
        return framed(request, around)
    own_entries = _entries(local, listing)
    other_entries = await _others(_entries(theirs, listing), own_entries, listing.identity_of)
    lists = (other_entries, own_entries) if listing.is_ours_last else (own_entries, other_entries)
    portions: list[bytes] = []
    for entries in (portion for each in lists for portion in _portions(each)):
        portions.append(codecs.encode_elements(type(around), request.api_version, listing.field, entries))
        context.answer_budget.keep(len(portions[-1]))
        await let_others_go_on()
    return codecs.encode_response_around(
        request.api_key,
        request.api_version,
        request.correlation_id,
        around,
        count=len(own_entries) + len(other_entries),
        portions=portions,
    )


async def _told(call: Call, budget: AnswerBudget) -> Message | None:
    """Return the broker's half, if it was asked."""
    if call.told is None:
        return None
    budget.keep(_DECODED_TIMES * call.told_bytes)
    try:
        if call.told_bytes > _LARGE_ANSWER_BYTES:
            return await asyncio.to_thread(call.told)
        return call.told()
    except MalformedMessage as malformed:
        raise BrokerFailure("malformed_response", str(malformed)) from malformed


async def _others(
    theirs: Sequence[Any], ours: Sequence[Any], identity_of: Callable[[Any], Hashable]
) -> Sequence[Any]:
    """Return those of `theirs` that are none of `ours`."""
    named: set[Hashable] = set()
    for portion in _portions(theirs):
        named.update(map(identity_of, portion))
        await let_others_go_on()
    told_twice: set[Hashable] = set()
    for portion in _portions(ours if named else ()):
        told_twice.update(named.intersection(map(identity_of, portion)))
        await let_others_go_on()
    if not told_twice:
        return theirs
    others: list[Any] = []
    for portion in _portions(theirs):
        others += (entry for entry in portion if identity_of(entry) not in told_twice)
        await let_others_go_on()
    return others


def _portions(entries: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (entries[begin : begin + PORTION] for begin in range(0, len(entries), PORTION))


def _without_entries(answer: Message | None, listing: _Listing) -> Message | None:
    emptied: Any = answer
    return None if emptied is None else replace(emptied, **{listing.field: []})


def _entries(answer: Message | None, listing: _Listing) -> Sequence[Any]:
    return () if answer is None else getattr(answer, listing.field)
