"""Files that people name, good and bad: each refusal says which file, what is wrong and what to do."""

import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from kproxy.net.tls.pem_files import TlsUnusable, _private_key, conversion, read_key_store, read_trust_store
from tests.unit.net.tls_contexts import now_ms
from tests.worlds.certificates import authority, issued


def read(*files: Path | str, password: str = "") -> None:
    read_key_store([str(file) for file in files], password, prefix="", now_ms=now_ms())


def test_a_key_and_its_chain_may_stand_in_one_file() -> None:
    # Given
    keys = issued("one-file")

    # When
    store = read_key_store([str(keys.both)], "", prefix="", now_ms=now_ms())

    # Then
    assert (store.certificate_file, store.key_file, len(store.chain)) == (keys.both, keys.both, 1)


@pytest.mark.parametrize("order", [1, -1])
def test_they_may_stand_in_two_files_in_any_order(order: int) -> None:
    # Given
    keys = issued("two-files")

    # When
    files = [str(keys.certificate), str(keys.key)][::order]
    store = read_key_store(files, "", prefix="", now_ms=now_ms())

    # Then
    assert (store.certificate_file, store.key_file) == (keys.certificate, keys.key)


def test_an_encrypted_key_is_opened_with_its_password() -> None:
    # Given
    keys = authority().issue("encrypted", password="geheim")

    # When
    store = read_key_store([str(keys.both)], "geheim", prefix="", now_ms=now_ms())

    # Then
    assert store.password == "geheim"


def test_the_password_of_a_key_that_is_not_encrypted_does_no_harm() -> None:
    # Given
    keys = issued("not-encrypted")

    # When
    store = read_key_store([str(keys.both)], "geheim", prefix="", now_ms=now_ms())

    # Then
    assert store.password == ""


def test_an_encrypted_key_without_a_password_asks_for_the_key_that_has_it() -> None:
    # Given
    keys = authority().issue("encrypted-2", password="geheim")

    # Then
    with pytest.raises(TlsUnusable, match=r"encrypted-2\.pem is encrypted: set ssl\.key\.password"):
        read(keys.both)


def test_a_wrong_password_is_said_to_be_wrong_and_not_shown() -> None:
    # Given
    keys = authority().issue("encrypted-3", password="geheim")

    # Then
    with pytest.raises(TlsUnusable, match=r"^ssl\.key\.password does not open the private key in .*3\.pem$"):
        read(keys.both, password="guessed")


def test_a_key_of_another_certificate_is_refused() -> None:
    # Given
    one, other = issued("one"), issued("other")

    # Then
    with pytest.raises(
        TlsUnusable, match=r"other\.key does not belong to the first certificate in .*one\.crt"
    ):
        read(one.certificate, other.key)


def test_a_certificate_that_has_expired_is_refused_with_the_moment() -> None:
    # Given
    keys = authority().issue("expired", days=-1)

    # Then
    with pytest.raises(
        TlsUnusable, match=r"expired\.pem: the certificate of CN=expired expired on 20..-.*renew it"
    ):
        read(keys.both)


def test_a_certificate_that_is_not_valid_yet_is_refused() -> None:
    # Given
    keys = authority().issue("early", days=90)

    # Then
    with pytest.raises(
        TlsUnusable, match=r"early\.pem: .* is not valid before .*: see to the clock, or wait"
    ):
        read(keys.both)


def test_a_file_that_is_not_there_is_named_with_its_key() -> None:
    with pytest.raises(TlsUnusable, match=r"ssl\.keystore\.location /none/x cannot be read: No such file"):
        read("/none/x")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "holds no private key in PEM"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "holds no certificate in PEM"),
        (
            b"\xfe\xed\xfe\xed\0\0\0\2",
            "is JKS, and kproxy reads PEM: convert it with keytool -importkeystore",
        ),
        (b"\x30\x82\x0a\x00", "is PKCS12 or DER, and kproxy reads PEM: convert it with openssl pkcs12 -in"),
        (b"x" * (5 << 20), "is longer than any PEM file"),
    ],
)
def test_a_file_of_another_kind_is_refused(content: bytes, why: str, tmp_path: Path) -> None:
    # Given
    file = tmp_path / "store"
    file.write_bytes(content)

    # Then
    with pytest.raises(TlsUnusable, match=why):
        read(file)


@pytest.mark.parametrize(
    "broken", [b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"text"]
)
def test_a_trust_store_without_a_certificate_that_can_be_read_is_refused(
    broken: bytes, tmp_path: Path
) -> None:
    # Given
    file = tmp_path / "trust.pem"
    file.write_bytes(broken)

    # Then
    with pytest.raises(
        TlsUnusable, match=r"upstream\.ssl\.truststore\.location .* holds no certificate in PEM"
    ):
        read_trust_store(str(file), prefix="upstream.")


def test_a_private_key_that_is_broken_is_refused(tmp_path: Path) -> None:
    # Given
    file = tmp_path / "broken.pem"
    key = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
    file.write_bytes(key + issued("broken").certificate.read_bytes())

    # Then
    with pytest.raises(TlsUnusable, match=r"broken\.pem has a private key that cannot be read"):
        read(file)


def test_a_trust_store_may_have_text_between_its_certificates(tmp_path: Path) -> None:
    # Given: as `keytool -list -rfc` writes it
    file = tmp_path / "trust.pem"
    certificate = authority().file.read_text()
    file.write_text(f"Keystore type: PKCS12\n\nAlias name: ca\n{certificate}\n*****\n{certificate}")

    # Then
    assert len(read_trust_store(str(file), prefix="").authorities) == 2


def test_stores_of_java_are_converted_by_commands_that_can_be_copied() -> None:
    assert conversion("/etc/trust.jks", is_key_store=False, is_jks=True) == (
        "keytool -list -rfc -keystore /etc/trust.jks > /etc/trust.pem"
    )


def test_a_large_key_is_read_without_a_proof_that_its_factors_are_primes() -> None:
    """That takes most of a second, in which nothing else of the process goes on, and is not needed."""
    # Given
    key = rsa.generate_private_key(65_537, 3_072)
    content = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    began = time.thread_time()
    load_pem_private_key(content, None)
    with_a_proof = time.thread_time() - began

    # When
    began = time.thread_time()
    read_key = _private_key(Path("large.pem"), content, "", "")
    without = time.thread_time() - began

    # Then
    assert read_key.public_key() == key.public_key()
    assert without < with_a_proof / 5
