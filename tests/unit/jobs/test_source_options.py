import pytest

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.source_options import SourceOptions, require_python_source
from kproxy.jobs.sources.kafka_log import KafkaTopic


def options(**more: object) -> dict[str, object]:
    return {
        "bootstrap_server": "a:1",
        "files": None,
        "state_topic": "states",
        "groups_topic": "groups",
        "kafka_option": ("security.protocol=SSL", "ssl.password=a=b"),
        "source": "auto",
        "form": "kafka",
        **more,
    }


def test_the_options_of_the_command_line_name_the_topics_of_a_cluster() -> None:
    # When
    topic = SourceOptions.of(options()).topic("states")

    # Then
    assert topic == KafkaTopic("a:1", "states", {"security.protocol": "SSL", "ssl.password": "a=b"})


@pytest.mark.parametrize("version", ["4.0.0", "4.1.3"])
def test_a_spark_that_is_too_old_for_the_source_in_python_says_what_to_add(version: str) -> None:
    # When
    with pytest.raises(JobFailed, match=rf"Spark 4.2 or later.*--packages \S+:{version}") as refusal:
        require_python_source(version)

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("version", ["4.2.0", "4.3.0", "5.0.0.dev1"])
def test_a_newer_spark_needs_nothing(version: str) -> None:
    # When
    require_python_source(version)


@pytest.mark.parametrize("assignment", ["oops", "=x"])
def test_a_property_without_name_or_value_is_a_usage_error(assignment: str) -> None:
    # When
    with pytest.raises(JobFailed, match="expected KEY=VALUE") as refusal:
        SourceOptions.of(options(kafka_option=(assignment,)))

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE
