import pytest

from kproxy.clients.log_lines import VALUE_CLASSES, LogTopic, line_of
from kproxy.wire.records import Record
from tests.in_memory.written_log import a_claim, a_snapshot, a_tombstone, an_update


@pytest.mark.parametrize(
    ("record", "record_type", "is_claim", "claim_epoch"),
    [
        (a_claim(), "KproxyClaim", True, None),
        (a_snapshot(), "ShareSnapshot", False, 0),
        (an_update(), "ShareUpdate", False, 0),
        (a_tombstone(), "Tombstone", False, 0),
        (Record(b"\x00\x09", b"?"), "Undecodable", False, None),
    ],
    ids=["claim", "snapshot", "update", "tombstone", "unknown"],
)
def test_a_line_tells_what_its_record_is_and_under_which_claim_it_was_written(
    record: Record, record_type: str, *, is_claim: bool, claim_epoch: int | None
) -> None:
    # When
    line = line_of(LogTopic.STATE, "states", 7, record)

    # Then
    assert (line.record_type, line.is_claim, line.claim_epoch) == (record_type, is_claim, claim_epoch)
    assert bool(line.error) == (record_type == "Undecodable")


def test_every_message_of_the_log_has_a_value_class() -> None:
    """The record types of the keys and of the values agree."""
    # When
    pairs = [(key.SCHEMA.api_key, value.SCHEMA.api_key) for key, value in VALUE_CLASSES.items()]

    # Then
    assert len(pairs) == 12
    assert all(key_type == value_type for key_type, value_type in pairs)
