"""Terms of both sides, held against each other without sockets."""

import ssl
from dataclasses import replace

import pytest

from kproxy.net.tls.contexts import listener_context
from kproxy.net.tls.pem_files import TlsUnusable
from kproxy.settings.choices import ClientAuth
from tests.unit.net.tls_contexts import (
    PLAIN_TERMS,
    Fixed,
    dialling,
    listener_terms,
    listening,
    made_for_listener,
    now_ms,
    upstream_terms,
)
from tests.worlds.certificate_authority import CertificateAuthority
from tests.worlds.certificates import authority

AES_128 = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
AES_256 = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"


def shaken_hands(server: Fixed, client: Fixed, name: str = "localhost") -> ssl.SSLObject:
    """Return the client's end after a handshake in memory. Raises ssl.SSLError as either side would."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_end = client.context.wrap_bio(to_client, to_server, server_hostname=name)
    server_end = server.context.wrap_bio(to_server, to_client, server_side=True)
    waiting = [client_end, server_end]
    for _ in range(10):
        for end in tuple(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not waiting
    return client_end


def test_both_sides_agree_on_the_newest_version() -> None:
    assert shaken_hands(listening(), dialling()).version() == "TLSv1.3"


def test_a_version_that_is_not_enabled_is_not_used() -> None:
    # Given
    terms = replace(listener_terms(), versions=("TLSv1.2",))

    # Then
    assert shaken_hands(listening(terms), dialling()).version() == "TLSv1.2"


def test_no_version_in_common_ends_the_handshake() -> None:
    # Given
    old = listening(replace(listener_terms(), versions=("TLSv1.2",)))
    new = dialling(replace(upstream_terms(), versions=("TLSv1.3",)))

    # Then
    with pytest.raises(ssl.SSLError, match=r"UNSUPPORTED_PROTOCOL|PROTOCOL_VERSION"):
        shaken_hands(old, new)


def test_a_suite_of_the_elder_version_alone_turns_the_newer_version_off() -> None:
    # Given
    terms = replace(listener_terms(), cipher_suites=(AES_128,))

    # When
    agreed = shaken_hands(listening(terms), dialling())

    # Then
    assert (agreed.version(), agreed.cipher()) == (
        "TLSv1.2",
        ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2", 128),
    )


def test_the_listener_chooses_its_first_suite() -> None:
    # Given
    terms = replace(listener_terms(), cipher_suites=(AES_128, AES_256))

    # When
    client = dialling(replace(upstream_terms(), cipher_suites=(AES_256, AES_128)))

    # Then
    assert shaken_hands(listening(terms), client).cipher() == (
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        "TLSv1.2",
        128,
    )


def test_suites_of_no_enabled_version_are_refused() -> None:
    # Given
    terms = replace(listener_terms(), versions=("TLSv1.3",), cipher_suites=(AES_128,))

    # Then
    with pytest.raises(TlsUnusable, match=r"ssl\.cipher\.suites names no suite of TLSv1\.3"):
        listening(terms)


def test_a_broker_of_another_authority_is_not_trusted(tmp_path_factory: pytest.TempPathFactory) -> None:
    # Given
    stranger = CertificateAuthority(tmp_path_factory.mktemp("stranger"))
    terms = replace(upstream_terms(), trust_file=str(stranger.file))

    # Then
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken_hands(listening(), dialling(terms))


def test_a_broker_must_have_the_name_at_which_it_was_dialled() -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="not valid for 'broker-1'"):
        shaken_hands(listening(), dialling(), "broker-1")


def test_without_identification_any_name_will_do() -> None:
    assert shaken_hands(listening(), dialling(checks_hostname=False), "broker-1").version()


@pytest.mark.parametrize("auth", [ClientAuth.REQUESTED, ClientAuth.REQUIRED])
def test_a_client_that_shows_a_certificate_is_let_in(auth: ClientAuth) -> None:
    assert shaken_hands(listening(client_auth=auth), dialling(upstream_terms("client"))).version()


def test_a_client_without_a_certificate_is_let_in_where_it_is_only_requested() -> None:
    assert shaken_hands(listening(client_auth=ClientAuth.REQUESTED), dialling()).version()


def test_a_client_without_a_certificate_is_not_let_in_where_it_is_required() -> None:
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        shaken_hands(listening(client_auth=ClientAuth.REQUIRED), dialling())


def test_a_port_without_a_key_is_refused() -> None:
    with pytest.raises(TlsUnusable, match=r"ssl\.keystore\.location is not set"):
        listener_context(PLAIN_TERMS, ClientAuth.NONE, now_ms())


def test_clients_certificates_are_not_judged_by_the_authorities_of_the_world() -> None:
    # Given
    terms = replace(listener_terms(), trust_file="")

    # Then
    with pytest.raises(TlsUnusable, match=r"ssl\.client\.auth = requested needs ssl\.truststore\.location"):
        listening(terms, ClientAuth.REQUESTED)


def test_what_is_in_use_is_told() -> None:
    # When
    told = made_for_listener().certificates

    # Then
    assert [(each.role, each.subject) for each in told] == [
        ("listener", "CN=listener"),
        ("listener_trust", "CN=authority"),
    ]
    assert told[1].file == str(authority().file)


def test_an_encrypted_key_is_loaded_without_a_question_at_the_terminal() -> None:
    # Given
    keys = authority().issue("encrypted-listener", password="geheim")
    terms = replace(listener_terms(), key_files=(str(keys.both),), key_password="geheim")

    # Then
    assert shaken_hands(listening(terms), dialling()).version()
