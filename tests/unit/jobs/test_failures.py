from kproxy.errors import CorruptStateRecord, ExitCode
from kproxy.jobs.failures import JobFailed, failure_of_spark, told_to_driver


def as_spark_tells(failure: Exception) -> str:
    """What Spark makes of it: a traceback in a text, in a text."""
    try:
        with told_to_driver():
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


def test_a_corrupt_record_says_how_to_pass_over_it() -> None:
    # Given
    text = as_spark_tells(CorruptStateRecord("unknown record type 9", offset=12))

    # When
    failure = failure_of_spark(text)

    # Then
    assert str(failure) == "offset 12: unknown record type 9; --on-corrupt skip passes over it"
    assert failure.exit_code is ExitCode.FAILED


def test_of_spark_s_own_failures_the_last_cause_is_told() -> None:
    # When
    failure = failure_of_spark("Job aborted\n\tat x\nCaused by: A: first\n\tat y\nCaused by: B: disk full\n")

    # Then
    assert str(failure) == "Spark failed: Caused by: B: disk full"


def test_a_failure_without_words_is_told_all_the_same() -> None:
    # When
    failure = failure_of_spark("")

    # Then
    assert str(failure) == "Spark failed: it gave no reason"
