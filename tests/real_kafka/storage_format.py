"""Formats the data folders of KRaft nodes: by Kafka's own tool once, by copies of its result after that."""

import base64
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Final

from tests.real_kafka import jars
from tests.real_kafka.java_command import QUICK_START_OPTIONS, java_command
from tests.real_kafka.node_settings import BrokerPorts, kraft_settings, write_settings
from tests.real_kafka.ports import ReservedPort
from tests.real_kafka.versions import KafkaRelease

META_PROPERTIES: Final = "meta.properties"
FORMAT_TIMEOUT_SECONDS: Final = 120


class FormatFailed(RuntimeError):
    """Kafka's StorageTool refused; the message carries what it said."""


def format_data_folder(
    release: KafkaRelease, data: Path, *, node_id: int, cluster_id: str, share_groups: bool
) -> None:
    """Make `data`, which must not exist, the formatted folder of a node of a new cluster.

    The tool's result is the same for every node but for the ids in `meta.properties`, which are written here;
    that saves a JVM start per node.
    """
    shutil.copytree(_template(release, share_groups=share_groups), data)
    meta_properties = data / META_PROPERTIES
    ids = {"cluster.id": cluster_id, "node.id": str(node_id), "directory.id": random_kafka_id()}
    lines = (line.partition("=") for line in meta_properties.read_text().splitlines())
    meta_properties.write_text("".join(f"{key}{sign}{ids.get(key, value)}\n" for key, sign, value in lines))


def random_kafka_id() -> str:
    """A new id: 22 characters of URL-safe base64, none beginning with `-`, which tools take for an option."""
    while True:
        candidate = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not candidate.startswith("-"):
            return candidate


def _template(release: KafkaRelease, *, share_groups: bool) -> Path:
    jar_folder = jars.fetch(release)
    template = jar_folder / f"formatted-share-{int(share_groups)}"
    if not template.exists():
        with tempfile.TemporaryDirectory(dir=jar_folder, prefix="formatting-") as scratch:
            formatted = _formatted(release, Path(scratch), share_groups=share_groups)
            _publish(formatted, template)
    return template


def _publish(formatted: Path, template: Path) -> None:
    try:
        formatted.rename(template)
    except OSError:
        # Somebody else published at the same time; theirs is as good.
        if not template.is_dir():
            raise


def _formatted(release: KafkaRelease, scratch: Path, *, share_groups: bool) -> Path:
    data, settings = scratch / "data", scratch / "format.properties"
    with ReservedPort() as client, ReservedPort() as controller:
        ports = BrokerPorts(1, client, controller)
        write_settings(settings, kraft_settings(ports, [ports], data))
    features = ["--feature", f"share.version={int(share_groups)}"] if release.has_share_groups else []
    arguments = ["format", "-t", random_kafka_id(), "-c", str(settings), *features]
    command = java_command(
        release, "kafka.tools.StorageTool", arguments, options=QUICK_START_OPTIONS, log_role="node"
    )
    answer = subprocess.run(
        command, capture_output=True, text=True, timeout=FORMAT_TIMEOUT_SECONDS, check=False
    )
    if answer.returncode != 0:
        raise FormatFailed(f"StorageTool of Apache Kafka {release.version}: {answer.stdout}{answer.stderr}")
    return data
