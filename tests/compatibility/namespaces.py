"""Three hosts on one machine: network namespaces of the clients, of kproxy and of the brokers.

    clients 192.0.2.10 ──── 192.0.2.20 kproxy 198.51.100.20 ──── 198.51.100.10 brokers

There is no route from the clients to the brokers, and kproxy's host forwards nothing. Root is not needed: all of it
lives in a user namespace of its own, entered with `unshare`. The program that has entered it is on the brokers' host;
it starts others on the other hosts with a command prefix. Namespaces vanish with the last process in them, and every
process dies with the one that started it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self, TypeAlias

from tests.real_kafka.child import Child
from tests.real_kafka.prerequisites import MissingPrerequisite

CLIENTS_ADDRESS: Final = "192.0.2.10"
KPROXY_FRONT_ADDRESS: Final = "192.0.2.20"
"""Where clients reach kproxy."""
KPROXY_BACK_ADDRESS: Final = "198.51.100.20"
"""Where the brokers see kproxy come from."""
BROKERS_ADDRESS: Final = "198.51.100.10"
PREFIX_LENGTH: Final = 24

PROGRAM_FOLDERS: Final = "/usr/sbin:/sbin:/usr/bin:/bin"
START_TIMEOUT_SECONDS: Final = 60.0
HOLD: Final = "echo held; exec sleep infinity"
CONNECT: Final = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=3)
except OSError as error:
    print(error)
    sys.exit(1)
"""

Command: TypeAlias = Sequence[str | Path]


class NamespacesRefused(RuntimeError):
    """The kernel does not let this user make namespaces; the message says what it said and what to do."""


def command_on_brokers_host(command: Command) -> list[str | Path]:
    """The command that runs `command` as root of new namespaces, on what `ThreeHosts` then makes the brokers' host.

    Raises `MissingPrerequisite` where a program is missing, `NamespacesRefused` where the kernel forbids it.
    """
    unshare: list[str | Path] = [_program("unshare", "util-linux")]
    unshare += ["--user", "--map-root-user", "--net", "--"]
    _program("nsenter", "util-linux")
    _program("ip", "iproute2")
    answer = subprocess.run([*unshare, "true"], capture_output=True, text=True, timeout=30, check=False)
    if answer.returncode != 0:
        raise NamespacesRefused(
            f"these tests need user and network namespaces, and got: {answer.stderr.strip()}. Allow them with "
            "user.max_user_namespaces > 0, and where the kernel has these, kernel.unprivileged_userns_clone=1 or "
            "kernel.apparmor_restrict_unprivileged_userns=0 (sysctl); in a container, run it with "
            "CAP_SYS_ADMIN or a seccomp profile that allows unshare"
        )
    return [*unshare, *command]


def start_again_on_brokers_host(module: str, arguments: Sequence[str]) -> NoReturn:
    """Turn this process into `python -m MODULE ARGUMENTS…` in new namespaces. Raises what the above raises."""
    command = [str(word) for word in command_on_brokers_host([sys.executable, "-m", module, *arguments])]
    os.execv(command[0], command)


