import ssl

from kproxy.settings.cipher_names import OPENSSL_NAMES, TLS_1_3_SUITES


def test_openssl_knows_every_suite_under_the_name_in_the_table() -> None:
    # Given
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    # When
    context.set_ciphers(":".join(OPENSSL_NAMES.values()))

    # Then
    known = {cipher["name"] for cipher in context.get_ciphers()}
    assert known == {*OPENSSL_NAMES.values(), *TLS_1_3_SUITES}
