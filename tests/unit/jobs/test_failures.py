import pytest

from kproxy.clients.failures import CannotConnect
from kproxy.errors import CorruptStateRecord, ExitCode, UnsupportedStateRecord
from kproxy.jobs.failures import JobFailed, as_job_failures, failure_of_spark, told_to_driver


def as_spark_tells(failure: Exception, *, can_skip: bool = False) -> str:
    """What Spark makes of it: a traceback in a text, in a text."""
    try:
        with told_to_driver(can_skip=can_skip):
            raise failure  # noqa: TRY301 - as a task does
    except Exception as told:  # noqa: BLE001 - Spark takes any
        return f"SparkException: aborted.\nCaused by: PythonException: Traceback …\n{told}\n\tat x"


def test_a_failure_on_an_executor_arrives_with_its_words_and_its_exit_code() -> None:
    # Given
    text = as_spark_tells(JobFailed("no such topic", ExitCode.NOT_FOUND))

    # When
    failure = failure_of_spark(text)

    # Then
    assert (str(failure), failure.exit_code) == ("no such topic", ExitCode.NOT_FOUND)


def test_a_corrupt_record_at_which_a_fold_stops_says_how_to_pass_over_it() -> None:
    # Given
    text = as_spark_tells(CorruptStateRecord("unknown record type 9", offset=12), can_skip=True)

    # When
    failure = failure_of_spark(text)

    # Then
    assert str(failure) == "offset 12: unknown record type 9; --on-corrupt skip passes over it"
    assert failure.exit_code is ExitCode.FAILED


@pytest.mark.parametrize(
    ("failure", "can_skip"),
    [
        (CorruptStateRecord("no such form", offset=3), False),
        (UnsupportedStateRecord("version 7", offset=3), True),
        (JobFailed("no topic"), True),
    ],
)
def test_nobody_is_told_to_skip_what_cannot_be_skipped(failure: Exception, *, can_skip: bool) -> None:
    # When
    told = failure_of_spark(as_spark_tells(failure, can_skip=can_skip))

    # Then
    assert str(told) == str(failure)


def test_of_spark_s_own_failures_the_last_cause_is_told() -> None:
    # When
    failure = failure_of_spark("Job aborted\n\tat x\nCaused by: A: first\n\tat y\nCaused by: B: disk full\n")

    # Then
    assert str(failure) == "Spark failed: Caused by: B: disk full"


def test_of_a_call_into_the_jvm_the_reason_is_told_and_not_the_call() -> None:
    # When
    failure = failure_of_spark("An error occurred while calling o92.persist.\n: java.X: no topic\n\tat y\n")

    # Then
    assert str(failure) == "Spark failed: java.X: no topic"


def test_of_a_call_that_never_reached_the_jvm_the_reason_is_told() -> None:
    # When
    failure = failure_of_spark(
        "An error occurred while calling o9.gt. Trace:\npy4j.Py4JException: no such gt\n"
    )

    # Then
    assert str(failure) == "Spark failed: py4j.Py4JException: no such gt"


def test_what_python_raised_is_told_and_not_that_it_did() -> None:
    # Given
    raised = "Traceback (most recent call last):\n  File x, line 1, in f\n    g()\nValueError: no\n"

    # When
    failure = failure_of_spark(f"An exception was thrown from the Python worker.\n{raised}\tat y\n{raised}")

    # Then
    assert str(failure) == "Spark failed: ValueError: no"


def test_a_failure_without_words_is_told_all_the_same() -> None:
    # When
    failure = failure_of_spark("")

    # Then
    assert str(failure) == "Spark failed: it gave no reason"


def test_what_a_client_says_went_wrong_ends_a_job_in_the_same_words_with_the_same_exit_code() -> None:
    # When
    with pytest.raises(JobFailed, match="nobody at kafka:9092") as failure, as_job_failures():
        raise CannotConnect("nobody at kafka:9092")

    # Then
    assert failure.value.exit_code is ExitCode.CANNOT_CONNECT
