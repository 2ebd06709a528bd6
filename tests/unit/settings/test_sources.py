from pathlib import Path

import pytest

from kproxy.errors import SettingsError
from kproxy.settings.key_table import KEYS
from kproxy.settings.sources import (
    Assignment,
    assignment_of_override,
    assignments_in_environment,
    assignments_in_file,
    problems_of_source,
)


def a_file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def keys_and_texts(path: Path) -> dict[str, str]:
    return {assignment.key: assignment.text for assignment in assignments_in_file(path)}


def test_a_toml_file_may_nest_tables_quote_whole_keys_and_list_values(tmp_path: Path) -> None:
    # Given
    path = a_file(
        tmp_path,
        "kproxy.toml",
        """
        "group.share.max.size" = 100
        bootstrap.servers = ["a:1", "b:2"]
        [kproxy]
        listen = "127.0.0.1:9092"
        broker.port.start = 9100
        [kproxy.broker.port.map]
        1 = 9301
        2 = 9302
        """,
    )

    # When
    found = keys_and_texts(path)

    # Then
    assert found == {
        "group.share.max.size": "100",
        "bootstrap.servers": "a:1,b:2",
        "kproxy.listen": "127.0.0.1:9092",
        "kproxy.broker.port.start": "9100",
        "kproxy.broker.port.map": "1=9301,2=9302",
    }


def test_a_toml_boolean_is_written_as_kafka_does(tmp_path: Path) -> None:
    assert keys_and_texts(a_file(tmp_path, "k.toml", "kproxy.on = true")) == {"kproxy.on": "true"}


def test_a_properties_file_remembers_the_line_of_each_key(tmp_path: Path) -> None:
    # Given
    path = a_file(
        tmp_path, "kproxy.properties", "# ours\nbootstrap.servers=a:1,\\\n  b:2\nkproxy.listen : c:3  \n"
    )

    # When
    found = assignments_in_file(path)

    # Then
    assert found == [
        Assignment("bootstrap.servers", "a:1,b:2", f"file {path} line 2"),
        Assignment("kproxy.listen", "c:3", f"file {path} line 4"),
    ]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"kproxy\.yaml: the name must end in \.toml or \.properties"):
        assignments_in_file(tmp_path / "kproxy.yaml")


def test_a_file_that_is_not_there_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file or directory"):
        assignments_in_file(tmp_path / "kproxy.toml")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    # Given
    path = tmp_path / "kproxy.toml"
    path.write_bytes(b'a = "\xff"')

    # When
    with pytest.raises(SettingsError) as refusal:
        assignments_in_file(path)

    # Then
    assert "is not UTF-8 text: byte 5 does not fit" in str(refusal.value)


def test_a_key_that_begins_with_the_whole_of_another_gets_the_advice_to_quote_both(tmp_path: Path) -> None:
    # Given
    path = a_file(tmp_path, "kproxy.toml", "topic.name = 'a'\ntopic.name.prefix = 'b'\n")

    # When
    with pytest.raises(SettingsError) as refusal:
        assignments_in_file(path)

    # Then
    assert "is not TOML" in str(refusal.value)
    assert "quote both" in str(refusal.value)


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("KPROXY_LISTEN", "kproxy.listen"),
        ("KPROXY_BOOTSTRAP_SERVERS", "bootstrap.servers"),
        ("KPROXY_GROUP_SHARE_DELIVERY_COUNT_LIMIT", "group.share.delivery.count.limit"),
        ("KPROXY_UPSTREAM_SECURITY_PROTOCOL", "upstream.security.protocol"),
        ("KPROXY_SHARE_UPSTREAM", "kproxy.share.upstream"),
    ],
)
def test_a_variable_stands_for_the_key_in_capitals_without_a_leading_kproxy(variable: str, key: str) -> None:
    assert assignments_in_environment({variable: "x", "HOME": "/home/me"}) == [
        Assignment(key, "x", f"environment variable {variable}")
    ]


def test_an_empty_variable_is_a_value() -> None:
    assert assignments_in_environment({"KPROXY_ADMIN_LISTENER": ""}) == [
        Assignment("kproxy.admin.listener", "", "environment variable KPROXY_ADMIN_LISTENER")
    ]


def test_the_codec_switch_is_no_key() -> None:
    assert assignments_in_environment({"KPROXY_CODEC": "construct"}) == []


