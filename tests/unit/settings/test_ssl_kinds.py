import pytest

from kproxy.settings.cipher_names import TLS_1_3_SUITES
from kproxy.settings.ssl_kinds import cipher_suites, key_files, plain_text, tls_versions


def test_versions_stand_in_order_and_once() -> None:
    assert tls_versions().parse("TLSv1.3, TLSv1.2,TLSv1.3") == ("TLSv1.2", "TLSv1.3")


@pytest.mark.parametrize(
    ("text", "why"),
    [("TLSv1.1", "not 'TLSv1.1'"), ("SSLv3,TLSv1.2", "not 'SSLv3'"), ("", "and there is none")],
)
def test_a_version_that_is_broken_or_missing_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"expected TLSv1.2, TLSv1.3 or both, {why}"):
        tls_versions().parse(text)


@pytest.mark.parametrize(
    ("text", "files"), [("", ()), ("a.pem", ("a.pem",)), ("tls.crt, tls.key", ("tls.crt", "tls.key"))]
)
def test_a_key_store_is_a_file_or_two(text: str, files: tuple[str, ...]) -> None:
    assert key_files().parse(text) == files


def test_three_files_are_no_key_store() -> None:
    with pytest.raises(ValueError, match="expected one file or two, not 3"):
        key_files().parse("a,b,c")


def test_suites_have_the_names_that_java_has() -> None:
    # Given
    suites = ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", *sorted(TLS_1_3_SUITES))

    # Then
    assert cipher_suites().parse(",".join(suites)) == suites


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ECDHE-RSA-AES128-GCM-SHA256", "write TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA25", "did you mean TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
        ("SSL_RSA_WITH_RC4_128_MD5", "kproxy has no 'SSL_RSA_WITH_RC4_128_MD5'"),
        ("TLS_AES_128_GCM_SHA256", "all suites of TLSv1.3 or none, and there is no TLS_AES_256_GCM_SHA384"),
    ],
)
def test_a_suite_that_cannot_be_chosen_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        cipher_suites().parse(text)


def test_text_is_taken_as_it_is_but_for_white_space_around_it() -> None:
    assert plain_text().parse(" RULE:^CN=(.*)$/$1/ ") == "RULE:^CN=(.*)$/$1/"
