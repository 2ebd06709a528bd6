# ruff: noqa: RUF009 - key_row makes a dataclasses.field, which is no shared value
"""The part of the table of keys that says how several kproxy processes serve the same share groups."""

from dataclasses import dataclass

from kproxy.settings.addresses import HostPort
from kproxy.settings.key_rows import key_row
from kproxy.settings.passwords import Password, password
from kproxy.settings.sasl_keys import SaslSettings
from kproxy.settings.ssl_kinds import key_files
from kproxy.settings.value_kinds import (
    bare_host_name,
    file_path,
    listening_address,
    milliseconds,
    optional_group_id,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSettings(SaslSettings):
    """The part of `Settings` about the fleet. `load_settings` makes and validates the whole."""

    fleet_listener: HostPort = key_row(
        "kproxy.fleet.listener",
        listening_address(),
        "127.0.0.1:0",
        "Where the other kproxy processes in front of the same cluster reach this one; port 0 takes any free port. On "
        "anything but the loopback kproxy.fleet.secret.file is required, or mutual TLS (kproxy.fleet.ssl.*), or both.",
    )
    fleet_advertised_host: str = key_row(
        "kproxy.fleet.advertised.host",
        bare_host_name(),
        "",
        "The host that the other processes are told to connect to; empty takes the host of kproxy.fleet.listener.",
    )
    fleet_secret_file: str = key_row(
        "kproxy.fleet.secret.file",
        file_path(),
        "",
        "A file with the secret that all processes of the fleet share, of 16 to 1024 bytes; white space around it "
        "does not count. Empty for none.",
    )
    fleet_ssl_keystore_location: tuple[str, ...] = key_row(
        "kproxy.fleet.ssl.keystore.location",
        key_files(),
        "",
        "A PEM file with the private key and the certificate chain that the other processes see, or two files with a "
        "comma between, as tls.crt,tls.key. With this and kproxy.fleet.ssl.truststore.location all that passes between "
        "the processes is TLS, and each side shows a certificate. Files that change are read again.",
    )
    fleet_ssl_key_password: Password = key_row(
        "kproxy.fleet.ssl.key.password",
        password(),
        "",
        "What the private key of kproxy.fleet.ssl.keystore.location is encrypted with.",
    )
    fleet_ssl_truststore_location: str = key_row(
        "kproxy.fleet.ssl.truststore.location",
        file_path(),
        "",
        "A PEM file with the certificate of the fleet's own authority: whoever has a certificate that it signed "
        "belongs to the fleet, whatever host name it is for.",
    )
    fleet_group: str = key_row(
        "kproxy.fleet.group",
        optional_group_id(),
        "",
        "The group on the backing cluster whose members divide the share groups among them; empty takes the name of "
        "kproxy.state.topic.name.",
    )
    fleet_session_timeout_ms: int = key_row(
        "kproxy.fleet.session.timeout.ms",
        milliseconds(6_000, 60_000),
        "6000",
        "After how long a process that is silent is replaced by the others. Brokers allow what lies between their "
        "group.min.session.timeout.ms and group.max.session.timeout.ms.",
    )

    @property
    def has_fleet_tls(self) -> bool:
        """Whether connections between processes are TLS, with a certificate on either side."""
        return bool(self.fleet_ssl_keystore_location and self.fleet_ssl_truststore_location)
