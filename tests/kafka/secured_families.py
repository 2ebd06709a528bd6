"""The six families of clients of the matrix, each producing and consuming once with TLS, a certificate and SASL."""

import asyncio
import json
import ssl
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider

from tests.compatibility import kafkajs_packages
from tests.real_kafka import administration, kafka_python_clients, tools
from tests.real_kafka.administration import unique_name
from tests.real_kafka.certificates import Certificates
from tests.real_kafka.sasl_users import PASSWORDS, unsecured_token
from tests.real_kafka.secured_cluster import OF_ALICE, PROTOCOL, java_of_alice, librdkafka_of_alice
from tests.real_kafka.tools import JavaTool

TIMEOUT_SECONDS: Final = 60.0
ROUND_TRIP: Final = Path(kafkajs_packages.__file__).parent / "kafkajs" / "round_trip.cjs"
VERIFIABLE_PRODUCER: Final = "org.apache.kafka.tools.VerifiableProducer"
VERIFIABLE_CONSUMER: Final = "org.apache.kafka.tools.VerifiableConsumer"


@dataclass(frozen=True, slots=True)
class Door:
    """Where clients come in, and as whom: alice, by a mechanism. `scratch` is for files of theirs."""

    bootstrap_servers: str
    certificates: Certificates
    mechanism: str
    scratch: Path

    def java(self) -> dict[str, str]:
        return java_of_alice(self.certificates, self.mechanism)

    def librdkafka(self) -> dict[str, str]:
        return librdkafka_of_alice(self.certificates, self.mechanism)

    def command_config(self) -> Path:
        """A file for Kafka's tools, and for kproxy's."""
        path = self.scratch / f"{self.mechanism}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in self.java().items()))
        return path


RoundTrip = Callable[[Door, str, Sequence[str]], Sequence[str]]
"""Produces values to a topic, and returns those that are consumed from its beginning."""


def new_group() -> str:
    """The id of a group that alice may use."""
    return unique_name(f"{OF_ALICE}group")


def _confluent(door: Door, topic: str, values: Sequence[str]) -> Sequence[str]:
    settings = door.librdkafka()
    administration.produce(door.bootstrap_servers, topic, values, client_settings=settings)
    return administration.consume(door.bootstrap_servers, topic, len(values), client_settings=settings)


def _kafka_python(door: Door, topic: str, values: Sequence[str]) -> Sequence[str]:
    options = {**_python_options(door), **_python_files(door)}
    if door.mechanism == "OAUTHBEARER":
        options["sasl_oauth_token_provider"] = kafka_python_clients.token_provider(unsecured_token("alice"))
    kafka_python_clients.produce(door.bootstrap_servers, topic, values, options)
    return kafka_python_clients.consume(door.bootstrap_servers, topic, len(values), options)


def _python_options(door: Door) -> dict[str, Any]:
    options: dict[str, Any] = {"security_protocol": PROTOCOL, "sasl_mechanism": door.mechanism}
    if door.mechanism == "OAUTHBEARER":
        return options
    return {**options, "sasl_plain_username": "alice", "sasl_plain_password": PASSWORDS["alice"]}


def _python_files(door: Door) -> dict[str, Any]:
    client = door.certificates.client
    return {
        "ssl_cafile": str(door.certificates.clients.file),
        "ssl_certfile": str(client.certificate),
        "ssl_keyfile": str(client.key),
    }


class _Token(AbstractTokenProvider):  # type: ignore[misc]  # the client publishes no types
    async def token(self) -> str:
        return unsecured_token("alice")


def _aiokafka(door: Door, topic: str, values: Sequence[str]) -> Sequence[str]:
    return asyncio.run(asyncio.wait_for(_aiokafka_round(door, topic, values), TIMEOUT_SECONDS))


async def _aiokafka_round(door: Door, topic: str, values: Sequence[str]) -> Sequence[str]:
    client = door.certificates.client
    context = ssl.create_default_context(cafile=door.certificates.clients.file)
    context.load_cert_chain(client.certificate, client.key)
    options = {
        **_python_options(door),
        "bootstrap_servers": door.bootstrap_servers,
        "ssl_context": context,
    }
    if door.mechanism == "OAUTHBEARER":
        options["sasl_oauth_token_provider"] = _Token()
    async with AIOKafkaProducer(**options, acks="all") as producer:
        for value in values:
            await producer.send_and_wait(topic, value.encode())
    async with AIOKafkaConsumer(topic, **options, auto_offset_reset="earliest") as consumer:
        return [(await consumer.getone()).value.decode() for _ in values]


def _kafkajs(door: Door, topic: str, values: Sequence[str]) -> Sequence[str]:
    certificates = door.certificates
    wanted = {
        "broker": door.bootstrap_servers,
        "ca": str(certificates.clients.file),
        "certificate": str(certificates.client.certificate),
        "key": str(certificates.client.key),
        "mechanism": door.mechanism.lower(),
        "username": "alice",
        "password": PASSWORDS["alice"],
        "token": unsecured_token("alice"),
        "topic": topic,
        "values": list(values),
        "group": new_group(),
    }
    packages = f"NODE_PATH={kafkajs_packages.node_modules()}"
    answer = subprocess.run(
        ["/usr/bin/env", packages, kafkajs_packages.node(), ROUND_TRIP, json.dumps(wanted)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    found: list[str] = json.loads(answer.stdout)
    return found


def _java_clients(door: Door, topic: str, values: Sequence[str]) -> Sequence[str]:
    """Java's producer and consumer as Kafka's verifiable tools use them, which make values of their own: numbers."""
    shared = ["--bootstrap-server", door.bootstrap_servers, "--topic", topic]
    shared += ["--max-messages", str(len(values)), "--command-config", str(door.command_config())]
    tools.run_tool(VERIFIABLE_PRODUCER, [*shared, "--acks", "-1"])
    arguments = ["--group-id", new_group(), "--group-protocol", "classic", "--verbose"]
    result = tools.run_tool(VERIFIABLE_CONSUMER, [*shared, *arguments])
    events = [json.loads(line) for line in result.lines if line.startswith("{")]
    found = [str(event["value"]) for event in events if event["name"] == "record_data"]
    return [values[int(number)] for number in found]


def _java_tools(door: Door, topic: str, values: Sequence[str]) -> Sequence[str]:
    tools.console_producer(door.bootstrap_servers, topic, values, producer_settings=door.java())
    config = ("--command-config", str(door.command_config()))
    with tools.console_consumer(
        door.bootstrap_servers,
        topic,
        max_messages=len(values),
        arguments=("--from-beginning", "--group", new_group(), *config),
    ) as consumer:
        return _lines(consumer)


def share_consumed_by_tool(door: Door, topic: str, group: str, count: int) -> Sequence[str]:
    """The values that Kafka's console share consumer prints."""
    with tools.console_share_consumer(
        door.bootstrap_servers,
        topic,
        group=group,
        max_messages=count,
        arguments=("--command-config", str(door.command_config())),
    ) as consumer:
        return _lines(consumer)


def _lines(tool: JavaTool) -> Sequence[str]:
    result = tool.finish(timeout_seconds=TIMEOUT_SECONDS)
    assert result.exit_status == 0, result.errors
    return list(result.lines)


FAMILIES: Final[Mapping[str, RoundTrip]] = {
    "confluent-kafka": _confluent,
    "kafka-python": _kafka_python,
    "aiokafka": _aiokafka,
    "kafkajs": _kafkajs,
    "Java clients": _java_clients,
    "Java tools": _java_tools,
}
"""The rows of the matrix of clients."""
