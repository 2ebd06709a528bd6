"""Troubles with the backing cluster, with who connects, and with TLS."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.tools import config_command
from tests.troubles.of_fleet import WHILE_SLOTS_MOVE
from tests.troubles.trouble import CHECK_FAILED, Told, Trouble, says
from tests.worlds.certificate_authority import CertificateAuthority, Issued

USAGE: Final = 2


class ClusterUnreachable(Trouble):
    """Nobody listens any more where the brokers were."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy doctor -b broker1:9092": says("FAILED", "{broker1:9092}", "refused", exit_code=CHECK_FAILED),
        "kproxy brokers": says("127.81.0.1"),
    }
    beside: ClassVar[frozenset[str]] = WHILE_SLOTS_MOVE | {
        "KproxyServesNothing",
        "KproxyStateLogUnavailable",
        "KproxySlotsLost",
    }

    def prepare(self) -> Sequence[KproxyProcess]:
        self.wall = self.ground.wall(self.stack)
        self.names["broker1:9092"] = self.wall.address
        return self.start({}, wall=self.wall)

    def strike(self) -> None:
        self.wall.shut()


class RefusesConnections(Trouble):
    """An application opens connections and closes none."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy brokers": says("{MOST}"),
        "kproxy config show --origin": says("max.connections  ", "KPROXY_MAX_CONNECTIONS"),
    }
    MOST: Final = 12

    def prepare(self) -> Sequence[KproxyProcess]:
        self.names["MOST"] = f"{self.MOST}"
        return self.start({"max.connections": self.MOST})

    def strike(self) -> None:
        self.labels = {"reason": "max_connections"}
        for _ in range(self.MOST + 5):
            self.stack.enter_context(RawConnection(self.asked.broker_addresses[1]))


class WithTls(Trouble):
    """Clients come with TLS; what the kproxy shows them is in files."""

    DAYS: ClassVar[float] = 30

    def prepare(self) -> Sequence[KproxyProcess]:
        self.authority = CertificateAuthority(self.folder, "clients")
        self.shown = self.issue("kproxy", days=self.DAYS)
        kproxies = self.start(
            {
                "kproxy.listener.security.protocol": "SSL",
                "ssl.keystore.location": f"{self.shown.certificate},{self.shown.key}",
            }
        )
        toml = self.folder / "kproxy.toml"
        settings = {"bootstrap.servers": self.ground.cluster.bootstrap_servers, **self.settings}
        toml.write_text(
            "".join(f'"{key}" = "{value}"\n' for key, value in settings.items()), encoding="utf-8"
        )
        self.names["kproxy.toml"] = str(toml)
        self.labels = {"role": "listener"}
        return kproxies

    def issue(self, name: str, *, days: float = 30) -> Issued:
        """Return a certificate for this host."""
        return self.authority.issue(name, days=days)


class CertificateEnds(WithTls):
    """The certificate that clients are shown is good for three more days."""

    DAYS: ClassVar[float] = 3
    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status": says("certificates:", "kproxy.crt", "listener"),
        "kproxy config show --origin": says("ssl.keystore.location", "kproxy.crt"),
    }

    def strike(self) -> None:
        """It was so from the beginning."""


class CertificateUnusable(WithTls):
    """The key is exchanged for that of another certificate."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy config validate -c kproxy.toml": says("kproxy.key", exit_code=USAGE),
        "kproxy status": says("certificates:", "listener", "kproxy.crt"),
    }

    def strike(self) -> None:
        other = self.issue("other")
        self.shown.key.write_bytes(other.key.read_bytes())
        self.asked.wait_until(
            lambda: self.asked.metrics().total("kproxy_tls_renewals_total", result="failed") > 0
        )


class ThrottledByCluster(Trouble):
    """The cluster gives the client id of kproxies next to nothing, while a group works."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy brokers": says("127.0.0.1"),
        "kproxy top --sort lag --count 1": says("workers"),
    }
    beside: ClassVar[frozenset[str]] = frozenset({"KproxyAppendsSlow"})
    RECORDS: Final = 2_000
    CLIENT: Final = ("--alter", "--entity-type", "clients", "--entity-name", "kproxy")
    QUOTAS: Final = "producer_byte_rate=1000,consumer_byte_rate=1000"

    def prepare(self) -> Sequence[KproxyProcess]:
        kproxies = self.start({})
        group, topic = self.ground.group(self.asked), self.ground.topic(self.RECORDS)
        self.member = self.ground.member(self.asked, group, topic, self.stack)
        return kproxies

    def strike(self) -> None:
        brokers = self.ground.cluster.bootstrap_servers
        self.stack.callback(
            config_command, brokers, *self.CLIENT, "--delete-config", "producer_byte_rate,consumer_byte_rate"
        )
        config_command(brokers, *self.CLIENT, "--add-config", self.QUOTAS)
        while not self.asked.metrics().total("kproxy_broker_throttles_total"):
            self.member.fetch()
