"""What Java's clients are told about logins."""

import pytest

from kproxy.security.jaas import JaasEntry, read_jaas


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        (
            'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="a b;c";',
            JaasEntry("PlainLoginModule", {"username": "alice", "password": "a b;c"}),
        ),
        (
            " PlainLoginModule  REQUIRED\n  username = alice\n  password='it\"s' ; ",
            JaasEntry("PlainLoginModule", {"username": "alice", "password": 'it"s'}),
        ),
        (
            r'x.ScramLoginModule required password="quote \" backslash \\ tab \t" username="";',
            JaasEntry("ScramLoginModule", {"password": 'quote " backslash \\ tab \t', "username": ""}),
        ),
        ("x.OAuthBearerLoginModule required;", JaasEntry("OAuthBearerLoginModule", {})),
    ],
)
def test_module_and_options_are_read_as_java_does(text: str, entry: JaasEntry) -> None:
    assert read_jaas(text) == entry


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PlainLoginModule",
        'PlainLoginModule required username="secret"',
        'PlainLoginModule sometimes username="secret";',
        'PlainLoginModule required username="secret;',
        "PlainLoginModule required secret;",
    ],
)
def test_what_is_none_is_refused_without_its_secrets(text: str) -> None:
    with pytest.raises(ValueError, match="expected") as refusal:
        read_jaas(text)
    assert "secret" not in str(refusal.value)
