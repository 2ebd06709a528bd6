"""`TlsVitals`: what people, probes and Prometheus are told of the certificates of this process."""

from collections.abc import Mapping, Sequence

from kproxy.admin.views import CertificateView
from kproxy.application.client_ports import ClientPorts
from kproxy.application.tls_parts import TlsParts
from kproxy.handlers.ports import WallClock
from kproxy.notation import iso_time
from kproxy.telemetry.metrics import Metrics

_DAY_MS = 86_400_000


class TlsVitals:
    """Asks the contexts and the ports, and changes nothing."""

    def __init__(self, tls: TlsParts, ports: ClientPorts, wall_clock: WallClock) -> None:
        self._tls = tls
        self._ports = ports
        self._wall_clock = wall_clock

    @property
    def bootstrap_port(self) -> int | None:
        """The bootstrap port with TLS beside the one in plaintext; None where there is none."""
        return self._ports.tls_bootstrap_port

    def certificates(self) -> Sequence[CertificateView]:
        """Return what `/api/v1/status` shows."""
        now_ms = self._wall_clock.now_ms()
        return [
            CertificateView(
                each.role,
                each.file,
                each.subject,
                iso_time(each.not_after_ms),
                (each.not_after_ms - now_ms) // _DAY_MS,
            )
            for each in self._tls.certificates()
        ]

    def register_gauges(self, metrics: Metrics) -> None:
        """Let every scrape read when certificates expire."""
        metrics.register_gauge("tls_certificate_expiry_timestamp_seconds", self._expiries)

    def _expiries(self) -> Mapping[tuple[str, ...], float]:
        return {(each.role,): each.not_after_ms / 1000 for each in self._tls.certificates()}
