import dataclasses

import pytest

from kproxy.settings import KEYS, HostPort, Settings, ShareUpstream


def test_nobody_set_anything_and_the_defaults_hold() -> None:
    # When
    settings = Settings()

    # Then
    assert settings.bootstrap_servers == ()
    assert settings.listen == HostPort("127.0.0.1", 19092)
    assert settings.broker_port_start == 19100
    assert settings.broker_port_map == {}
    assert settings.admin_listener == HostPort("127.0.0.1", 9644)
    assert settings.keepalive_ms == 240_000
    assert settings.share_upstream is ShareUpstream.REFUSE
    assert settings.frame_deadline_ms == 30_000
    assert settings.socket_request_max_bytes == 104_857_600
    assert settings.group_share_delivery_count_limit == 5
    assert settings.group_share_record_lock_duration_ms == 30_000


def test_the_share_group_defaults_are_those_of_a_stock_broker() -> None:
    # When
    defaults = {name: key.default for name, key in KEYS.items() if name.startswith("group.share.")}

    # Then: Kafka 4.3.1, GroupCoordinatorConfig and ShareGroupConfig
    assert defaults == {
        "group.share.max.size": "200",
        "group.share.max.share.sessions": "2000",
        "group.share.session.timeout.ms": "45000",
        "group.share.min.session.timeout.ms": "45000",
        "group.share.max.session.timeout.ms": "60000",
        "group.share.heartbeat.interval.ms": "5000",
        "group.share.min.heartbeat.interval.ms": "5000",
        "group.share.max.heartbeat.interval.ms": "15000",
        "group.share.assignment.interval.ms": "1000",
        "group.share.delivery.count.limit": "5",
        "group.share.record.lock.duration.ms": "30000",
        "group.share.min.record.lock.duration.ms": "15000",
        "group.share.max.record.lock.duration.ms": "60000",
        "group.share.partition.max.record.locks": "2000",
        "group.share.min.delivery.count.limit": "2",
        "group.share.max.delivery.count.limit": "10",
        "group.share.min.assignment.interval.ms": "0",
        "group.share.max.assignment.interval.ms": "15000",
        "group.share.min.partition.max.record.locks": "100",
        "group.share.max.partition.max.record.locks": "4000",
        "group.share.assignors": "simple",
        "group.share.initialize.retry.interval.ms": "30000",
    }


def test_the_advertised_host_is_the_host_that_is_bound() -> None:
    assert Settings(listen=HostPort("10.0.0.7", 9092)).advertised_host == "10.0.0.7"


def test_an_advertised_host_that_was_set_stays() -> None:
    assert Settings(advertised_host="kproxy.svc").advertised_host == "kproxy.svc"


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().keepalive_ms = 1  # type: ignore[misc]


@pytest.mark.parametrize("name", KEYS)
def test_attribute_and_variable_follow_from_the_name_of_the_key(name: str) -> None:
    # When
    words = name.removeprefix("kproxy.").replace(".", "_")

    # Then
    assert KEYS[name].attribute == words
    assert KEYS[name].environment_name == f"KPROXY_{words.upper()}"
    assert not name.startswith("kproxy.upstream.")


def test_no_two_keys_share_a_variable() -> None:
    assert len({key.environment_name for key in KEYS.values()}) == len(KEYS)


@pytest.mark.parametrize("name", KEYS)
def test_every_key_has_a_documented_sentence_and_a_default_that_its_kind_reads(name: str) -> None:
    # Given
    key = KEYS[name]

    # When
    value = key.kind.parse(key.default)

    # Then
    assert key.kind.write(value) == key.default
    assert key.doc.endswith(".")


@pytest.mark.parametrize("name", [name for name in KEYS if name.endswith(".ms")])
def test_a_duration_key_has_its_unit_in_the_attribute(name: str) -> None:
    assert KEYS[name].attribute.endswith("_ms")
