"""The unit starts kproxy with what kproxy knows, has it ended in time, and takes from it what it needs nothing of."""

from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from kproxy.net.fleet.process_lock import BOOT_ID
from kproxy.settings import LoadedSettings
from tests.deploy.commands import settings_of_run

FOLDER: Final = Path(__file__).resolve().parents[2] / "deploy" / "systemd"
PROPERTIES: Final = "/etc/kproxy/kproxy.properties"
SPECIFIERS: Final = {"%d": "/run/credentials/kproxy.service", "%H": "machine1"}
"""systemd.unit(5): what the manager puts in their place."""

Unit = dict[str, list[str]]


def keys_of(file: str) -> Unit:
    """The values of each key of a unit, in their order; sections do not matter here."""
    found: Unit = defaultdict(list)
    for line in (FOLDER / file).read_text(encoding="utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found[key].append(value)
    return found


def environment_of(unit: Unit) -> dict[str, str]:
    found = {}
    for assignment in " ".join(unit["Environment"]).split():
        name, _, value = assignment.partition("=")
        for specifier, stands_for in SPECIFIERS.items():
            value = value.replace(specifier, stands_for)
        found[name] = value
    return found


def settings_of(*files: str, folder: Path) -> LoadedSettings:
    """What kproxy makes of the unit, and of the drop-ins behind it."""
    unit: Unit = defaultdict(list)
    for file in files:
        for key, values in keys_of(file).items():
            unit[key] += values
    (command,) = unit["ExecStart"]
    program, *arguments = command.split()
    assert Path(program).name == "kproxy"

    def text_of_file(path: str) -> str:
        assert path == PROPERTIES
        return (FOLDER / "kproxy.properties").read_text(encoding="utf-8")

    return settings_of_run(arguments, environment_of(unit), text_of_file, folder)


def test_the_service_begins_with_the_configuration_beside_it(tmp_path: Path) -> None:
    # When
    loaded = settings_of("kproxy.service", folder=tmp_path)

    # Then
    assert loaded.settings.listen.is_loopback
    assert loaded.settings.fleet_listener.is_loopback
    assert loaded.settings.log_format == "json"


def test_with_the_drop_in_machines_are_a_fleet_that_has_a_secret(tmp_path: Path) -> None:
    # Given
    (credential,) = keys_of("fleet.conf")["LoadCredential"]

    # When
    settings = settings_of("kproxy.service", "fleet.conf", folder=tmp_path).settings

    # Then
    assert settings.fleet_secret_file == f"/run/credentials/kproxy.service/{credential.partition(':')[0]}"
    assert (str(settings.fleet_listener), settings.fleet_advertised_host) == ("0.0.0.0:19099", "machine1")


def test_a_drain_has_the_time_that_it_may_take(tmp_path: Path) -> None:
    # Given
    (stop_seconds,) = keys_of("kproxy.service")["TimeoutStopSec"]

    # When
    grace_ms = settings_of("kproxy.service", folder=tmp_path).settings.shutdown_grace_ms

    # Then
    assert int(stop_seconds) * 1000 >= grace_ms + 5_000


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
        ("ProtectSystem", "strict"),
        ("PrivateDevices", "yes"),
        ("MemoryDenyWriteExecute", "yes"),
        ("SystemCallArchitectures", "native"),
        ("RestrictNamespaces", "yes"),
        ("User", "kproxy"),
    ],
)
def test_the_service_is_hardened(key: str, value: str) -> None:
    assert keys_of("kproxy.service")[key] == [value]


def test_what_tells_that_a_killed_process_is_dead_outlives_it() -> None:
    """Its lock is a file in /dev/shm, which RemoveIPC removes, and is of the boot that /proc/sys tells."""
    # When
    unit = keys_of("kproxy.service")

    # Then
    assert unit["RemoveIPC"] == ["no"]
    assert "DynamicUser" not in unit
    assert BOOT_ID.is_relative_to("/proc/sys")
    assert "ProcSubset" not in unit


def test_its_user_is_made() -> None:
    # When
    (user,) = keys_of("kproxy.service")["User"]

    # Then
    lines = (FOLDER / "kproxy.sysusers.conf").read_text(encoding="utf-8").splitlines()
    assert [line.split()[:2] for line in lines] == [["u", user]]
