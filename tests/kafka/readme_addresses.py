"""What stands in README.md for an example, its addresses and a time, and what takes its place in a test."""

import json
import shlex
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

ANSWER_TIMEOUT_SECONDS: Final = 10.0
ASKING_THE_ADMIN_PORT: Final = (
    ["why"],
    ["top"],
    ["brokers"],
    ["doctor"],
    ["status"],
    ["groups"],
    ["sessions"],
    ["in-flight"],
    ["replay", "verify"],
)
"""How the arguments of commands begin that take `--admin-url`, which README.md leaves at its default."""


@dataclass(frozen=True, slots=True)
class ReadmeAddresses:
    """The brokers of a test, and the free ports of the kproxy in front of them. The time is now."""

    brokers: str
    listen: str
    admin: str
    broker_ports: Mapping[int, int]

    def put_into(self, text: str) -> str:
        """The text with these addresses, and with now for the time of the example; nothing else is changed."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for written, here in (
            ("broker1:9092,broker2:9092,broker3:9092", self.brokers),
            ("broker1:9092", self.brokers),
            ("localhost:9092", self.brokers),
            ("127.0.0.1:19092", self.listen),
            ("2026-11-20T13:00Z", now),
        ):
            text = text.replace(written, here)
        return text

    def arguments_of(self, command: str) -> list[str]:
        """What the program of a command gets as its arguments."""
        _, *arguments = shlex.split(self.put_into(command), comments=True)
        asks_brokers = arguments[:1] in (["groups"], ["in-flight"], ["sessions"]) and "-b" in arguments
        if not asks_brokers and any(arguments[: len(words)] == words for words in ASKING_THE_ADMIN_PORT):
            arguments += ["--admin-url", f"http://{self.admin}"]
        return arguments

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The environment of `kproxy run`: the ports, for those that it takes by default."""
        ours = {name: value for name, value in inherited.items() if not name.startswith("KPROXY_")}
        ours["KPROXY_LISTEN"], ours["KPROXY_ADMIN_LISTENER"] = self.listen, self.admin
        ports = (f"{node_id}={port}" for node_id, port in self.broker_ports.items())
        ours["KPROXY_BROKER_PORT_MAP"] = ",".join(ports)
        return ours

    def answer(self, path: str) -> Sequence[Mapping[str, Any]]:
        """The items that a path of the admin port answers with status 200; none while it does not."""
        try:
            with urllib.request.urlopen(f"http://{self.admin}{path}", timeout=ANSWER_TIMEOUT_SECONDS) as got:
                items = json.load(got)["items"]
        except (urllib.error.URLError, ConnectionError):
            return ()
        assert isinstance(items, list)
        return items
