"""The API keys of Kafka 4.4."""

from kproxy.wire.api_keys import ApiKey


def test_every_number_up_to_the_newest_share_api_has_its_name() -> None:
    assert [int(key) for key in ApiKey] == list(range(93))


def test_the_keys_that_kproxy_treats_in_a_special_way_have_kafkas_numbers() -> None:
    assert {key.name: int(key) for key in ApiKey if key.name.startswith(("SHARE_", "API_", "SASL_"))} == {
        "SASL_HANDSHAKE": 17,
        "API_VERSIONS": 18,
        "SASL_AUTHENTICATE": 36,
        "SHARE_GROUP_HEARTBEAT": 76,
        "SHARE_GROUP_DESCRIBE": 77,
        "SHARE_FETCH": 78,
        "SHARE_ACKNOWLEDGE": 79,
    }


def test_an_api_has_the_name_of_kafkas_documents() -> None:
    assert ApiKey.SHARE_FETCH.kafka_name == "ShareFetch"
    assert ApiKey.METADATA.kafka_name == "Metadata"
