"""Groups whose records are large: an append of them is made, and taken in, in one turn each."""

from collections.abc import Mapping

from kproxy.statelog.group_queue import ConfigWrite
from tests.worlds.group_queue_log import GroupQueueLog


def of_bytes(count: int) -> Mapping[str, str]:
    """Configurations that take so many bytes."""
    return {f"key {number}": "x" * 30_000 for number in range(count // 30_000)}


def test_large_records_are_written_one_after_the_other() -> None:
    """An append of a megabyte would be made, and taken in, for a tenth of a second."""
    # Given
    log = GroupQueueLog()
    writes = [ConfigWrite(f"g{number}", of_bytes(300_000)) for number in range(3)]
    tickets = [log.store.submit(write) for write in writes]
    sizes: list[int] = []

    # When
    while (append := log.draft()) is not None:
        sizes.append(len(append.records))
        log.land(append)

    # Then
    assert sizes == [1, 1, 1]
    assert all(ticket.is_done and ticket.refusal is None for ticket in tickets)


def test_a_record_as_large_as_an_append_may_be_is_written() -> None:
    # Given
    log = GroupQueueLog()

    # When
    ticket = log.write(ConfigWrite("g", of_bytes(900_000)))

    # Then
    assert ticket.is_done
    assert ticket.refusal is None
