from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.settings.addresses import HostPort
from kproxy.settings.choices import ShareAssignor
from kproxy.settings.value_kinds import (
    bare_host_name,
    file_path,
    host_name,
    host_names,
    listening_address,
    milliseconds,
    one_of,
    optional_group_id,
    optional_listening_address,
    port_by_node_id,
    server_addresses,
    share_assignor,
    topic_name,
    true_or_false,
    whole_number,
)


class Fruit(StrEnum):
    APPLE = "apple"
    PEAR = "pear"


@pytest.mark.parametrize(
    "text", ["simple", " Simple,", "org.apache.kafka.coordinator.group.assignor.SimpleAssignor"]
)
def test_the_assignor_is_named_as_brokers_name_it(text: str) -> None:
    assert share_assignor().parse(text) is ShareAssignor.SIMPLE


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "exactly one assignor for all share groups, which is simple, not 0"),
        ("simple,simple", "exactly one assignor for all share groups, which is simple, not 2"),
        ("range", "the only assignor that Kafka has for share groups"),
        ("com.example.OurAssignor", "is no Java program and can load no class"),
    ],
)
def test_another_assignor_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        share_assignor().parse(text)


@pytest.mark.parametrize("text", ["2", " 10 ", "007"])
def test_a_whole_number_within_its_inclusive_range_is_read(text: str) -> None:
    assert 2 <= whole_number(2, 10).parse(text) <= 10


@pytest.mark.parametrize("text", ["1", "11", "", "five", "5.0", "1_0", "\u0665", "9" * 5000])
def test_anything_else_is_refused_with_the_range(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a whole number from 2 to 10$"):
        whole_number(2, 10).parse(text)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("30s", "write 30000"),
        ("250 ms", "write 250"),
        ("4m", "write 240000"),
        ("2min", "write 120000"),
        ("1h", "write 3600000"),
    ],
)
def test_a_duration_with_a_unit_is_refused_with_the_number_to_write(text: str, advice: str) -> None:
    with pytest.raises(ValueError, match=f"without a unit: {advice}$"):
        milliseconds(0).parse(text)


def test_a_duration_is_a_plain_number_of_milliseconds() -> None:
    assert milliseconds(100).parse("240000") == 240_000


def test_a_duration_below_its_range_is_refused_with_the_range() -> None:
    with pytest.raises(ValueError, match=r"expected a whole number of milliseconds from 100 to 2147483647$"):
        milliseconds(100).parse("99")


def test_a_listening_address_may_ask_for_any_free_port() -> None:
    assert listening_address().parse("127.0.0.1:0") == HostPort("127.0.0.1", 0)


@pytest.mark.parametrize("text", ["", "none", " NONE "])
def test_an_optional_address_is_turned_off_by_nothing_and_by_none(text: str) -> None:
    assert optional_listening_address().parse(text) is None


def test_servers_keep_their_order_and_forgive_a_comma_too_many() -> None:
    assert server_addresses().parse("b:2, a:1,,") == (HostPort("b", 2), HostPort("a", 1))


def test_servers_are_refused_when_one_has_no_port() -> None:
    with pytest.raises(ValueError, match="the port is missing"):
        server_addresses().parse("a:1,b")


@pytest.mark.parametrize(
    ("text", "host"), [("", ""), ("kproxy.svc", "kproxy.svc"), ("[::1]", "::1"), ("::1", "::1")]
)
def test_a_host_stands_alone(text: str, host: str) -> None:
    assert host_name().parse(text) == host


def test_a_host_with_a_port_is_refused() -> None:
    with pytest.raises(ValueError, match="without a port"):
        host_name().parse("kproxy.svc:9092")


@pytest.mark.parametrize(("text", "host"), [(" kproxy-0.svc ", "kproxy-0.svc"), ("::1", "::1"), ("", "")])
def test_a_bare_host_stands_alone_or_is_left_out(text: str, host: str) -> None:
    assert bare_host_name().parse(text) == host


def test_a_bare_host_is_one_and_no_pattern_for_several() -> None:
    with pytest.raises(ValueError, match=r"expected one host, and \$\(nodeId\) stands for several"):
        bare_host_name().parse("kproxy-$(nodeId).svc")


def test_hosts_are_separated_by_commas_and_have_no_ports() -> None:
    assert host_names().parse(" kproxy.example, [fd00::7],") == ("kproxy.example", "fd00::7")
    with pytest.raises(ValueError, match="without a port"):
        host_names().parse("kproxy.example:9644")


def test_a_path_is_taken_as_it_is_or_left_out() -> None:
    assert [file_path().parse(text) for text in (" /run/secrets/fleet ", "")] == ["/run/secrets/fleet", ""]


@pytest.mark.parametrize("text", ["", "a fleet", "x" * 249])
def test_the_id_of_a_group_may_be_left_out(text: str) -> None:
    assert optional_group_id().parse(f" {text} ") == text


def test_an_id_of_a_group_that_is_too_long_is_refused_with_its_length() -> None:
    with pytest.raises(ValueError, match="of 249 characters at most, not 250"):
        optional_group_id().parse("x" * 250)


def test_ports_are_given_by_node_id() -> None:
    assert port_by_node_id().parse("1=19101, 0=19100") == {1: 19101, 0: 19100}


@pytest.mark.parametrize("text", ["1=19101,1=19102", "1=19101,2=19101"])
def test_a_node_id_or_a_port_given_twice_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="every node id and every port once"):
        port_by_node_id().parse(text)


@pytest.mark.parametrize("text", ["1", "1=", "=19101", "1=0", "-1=19101", "1=65536", "a=b"])
def test_a_pair_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected NODE-ID=PORT with a port from 1 to 65535 at"):
        port_by_node_id().parse(text)


@given(st.dictionaries(st.integers(0, 2**31 - 1), st.integers(1, 65535), max_size=5))
def test_ports_are_written_as_they_are_read(ports: dict[int, int]) -> None:
    # Given
    kind = port_by_node_id()
    distinct = {node_id: port for node_id, port in ports.items() if list(ports.values()).count(port) == 1}

    # When
    text = kind.write(distinct)

    # Then
    assert kind.parse(text) == distinct


def test_a_choice_is_read_in_any_case() -> None:
    assert one_of(Fruit).parse(" Pear ") is Fruit.PEAR


def test_another_word_is_refused_with_the_choices_and_the_reason() -> None:
    with pytest.raises(ValueError, match=r"expected apple or pear: plums come later$"):
        one_of(Fruit, why=": plums come later").parse("plum")


@pytest.mark.parametrize("text", ["orders", " __kproxy_share_state ", "a.b-c_D9", "x" * 249])
def test_a_topic_name_that_kafka_allows_is_read(text: str) -> None:
    assert topic_name().parse(text) == text.strip()


@pytest.mark.parametrize("text", ["", ".", "..", "a b", "\u00fcber", "x" * 250, "a/b"])
def test_a_topic_name_that_kafka_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a topic name of 1 to 249"):
        topic_name().parse(text)


@pytest.mark.parametrize(("text", "value"), [("true", True), (" False ", False), ("TRUE", True)])
def test_a_truth_value_is_read_in_any_case_and_written_in_lower_case(text: str, *, value: bool) -> None:
    kind = true_or_false()
    assert (kind.parse(text), kind.write(value)) == (value, text.strip().lower())


@pytest.mark.parametrize("text", ["", "yes", "1"])
def test_another_word_is_no_truth_value(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected true or false$"):
        true_or_false().parse(text)