@pytest.mark.parametrize(
    "variable",
    [
        "KPROXY_SERVICE_HOST",
        "KPROXY_SERVICE_PORT",
        "KPROXY_SERVICE_PORT_KAFKA",
        "KPROXY_PORT",
        "KPROXY_PORT_19092_TCP",
        "KPROXY_PORT_19092_TCP_ADDR",
        "KPROXY_ADMIN_SERVICE_HOST",
        "KPROXY_ADMIN_PORT_9644_TCP_PROTO",
    ],
)
def test_the_service_links_of_kubernetes_are_passed_over(variable: str) -> None:
    assert assignments_in_environment({variable: "tcp://10.0.0.1:19092"}) == []


def service_links(service: str, port: int = 9092, port_name: str = "kafka") -> dict[str, str]:
    """Return what kubelet sets in every container beside a Service (`enableServiceLinks`)."""
    name, address = service.upper().replace("-", "_"), "10.0.0.1"
    of_port = f"{name}_PORT_{port}_TCP"
    return {
        f"{name}_SERVICE_HOST": address,
        f"{name}_SERVICE_PORT": str(port),
        f"{name}_SERVICE_PORT_{port_name.upper().replace('-', '_')}": str(port),
        f"{name}_PORT": f"tcp://{address}:{port}",
        of_port: f"tcp://{address}:{port}",
        f"{of_port}_PROTO": "tcp",
        f"{of_port}_PORT": str(port),
        f"{of_port}_ADDR": address,
    }


@pytest.mark.parametrize(
    "service",
    [
        "kproxy",
        "kproxy-admin",
        "kproxy-fleet",
        "kproxy-broker",
        "kproxy-listen",
        "kproxy-0",
        "kproxy-tls-listen",
    ],
)
def test_no_name_of_a_service_makes_a_setting(service: str) -> None:
    assert assignments_in_environment(service_links(service)) == []


def test_services_named_like_any_key_make_no_setting() -> None:
    # When
    taken = {
        variable: assignments_in_environment({variable: value})
        for key in KEYS.values()
        for variable, value in service_links(key.environment_name.lower().replace("_", "-")).items()
    }

    # Then
    assert {variable for variable, assignments in taken.items() if assignments} == set()


def test_an_override_is_split_at_its_first_equals_sign() -> None:
    assert assignment_of_override("kproxy.broker.port.map=1=19101") == Assignment(
        "kproxy.broker.port.map", "1=19101", "-X"
    )


def test_an_override_without_an_equals_sign_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"-X kproxy\.listen: expected KEY=VALUE"):
        assignment_of_override("kproxy.listen")


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("kproxy.keepalive", "unknown key 'kproxy.keepalive' (here): did you mean kproxy.keepalive.ms?"),
        (
            "group.share.max.sizes",
            "unknown key 'group.share.max.sizes' (here): did you mean group.share.max.size?",
        ),
        ("KPROXY_LISTN", "unknown key 'KPROXY_LISTN' (here): did you mean KPROXY_LISTEN?"),
        ("zookeeper", "unknown key 'zookeeper' (here): kproxy config show lists every key"),
    ],
)
def test_an_unknown_key_is_a_problem_with_a_suggestion(key: str, problem: str) -> None:
    assert list(problems_of_source([Assignment(key, "1", "here")])) == [problem]


def test_sasl_of_clients_is_no_matter_of_the_configuration() -> None:
    # When
    (problem,) = problems_of_source([Assignment("sasl.mechanism", "PLAIN", "here")])

    # Then
    assert problem.endswith("kproxy's own connections have upstream.sasl.mechanism")


def test_one_source_that_contradicts_itself_is_a_problem() -> None:
    # Given
    assignments = [Assignment("kproxy.listen", "a:1", "--listen"), Assignment("kproxy.listen", "b:2", "-X")]

    # When
    problems = list(problems_of_source(assignments))

    # Then
    assert problems == ["kproxy.listen is 'a:1' (--listen) and 'b:2' (-X): keep one of them"]


def test_one_source_may_say_the_same_thing_twice() -> None:
    # Given
    assignments = [Assignment("kproxy.listen", "a:1", "--listen"), Assignment("kproxy.listen", "a:1", "-X")]

    # When
    problems = list(problems_of_source(assignments))

    # Then
    assert problems == []
