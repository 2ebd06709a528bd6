"""Key stores and trust stores in PEM, read and judged before OpenSSL sees them: it hardly says what is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from kproxy.errors import KproxyError
from kproxy.notation import iso_time

_JKS_MAGIC: Final = b"\xfe\xed\xfe\xed"
_DER_SEQUENCE: Final = b"\x30"
_BEGIN_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"
_PRIVATE_KEY: Final = b"PRIVATE KEY-----"
_LARGEST_FILE_BYTES: Final = 4 * 1024 * 1024
"""More than any bundle of authorities has; a device or a log that is named by mistake is not read to its end."""


class TlsUnusable(KproxyError):
    """Keys, certificates or terms of TLS that cannot be used.

    At start `kproxy run` and `kproxy config validate` print it and end; later the files that were good before count.
    """


@dataclass(frozen=True, slots=True)
class KeyStore:
    """A private key and the chain of certificates that proves it, the key's own first.

    `password` is empty for a key that is not encrypted.
    """

    certificate_file: Path
    key_file: Path
    password: str
    chain: Sequence[x509.Certificate]


@dataclass(frozen=True, slots=True)
class TrustStore:
    """Certificates of authorities."""

    file: Path
    authorities: Sequence[x509.Certificate]


def read_key_store(files: Sequence[str], password: str, *, prefix: str, now_ms: int) -> KeyStore:
    """Return the key and the chain in one file or two, which belong together and are valid at `now_ms`.

    `prefix` stands before the names of the keys in messages: empty, or `upstream.`.

    Raises:
        TlsUnusable: names the file, what is wrong with it, and what to do.
    """
    setting = f"{prefix}ssl.keystore.location"
    contents = {Path(file): _content(Path(file), setting) for file in files}
    key_file = _file_with(_PRIVATE_KEY, "private key", contents, setting)
    certificate_file = _file_with(_BEGIN_CERTIFICATE, "certificate", contents, setting)
    key = _private_key(key_file, contents[key_file], password, prefix)
    chain = _certificates(certificate_file, contents[certificate_file], setting)
    _require_pair(key, chain[0], key_file, certificate_file)
    for certificate in chain:
        _require_valid(certificate, certificate_file, setting, now_ms)
    is_encrypted = b"ENCRYPTED" in contents[key_file]
    return KeyStore(certificate_file, key_file, password if is_encrypted else "", chain)


def read_trust_store(file: str, *, prefix: str) -> TrustStore:
    """Return the authorities in a file. Raises TlsUnusable."""
    setting, path = f"{prefix}ssl.truststore.location", Path(file)
    return TrustStore(path, _certificates(path, _content(path, setting), setting))


def conversion(file: str | Path, *, is_key_store: bool, is_jks: bool) -> str:
    """Return the commands that make PEM of a JKS or PKCS12 store, for people to copy."""
    path = Path(file)
    pem, p12 = path.with_suffix(".pem"), path.with_suffix(".p12")
    if not is_key_store:
        return f"keytool -list -rfc -keystore {path} > {pem}"
    if not is_jks:
        return f"openssl pkcs12 -in {path} -out {pem}"
    to_pkcs12 = f"keytool -importkeystore -srckeystore {path} -destkeystore {p12} -deststoretype PKCS12"
    return f"{to_pkcs12} && openssl pkcs12 -in {p12} -out {pem}"


def _content(path: Path, setting: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise TlsUnusable(f"{setting} {path} cannot be read: {error.strerror}") from error
    if len(content) > _LARGEST_FILE_BYTES:
        raise TlsUnusable(
            f"{setting} {path} is longer than any PEM file: more than {_LARGEST_FILE_BYTES} bytes"
        )
    is_jks = content.startswith(_JKS_MAGIC)
    if is_jks or content.startswith(_DER_SEQUENCE):
        command = conversion(path, is_key_store="keystore" in setting, is_jks=is_jks)
        kind = "JKS" if is_jks else "PKCS12 or DER"
        raise TlsUnusable(f"{setting} {path} is {kind}, and kproxy reads PEM: convert it with {command}")
    return content


def _file_with(marker: bytes, what: str, contents: dict[Path, bytes], setting: str) -> Path:
    found = [path for path, content in contents.items() if marker in content]
    if not found:
        names = " and ".join(map(str, contents))
        raise TlsUnusable(
            f"{setting} {names} holds no {what} in PEM: name a file that does, or add it behind a comma"
        )
    return found[0]


def _private_key(path: Path, content: bytes, password: str, prefix: str) -> PrivateKeyTypes:
    setting, password_setting = f"{prefix}ssl.keystore.location", f"{prefix}ssl.key.password"
    is_encrypted = b"ENCRYPTED" in content
    if is_encrypted and not password:
        raise TlsUnusable(f"the private key in {path} is encrypted: set {password_setting}")
    try:
        # To prove that the factors of an RSA key are primes takes up to a second, in which no thread runs. What it
        # guards against is a key of somebody else's making; this one has to match its certificate in any case.
        return load_pem_private_key(
            content, password.encode() if is_encrypted else None, unsafe_skip_rsa_key_validation=True
        )
    except (ValueError, TypeError) as error:
        if is_encrypted:
            raise TlsUnusable(f"{password_setting} does not open the private key in {path}") from error
        raise TlsUnusable(f"{setting} {path} has a private key that cannot be read: {error}") from error
    except UnsupportedAlgorithm as error:
        raise TlsUnusable(f"{setting} {path} has a private key of an unknown kind: {error}") from error


def _certificates(path: Path, content: bytes, setting: str) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(content)
    except ValueError as error:
        raise TlsUnusable(
            f"{setting} {path} holds no certificate in PEM that can be read: {error}"
        ) from error


def _require_pair(
    key: PrivateKeyTypes, first: x509.Certificate, key_file: Path, certificate_file: Path
) -> None:
    spki = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if key.public_key().public_bytes(*spki) == first.public_key().public_bytes(*spki):
        return
    raise TlsUnusable(
        f"the private key in {key_file} does not belong to the first certificate in {certificate_file}, "
        f"{first.subject.rfc4514_string()}: the key's own certificate comes first, then those that signed it"
    )


def _require_valid(certificate: x509.Certificate, path: Path, setting: str, now_ms: int) -> None:
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    of = f"{setting} {path}: the certificate of {certificate.subject.rfc4514_string()}"
    if certificate.not_valid_after_utc < now:
        raise TlsUnusable(f"{of} expired on {instant(certificate.not_valid_after_utc)}: renew it")
    if certificate.not_valid_before_utc > now:
        raise TlsUnusable(
            f"{of} is not valid before {instant(certificate.not_valid_before_utc)}: see to the clock, or wait"
        )


def instant(moment: datetime) -> str:
    """Return a moment as kproxy writes moments."""
    return iso_time(int(moment.timestamp() * 1000))
