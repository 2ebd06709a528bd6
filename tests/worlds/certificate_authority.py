"""`CertificateAuthority`: signs certificates for brokers, proxies and clients of tests, and writes PEM files."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LOOPBACK: Final = ("localhost", "127.0.0.1")
A_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key: both in `both`, which is Kafka's key store in PEM, and each in a file of its own."""

    both: Path
    certificate: Path
    key: Path


class CertificateAuthority:
    """Signs what it is asked to, valid for 30 days unless said otherwise. Files go to `folder`."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject(f"CN={name}")
        self._serial = 1
        certificate = self._signed(self._name, self._key, _AUTHORITY, days=30)
        self.file = folder / f"{name}.authority.pem"
        """The trust store of whoever trusts this authority; certificates that it signs may have its name."""
        self.file.write_bytes(certificate.public_bytes(Encoding.PEM))

    def issue(
        self,
        name: str,
        *,
        subject: str | x509.Name = "",
        hosts: Sequence[str] = LOOPBACK,
        days: float = 30,
        password: str = "",
    ) -> Issued:
        """Return a certificate for `subject` (`CN=name` by default) that is good for `hosts`, in files called `name`.

        With negative `days` it has expired.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        names = [_host(host) for host in hosts]
        extensions: list[x509.ExtensionType] = [_FOR_BOTH_SIDES]
        if names:
            extensions.append(x509.SubjectAlternativeName(names))
        whose = subject if isinstance(subject, x509.Name) else _subject(subject or f"CN={name}")
        certificate = self._signed(whose, key, extensions, days=days).public_bytes(Encoding.PEM)
        encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
        issued = Issued(*(self._folder / f"{name}{ending}" for ending in (".pem", ".crt", ".key")))
        issued.both.write_bytes(private + certificate)
        issued.certificate.write_bytes(certificate)
        issued.key.write_bytes(private)
        return issued

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        extensions: Sequence[x509.ExtensionType],
        *,
        days: float,
    ) -> x509.Certificate:
        end = datetime.now(UTC) + timedelta(days=days)  # noqa: TID251 - OpenSSL has the real time, too
        self._serial += 1
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(self._serial)
            .not_valid_before(end - 60 * A_DAY)
            .not_valid_after(end)
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(self._key, hashes.SHA256())


_AUTHORITY: Final = [x509.BasicConstraints(ca=True, path_length=None)]
_FOR_BOTH_SIDES: Final = x509.ExtendedKeyUsage(
    [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
)
_OIDS: Final = {
    "CN": NameOID.COMMON_NAME,
    "OU": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "O": NameOID.ORGANIZATION_NAME,
    "C": NameOID.COUNTRY_NAME,
}


def _subject(text: str) -> x509.Name:
    """Return the name that RFC 2253 writes as `text`, of simple parts: the most specific first."""
    parts = [part.split("=", 1) for part in text.split(",")]
    return x509.Name([x509.NameAttribute(_OIDS[key], value) for key, value in reversed(parts)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
