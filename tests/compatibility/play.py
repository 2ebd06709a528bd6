"""Lets a client run its scenarios on the clients' host, and tells what came of each."""

import json
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.compatibility import kafkajs_packages
from tests.compatibility.backings import Backing
from tests.compatibility.clients.probe import ERROR_CHARACTERS
from tests.compatibility.java_clients import JAVA_CLIENT_CHECKS, JavaCheck
from tests.compatibility.java_ground import JavaGround
from tests.compatibility.java_tools import JAVA_TOOL_CHECKS
from tests.compatibility.namespaces import BROKERS_ADDRESS, Command
from tests.compatibility.results import Result
from tests.compatibility.roster import (
    AIOKAFKA,
    CONFLUENT,
    JAVA_CLIENTS,
    JAVA_TOOLS,
    KAFKA_PYTHON,
    KAFKAJS,
    Client,
)
from tests.compatibility.scenarios import Scenario
from tests.real_kafka.child import Child, ChildEnded, ChildTimedOut
from tests.real_kafka.prerequisites import MissingPrerequisite

PROBE_TIMEOUT_SECONDS: Final = 240.0
"""For all scenarios of one client together."""

PYTHON_MODULES: Final[Mapping[str, str]] = {
    CONFLUENT.name: "tests.compatibility.clients.confluent_client",
    KAFKA_PYTHON.name: "tests.compatibility.clients.kafka_python_client",
    AIOKAFKA.name: "tests.compatibility.clients.aiokafka_client",
}
JAVA_CHECKS: Final[Mapping[str, Mapping[Scenario, JavaCheck]]] = {
    JAVA_CLIENTS.name: JAVA_CLIENT_CHECKS,
    JAVA_TOOLS.name: JAVA_TOOL_CHECKS,
}


@dataclass(frozen=True, slots=True)
class Stage:
    """Where all clients play: how a program gets to their host, and what it is told there."""

    backing: Backing
    bootstrap_servers: str
    direct_servers: str
    within: tuple[str | Path, ...]
    scratch: Path

    @property
    def is_direct(self) -> bool:
        """Whether clients are told the brokers' own addresses, to see what they do without kproxy."""
        return self.bootstrap_servers == self.direct_servers


def play(stage: Stage, client: Client, scenarios: tuple[Scenario, ...]) -> Iterator[Result]:
    """Run these scenarios one after the other; yields a result for each."""
    if client.name in JAVA_CHECKS:
        return _play_java(stage, client, scenarios)
    return _play_probe(stage, client, scenarios, _probe_command(client))


def _probe_command(client: Client) -> Command:
    if client is KAFKAJS:
        packages = f"NODE_PATH={kafkajs_packages.node_modules()}"
        return [Path("/usr/bin/env"), packages, kafkajs_packages.node(), kafkajs_packages.PROBE]
    return [sys.executable, "-m", PYTHON_MODULES[client.name]]


def _play_probe(
    stage: Stage, client: Client, scenarios: tuple[Scenario, ...], command: Command
) -> Iterator[Result]:
    arguments = [stage.bootstrap_servers, str(stage.backing.broker_count), *scenarios]
    deadline = time.monotonic() + PROBE_TIMEOUT_SECONDS
    with Child(client.name, [*stage.within, *command, *arguments]) as probe:
        for scenario in scenarios:
            try:
                line = probe.next_line(timeout_seconds=deadline - time.monotonic())
            except (ChildEnded, ChildTimedOut) as failure:
                yield Result(
                    stage.backing.label, client.name, scenario, str(failure)[-ERROR_CHARACTERS:], 0.0
                )
            else:
                yield _told(stage, client, scenario, line, probe.errors())


def _told(stage: Stage, client: Client, scenario: Scenario, line: str, errors: str) -> Result:
    """The result in a line of a probe; it has failed if a broker's own address was told to the client."""
    told = json.loads(line)
    assert told["scenario"] == scenario, (
        f"{client.name} told of {told['scenario']} when it was to do {scenario}"
    )
    error = str(told["error"])
    if not error and not stage.is_direct and BROKERS_ADDRESS in errors:
        error = f"the client was told a broker's own address: {errors[-ERROR_CHARACTERS:]}"
    return Result(stage.backing.label, client.name, scenario, error, float(told["seconds"]))


def _play_java(stage: Stage, client: Client, scenarios: tuple[Scenario, ...]) -> Iterator[Result]:
    ground = JavaGround(
        backing=stage.backing,
        bootstrap_servers=stage.bootstrap_servers,
        direct_servers=stage.direct_servers,
        within=stage.within,
        scratch=stage.scratch,
        may_name_brokers=stage.is_direct,
    )
    for scenario in scenarios:
        started = time.monotonic()
        check = JAVA_CHECKS[client.name][scenario]
        error = _error_of(check, ground)
        seconds = round(time.monotonic() - started, 2)
        yield Result(stage.backing.label, client.name, scenario, error, seconds)


def _error_of(check: JavaCheck, ground: JavaGround) -> str:
    # Whatever goes wrong is an answer that the test judges, but for what no client is to blame for.
    try:
        check(ground)
    except MissingPrerequisite:
        raise
    except Exception:  # noqa: BLE001
        return traceback.format_exc()[-ERROR_CHARACTERS:]
    return ""
