import pytest

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.client_properties import client_options

KNOWN = {
    "auto_offset_reset": "latest",
    "check_crcs": True,
    "client_id": "kafka-python",
    "consumer_timeout_ms": float("inf"),
    "receive_buffer_bytes": None,
    "request_timeout_ms": 30_000,
    "sasl_mechanism": None,
    "selector": object,
}


def test_each_property_has_the_type_of_what_the_client_has_for_it() -> None:
    # Given
    written = {
        "client.id": "7",
        "check.crcs": "False",
        "consumer.timeout.ms": "10",
        "receive.buffer.bytes": "65536",
        "request.timeout.ms": "5000",
        "sasl.mechanism": "PLAIN",
    }

    # When
    options = client_options(written, KNOWN)

    # Then
    assert options == {
        "client_id": "7",
        "check_crcs": False,
        "consumer_timeout_ms": 10,
        "receive_buffer_bytes": 65_536,
        "request_timeout_ms": 5000,
        "sasl_mechanism": "PLAIN",
    }


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("foo", "1", "no such property"),
        ("selector", "x", "no such property"),
        ("request.timeout.ms", "soon", "expected a whole number"),
        ("check.crcs", "perhaps", "expected true or false"),
        ("auto.offset.reset", "latest", "a value of its own"),
    ],
)
def test_what_a_client_cannot_be_given_is_bad_usage(name: str, value: str, said: str) -> None:
    # When
    with pytest.raises(JobFailed, match=said) as refusal:
        client_options({name: value}, KNOWN)

    # Then
    assert str(refusal.value).startswith(f"-K {name}")
    assert refusal.value.exit_code is ExitCode.USAGE
