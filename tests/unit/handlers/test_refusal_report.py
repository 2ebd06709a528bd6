"""One event for each reason of a request, whatever it names."""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.request_context import RequestContext
from tests.in_memory.recording_observer import RecordingObserver
from tests.worlds.share_group_world import NO_SUCH_TOPIC, ShareGroupWorld

CONTEXT = RequestContext(1, 1, 78, 2, "client", "/127.0.0.1")


def test_refusals_with_one_error_are_one_event_that_tells_the_first_and_the_count() -> None:
    # Given
    observer = RecordingObserver()
    report = RefusalReport(observer, CONTEXT)
    for partition in range(1_000):
        report.add(ErrorCode.UNKNOWN_TOPIC_ID, f"fetch of partition {partition}")
    report.add(ErrorCode.KAFKA_STORAGE_ERROR, "fetch of another")

    # When
    report.tell()

    # Then
    assert observer.refusals == [
        ("unknown_topic_id", "fetch of partition 0 (and 999 more)"),
        ("kafka_storage_error", "fetch of another"),
    ]


def test_what_was_told_is_not_told_again() -> None:
    # Given
    observer = RecordingObserver()
    report = RefusalReport(observer, CONTEXT)
    report.add(ErrorCode.UNKNOWN_TOPIC_ID, "fetch of a partition")
    report.tell()

    # When
    report.tell()

    # Then
    assert len(observer.refusals) == 1


async def test_acknowledgements_of_what_does_not_exist_are_one_event_for_each_request() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    await alice.open()
    world.observer.refusals.clear()

    # When
    for _ in range(2):
        await alice.acknowledge({(NO_SUCH_TOPIC, partition): [(0, 0, [1])] for partition in range(100)})

    # Then
    assert world.observer.reasons == ["unknown_topic_id"] * 2
