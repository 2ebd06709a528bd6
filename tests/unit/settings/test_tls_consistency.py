import pytest

from kproxy.errors import SettingsError
from kproxy.settings import load_settings

TLS = {"KPROXY_LISTENER_SECURITY_PROTOCOL": "SSL", "KPROXY_SSL_KEYSTORE_LOCATION": "tls.pem"}
TO_PKCS12 = "keytool -importkeystore -srckeystore /etc/k.jks -destkeystore /etc/k.p12 -deststoretype PKCS12"
BESIDE = {"KPROXY_TLS_LISTEN": "127.0.0.1:19093", "KPROXY_SSL_KEYSTORE_LOCATION": "tls.pem"}


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({"KPROXY_LISTENER_SECURITY_PROTOCOL": "SSL"}, "needs ssl.keystore.location"),
        ({"KPROXY_TLS_LISTEN": "127.0.0.1:19093"}, "needs ssl.keystore.location"),
        (
            {"KPROXY_SSL_KEYSTORE_LOCATION": "tls.pem"},
            "used by no port: set kproxy.listener.security.protocol=SSL",
        ),
        ({**TLS, "KPROXY_SSL_CLIENT_AUTH": "required"}, "needs ssl.truststore.location"),
        ({**TLS, "KPROXY_TLS_LISTEN": "127.0.0.1:19093"}, "keep one of them"),
        ({**BESIDE, "KPROXY_TLS_LISTEN": "127.0.0.1:19092"}, "kproxy.listen .* need two different ports"),
        (
            {**BESIDE, "KPROXY_TLS_LISTEN": "127.0.0.1:9644"},
            "kproxy.admin.listener .* need two different ports",
        ),
        ({**BESIDE, "KPROXY_TLS_BROKER_PORT_MAP": "1=19092"}, "gives node 1 a port that is taken"),
        (
            {"KPROXY_UPSTREAM_SSL_KEYSTORE_LOCATION": "a.pem"},
            "used by no connection: upstream.security.protocol",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(environment: dict[str, str], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        load_settings(environment=environment)


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        (
            {**TLS, "KPROXY_SSL_KEYSTORE_LOCATION": "/etc/k.jks", "KPROXY_SSL_KEYSTORE_TYPE": "JKS"},
            f"{TO_PKCS12} && openssl pkcs12 -in /etc/k.p12 -out /etc/k.pem",
        ),
        (
            {**TLS, "KPROXY_SSL_KEYSTORE_LOCATION": "/etc/k.pfx", "KPROXY_SSL_KEYSTORE_TYPE": "PKCS12"},
            "openssl pkcs12 -in /etc/k.pfx -out /etc/k.pem",
        ),
        (
            {"KPROXY_SSL_TRUSTSTORE_LOCATION": "/etc/t.jks", "KPROXY_SSL_TRUSTSTORE_TYPE": "jks"},
            "keytool -list -rfc -keystore /etc/t.jks > /etc/t.pem",
        ),
        (
            {
                "KPROXY_UPSTREAM_SSL_TRUSTSTORE_TYPE": "PKCS12",
                "KPROXY_UPSTREAM_SSL_TRUSTSTORE_LOCATION": "t.p12",
            },
            "keytool -list -rfc -keystore t.p12 > t.pem",
        ),
    ],
)
def test_a_store_of_java_is_refused_with_the_command_that_converts_it(
    environment: dict[str, str], command: str
) -> None:
    with pytest.raises(SettingsError) as refusal:
        load_settings(environment=environment)
    assert str(refusal.value).endswith(f"kproxy reads PEM; convert the store with {command}")


@pytest.mark.parametrize("environment", [TLS, BESIDE])
def test_tls_on_the_ports_for_clients_needs_a_key_store_alone(environment: dict[str, str]) -> None:
    assert load_settings(environment=environment).settings.has_tls_ports
