"""Whoever must not go on from a refused write hears of the refusal before those who wait for the write."""

import asyncio

import pytest

from kproxy.errors import ApiError, StateLogUnavailable
from kproxy.net.state_log.durable_state_log import _promise
from kproxy.statelog.tickets import Ticket


async def outcome_of(ticket: Ticket, told: list[str]) -> None:
    """Wait for the promise of `ticket`, and note who hears of its refusal."""

    def note(refusal: ApiError) -> None:
        told.append(f"first: {refusal}")

    promise = _promise(lambda: ticket, note)
    try:
        await promise
    except StateLogUnavailable as refusal:
        told.append(f"then: {refusal}")


@pytest.mark.parametrize("is_refused_at_once", [True, False])
async def test_a_refusal_is_told_before_anybody_who_waits_hears_of_it(*, is_refused_at_once: bool) -> None:
    # Given
    ticket, told = Ticket(), list[str]()

    # When
    if is_refused_at_once:
        ticket.refuse(StateLogUnavailable("no quorum"))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(outcome_of(ticket, told))
        await asyncio.sleep(0)
        if not is_refused_at_once:
            ticket.refuse(StateLogUnavailable("no quorum"))

    # Then
    assert told == ["first: no quorum", "then: no quorum"]


def test_a_refusal_that_comes_later_is_told_in_the_turn_in_which_it_becomes_known() -> None:
    # Given
    ticket, told = Ticket(), list[ApiError]()
    _promise(lambda: ticket, told.append)
    refusal = StateLogUnavailable("no quorum")

    # When
    ticket.refuse(refusal)

    # Then
    assert told == [refusal], "nobody else has had a turn, and none can write what rests on it"


async def test_nothing_is_told_of_a_write_that_is_durable() -> None:
    # Given
    ticket, told = Ticket(), list[str]()

    # When
    ticket.settle()
    await outcome_of(ticket, told)

    # Then
    assert told == []
