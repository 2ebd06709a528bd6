"""What README.md and the pages that it leads to give to type and to paste does what they say.

It does so word for word, but for addresses and a time.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from kproxy.jobs import command_line
from tests.kafka.readme_addresses import ReadmeAddresses
from tests.real_kafka.child import Child
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.ports import ReservedPort
from tests.real_kafka.readme_snippets import (
    CONFIGURING,
    README,
    programs_of,
    readme_commands,
    text_of,
    without_comment,
)
from tests.real_kafka.session_clusters import ClusterOfSession
from tests.real_kafka.tools import CONFIG_COMMAND, JavaTool

KPROXY: Final = Path(sys.executable).with_name("kproxy")
ENV: Final = Path(shutil.which("env") or "env")
RUN_COMMANDS: Final = readme_commands("kproxy run ")
IN_FRONT_OF_ONE_BROKER: Final = next(command for command in RUN_COMMANDS if "localhost:9092" in command)
GROUP_PATH: Final = "/api/v1/groups/orders-workers"
SESSIONS_PATH: Final = "/api/v1/sessions?group=orders-workers"
ORDERS: Final = [f"order {number}" for number in range(5_000)]
TIMEOUT_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.1

PRODUCER, SHARE_CONSUMER = programs_of(text_of(README))
(STARTS_AT_THE_BEGINNING,) = [command for command in readme_commands("kproxy ") if " --set " in command]


@dataclass(frozen=True, slots=True)
class Started:
    """A kproxy that a command of README.md started, and the line that it printed."""

    addresses: ReadmeAddresses
    line: str


StartedBy = Callable[[str], Started]


@pytest.fixture(scope="module")
def started_by(kafka_cluster: ClusterOfSession) -> Iterator[StartedBy]:
    """A function that gives the kproxy that a command starts, ready; the first call for it starts it."""
    running: dict[str, Started] = {}
    with ExitStack() as stack:

        def started_by(command: str) -> Started:
            if command not in running:
                brokers = 1 if command == IN_FRONT_OF_ONE_BROKER else 3
                running[command] = _start(stack, command, kafka_cluster(brokers=brokers))
            return running[command]

        yield started_by


@dataclass(frozen=True, slots=True)
class Workplace:
    """What a reader has who did all that README.md says up to the first share consumer, which runs on."""

    addresses: ReadmeAddresses
    folder: Path
    consumed: list[str]
    """What the share consumer printed."""

    def program(self, text: str) -> list[str | Path]:
        """The command that runs a program of README.md."""
        file = self.folder / f"program-{abs(hash(text))}.py"
        file.write_text(self.addresses.put_into(text), encoding="utf-8")
        return [sys.executable, "-u", file]

    def kproxy(self, command: str) -> list[str | Path]:
        """A command of kproxy, as it is run here."""
        return [KPROXY, *self.addresses.arguments_of(command)]

    def members(self) -> int:
        """How many members the group has now."""
        return sum(len(group["members"]) for group in self.addresses.answer(GROUP_PATH))

    def fetching_members(self) -> int:
        """How many members have a share session, and so have heard that they joined.

        A member of librdkafka that has not heard of it yet does not leave: it has nothing to leave.
        """
        return len(self.addresses.answer(SESSIONS_PATH))

    def run(self, command: list[str | Path]) -> subprocess.CompletedProcess[str]:
        """Run a command to its end in the folder of the reader."""
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )


@pytest.fixture(scope="module")
def workplace(started_by: StartedBy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workplace]:
    addresses = started_by(IN_FRONT_OF_ONE_BROKER).addresses
    place = Workplace(addresses, tmp_path_factory.mktemp("reader"), [])
    for command in (place.program(PRODUCER), place.kproxy(STARTS_AT_THE_BEGINNING)):
        ended = place.run(command)
        assert ended.returncode == 0, ended.stderr
    with Child("the share consumer of README.md", place.program(SHARE_CONSUMER)) as consumer:
        for _ in ORDERS:
            place.consumed.append(consumer.next_line(timeout_seconds=TIMEOUT_SECONDS))
        yield place


@pytest.mark.parametrize("command", RUN_COMMANDS, ids=without_comment)
def test_kproxy_run_is_ready_to_serve_share_groups(started_by: StartedBy, command: str) -> None:
    # When
    started = started_by(command)

    # Then
    assert f" ready: bootstrap {started.addresses.listen};" in started.line
    assert started.line.endswith("share groups on")


def test_the_share_consumer_prints_every_record_of_the_producer_once(workplace: Workplace) -> None:
    assert sorted(workplace.consumed) == sorted(ORDERS)


def test_a_second_share_consumer_leaves_the_group_at_ctrl_c(workplace: Workplace) -> None:
    # Given
    with Child("the share consumer of README.md", workplace.program(SHARE_CONSUMER)) as consumer:
        _wait_until(lambda: workplace.fetching_members() == 2, consumer)

        # When
        os.kill(consumer.process_id, signal.SIGINT)

        # Then
        assert consumer.next_line(timeout_seconds=TIMEOUT_SECONDS) == "has left the group"
        assert consumer.wait(timeout_seconds=TIMEOUT_SECONDS) == 0
        assert "Traceback" not in consumer.errors()
    assert workplace.members() == 1


@pytest.mark.parametrize("program", programs_of(text_of(CONFIGURING)))
def test_a_program_configures_the_group(workplace: Workplace, program: str) -> None:
    # When
    ended = workplace.run(workplace.program(program))

    # Then
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("command", readme_commands("kafka-configs.sh "), ids=without_comment)
def test_kafkas_own_tool_configures_the_group(workplace: Workplace, command: str) -> None:
    # When
    with JavaTool(CONFIG_COMMAND, workplace.addresses.arguments_of(command)) as tool:
        ended = tool.finish()

    # Then
    assert ended.exit_status == 0, ended.errors
    assert ended.lines == ("Completed updating config for group orders-workers.",)


@pytest.mark.parametrize("command", readme_commands("kproxy "), ids=without_comment)
def test_a_command_that_looks_into_kproxy_answers(workplace: Workplace, command: str) -> None:
    # When
    ended = workplace.run(workplace.kproxy(command))

    # Then
    assert ended.returncode == 0, ended.stderr
    assert "Error" not in ended.stderr


@pytest.mark.spark
@pytest.mark.parametrize("command", readme_commands("kproxy replay "), ids=without_comment)
def test_a_replay_job_answers(
    workplace: Workplace, command: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.chdir(workplace.folder)
    replay, *arguments = workplace.addresses.arguments_of(command)

    # When
    ended = CliRunner().invoke(command_line.jobs, arguments)

    # Then
    assert replay == "replay"
    assert ended.exit_code == 0, ended.stderr
    assert json.loads(ended.stderr.splitlines()[-1])["job"] == arguments[0]


def _start(stack: ExitStack, command: str, cluster: KafkaCluster) -> Started:
    listen, admin, *brokers = (stack.enter_context(ReservedPort()) for _ in range(2 + len(cluster.node_ids)))
    broker_ports = {node_id: port.number for node_id, port in zip(cluster.node_ids, brokers, strict=True)}
    addresses = ReadmeAddresses(cluster.bootstrap_servers, listen.address, admin.address, broker_ports)
    program, *_ = shlex.split(command)
    assert program == KPROXY.name
    variables = [f"{name}={value}" for name, value in addresses.environment(os.environ).items()]
    words: list[str | Path] = [
        ENV,
        "--ignore-environment",
        *variables,
        KPROXY,
        *addresses.arguments_of(command),
    ]
    kproxy = stack.enter_context(Child("kproxy", words))
    _wait_until(lambda: bool(addresses.answer("/readyz")), kproxy)
    lines = [kproxy.next_line(timeout_seconds=TIMEOUT_SECONDS) for _ in range(2)]
    return Started(addresses, lines[-1])


def _wait_until(is_so: Callable[[], bool], child: Child) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not is_so():
        assert child.is_running, child.errors()
        assert time.monotonic() < deadline, child.errors()
        time.sleep(POLL_SECONDS)