class ThreeHosts:
    """The hosts and the two links between them, from `with` to its end, for a program on the brokers' host."""

    def __init__(self) -> None:
        self._holders = ExitStack()
        self._kproxy = self._clients = 0

    @property
    def holders(self) -> list[int]:
        """The ids of the processes that hold the two other hosts."""
        return [self._kproxy, self._clients]

    def on_kproxy_host(self, command: Command = ()) -> list[str | Path]:
        """The command that runs `command` on kproxy's host; a prefix if `command` is left out."""
        return [*entering(self._kproxy), *command]

    def on_clients_host(self, command: Command = ()) -> list[str | Path]:
        """The command that runs `command` on the clients' host; a prefix if `command` is left out."""
        return [*entering(self._clients), *command]

    @staticmethod
    def failure_to_reach(prefix: Command, address: str) -> str:
        """What a program started with `prefix` is told when it connects to `HOST:PORT`; empty if it gets through."""
        host, _, port = address.rpartition(":")
        answer = subprocess.run(
            [*prefix, sys.executable, "-c", CONNECT, host, port],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return answer.stdout.strip() if answer.returncode else ""

    def __enter__(self) -> Self:
        self._kproxy = self._holders.enter_context(new_host("kproxy's host")).process_id
        self._clients = self._holders.enter_context(new_host("the clients' host")).process_id
        run_ip("link", "set", "lo", "up")
        run_ip(
            "link",
            "add",
            "to-kproxy",
            "type",
            "veth",
            "peer",
            "name",
            "to-brokers",
            "netns",
            str(self._kproxy),
        )
        run_ip("addr", "add", f"{BROKERS_ADDRESS}/{PREFIX_LENGTH}", "dev", "to-kproxy")
        run_ip("link", "set", "to-kproxy", "up")
        self._set_up_kproxy_host()
        self._set_up_clients_host()
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._holders.close()

    def _set_up_kproxy_host(self) -> None:
        prefix = self.on_kproxy_host()
        peer = ("peer", "name", "to-kproxy", "netns", str(self._clients))
        run_ip("link", "set", "lo", "up", prefix=prefix)
        run_ip("addr", "add", f"{KPROXY_BACK_ADDRESS}/{PREFIX_LENGTH}", "dev", "to-brokers", prefix=prefix)
        run_ip("link", "set", "to-brokers", "up", prefix=prefix)
        run_ip("link", "add", "to-clients", "type", "veth", *peer, prefix=prefix)
        run_ip("addr", "add", f"{KPROXY_FRONT_ADDRESS}/{PREFIX_LENGTH}", "dev", "to-clients", prefix=prefix)
        run_ip("link", "set", "to-clients", "up", prefix=prefix)
        # A new namespace takes this over from the machine, and a machine that runs containers forwards.
        set_forwarding(is_on=False, prefix=prefix)

    def _set_up_clients_host(self) -> None:
        prefix = self.on_clients_host()
        run_ip("link", "set", "lo", "up", prefix=prefix)
        run_ip("addr", "add", f"{CLIENTS_ADDRESS}/{PREFIX_LENGTH}", "dev", "to-kproxy", prefix=prefix)
        run_ip("link", "set", "to-kproxy", "up", prefix=prefix)


def new_host(name: str) -> Child:
    """A process that holds a new network namespace, which exists when this returns."""
    shell = _program("sh", "dash")
    holder = Child(name, [_program("unshare", "util-linux"), "--net", "--", shell, "-c", HOLD])
    holder.next_line(timeout_seconds=START_TIMEOUT_SECONDS)
    return holder


def entering(holder_process_id: int) -> list[str | Path]:
    """The prefix of a command that is to run on the host which a process holds."""
    return [_program("nsenter", "util-linux"), f"--net=/proc/{holder_process_id}/ns/net", "--"]


def link(one: str, one_host: Command, other: str, other_host: Command) -> None:
    """Connect two hosts, given as what `entering` returns, by devices of these names, which are up then."""
    holder = next(str(word).split("/")[2] for word in other_host if str(word).startswith("--net="))
    peer = ("peer", "name", other, "netns", holder)
    run_ip("link", "add", one, "type", "veth", *peer, prefix=one_host)
    run_ip("link", "set", one, "up", prefix=one_host)
    run_ip("link", "set", other, "up", prefix=other_host)


def set_forwarding(*, is_on: bool, prefix: Command) -> None:
    """Let a host pass on what is for others, or not."""
    write = f"echo {int(is_on)} > /proc/sys/net/ipv4/ip_forward"
    run_command([*prefix, _program("sh", "dash"), "-c", write])


def run_ip(*arguments: str, prefix: Command = ()) -> None:
    """Run `ip` on the host that `prefix` leads to. Raises `NamespacesRefused` with what it said if it fails."""
    run_command([*prefix, _program("ip", "iproute2"), *arguments])


def run_command(command: Command) -> str:
    """Run a command to its end; what it wrote. Raises `NamespacesRefused` with what it said if it fails."""
    answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if answer.returncode != 0:
        raise NamespacesRefused(f"{' '.join(map(str, command))}: {answer.stderr.strip()}")
    return answer.stdout


def _program(name: str, package: str) -> Path:
    """A program's path, also where `ip` lives outside an ordinary user's path."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{PROGRAM_FOLDERS}")
    if found is None:
        raise MissingPrerequisite(f"{name} is not installed: on Debian and Ubuntu, apt-get install {package}")
    return Path(found)
