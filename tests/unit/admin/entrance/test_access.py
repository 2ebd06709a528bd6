import pytest

from kproxy.admin.entrance.access import AccessRules, Asked, Reason, host_name
from kproxy.settings import HostPort

LOOPBACK = HostPort("127.0.0.1", 9644)
EVERYWHERE = HostPort("0.0.0.0", 9644)
TOKEN = "a-token-of-some-length"


def reason_of(
    rules: AccessRules, *hosts: str, origin: str | None = None, local_address: str = "127.0.0.1"
) -> Reason | None:
    asked = Asked("/api/v1/groups", hosts=hosts, local_address=local_address, origin=origin)
    refusal = rules.refusal(asked)
    return None if refusal is None else refusal.reason


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:9644", "127.0.0.1", "localhost:9644", "LOCALHOST", "localhost.", "[::1]:9644", "127.8.9.10"],
)
def test_names_of_this_machine_alone_are_answered(host: str) -> None:
    assert reason_of(AccessRules(LOOPBACK), host) is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:9644", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.7", ""],
)
def test_a_name_that_was_made_to_lead_here_is_refused(host: str) -> None:
    assert reason_of(AccessRules(LOOPBACK), host) is Reason.HOST


def test_a_name_that_configuration_tells_is_answered_whatever_its_case() -> None:
    # Given
    rules = AccessRules(EVERYWHERE, ("Kproxy.Ops.example", "fd00::7"))

    # When
    reasons = [
        reason_of(rules, host) for host in ("kproxy.ops.EXAMPLE:80", "[FD00:0::7]:9644", "ops.example")
    ]

    # Then
    assert reasons == [None, None, Reason.HOST]


def test_a_port_bound_everywhere_is_known_by_the_address_that_was_reached_and_no_other() -> None:
    # Given
    rules = AccessRules(EVERYWHERE)

    # When
    reasons = [
        reason_of(rules, host, local_address=local)
        for host, local in [
            ("10.0.0.7:9644", "10.0.0.7"),
            ("10.0.0.7:9644", "::ffff:10.0.0.7"),
            ("[fe80::1]:9644", "fe80::1%eth0"),
            ("10.0.0.8:9644", "10.0.0.7"),
        ]
    ]

    # Then
    assert reasons == [None, None, None, Reason.HOST]


def test_the_name_that_the_port_is_bound_by_is_answered() -> None:
    assert reason_of(AccessRules(HostPort("kproxy.internal", 9644)), "kproxy.internal:9644") is None


def test_a_name_of_this_machine_is_answered_but_pages_of_its_other_ports_may_not_ask() -> None:
    # Given
    rules = AccessRules(EVERYWHERE, own_names=("host-1",))

    # When
    reasons = [
        reason_of(rules, "host-1:9644", origin=origin)
        for origin in (None, "http://host-1:9644", "http://host-1:3000")
    ]

    # Then
    assert reasons == [None, None, Reason.ORIGIN]


def test_who_sends_two_names_is_refused() -> None:
    assert reason_of(AccessRules(LOOPBACK), "127.0.0.1", "evil.example") is Reason.HOST


def test_a_request_older_than_the_header_host_is_answered_and_a_newer_one_without_it_is_not() -> None:
    # Given
    rules = AccessRules(LOOPBACK)

    # When
    old = rules.refusal(Asked("/livez", (), "127.0.0.1", is_http_1_0=True))
    new = rules.refusal(Asked("/livez", (), "127.0.0.1"))

    # Then
    assert old is None
    assert new is not None
    assert (new.reason, new.status) == (Reason.HOST, 400)


def test_the_refusal_of_a_name_says_what_to_set() -> None:
    # When
    refusal = AccessRules(LOOPBACK).refusal(Asked("/livez", ("evil.example:80",), "127.0.0.1"))

    # Then
    assert refusal is not None
    assert refusal.message == (
        "this admin port is not known as 'evil.example': it is bound to 127.0.0.1:9644; if that name leads here on "
        "purpose, add it to kproxy.admin.allowed.hosts"
    )


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:9644", "https://127.0.0.1:9644", "HTTP://127.0.0.1:9644".lower()]
)
def test_a_page_of_this_port_may_ask(origin: str) -> None:
    assert reason_of(AccessRules(LOOPBACK), "127.0.0.1:9644", origin=origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "http://127.0.0.1:3000", "http://localhost:9644", "null", "", "file://"),
        *("http://127.0.0.1:9644.evil.example", "ftp://127.0.0.1:9644", "127.0.0.1:9644"),
    ],
)
def test_a_page_of_anywhere_else_may_not(origin: str) -> None:
    assert reason_of(AccessRules(LOOPBACK), "127.0.0.1:9644", origin=origin) is Reason.ORIGIN


def test_a_page_behind_a_proxy_that_configuration_tells_may_ask() -> None:
    # Given
    rules = AccessRules(LOOPBACK, ("ops.example",))

    # When
    reason = reason_of(rules, "127.0.0.1:9644", origin="https://ops.example")

    # Then
    assert reason is None


@pytest.mark.parametrize(
    ("site", "is_navigation", "is_refused"),
    [
        (None, False, False),
        ("none", False, False),
        ("same-origin", False, False),
        ("same-site", False, True),
        ("cross-site", False, True),
        ("cross-site", True, False),
    ],
)
def test_what_a_page_of_another_site_embeds_is_refused_and_a_link_from_there_is_followed(
    site: str | None, *, is_navigation: bool, is_refused: bool
) -> None:
    # Given
    asked = Asked("/ui", ("127.0.0.1",), "127.0.0.1", fetch_site=site, is_navigation=is_navigation)

    # When
    refusal = AccessRules(LOOPBACK).refusal(asked)

    # Then
    assert (refusal is not None and refusal.reason is Reason.ORIGIN) is is_refused


@pytest.mark.parametrize(
    ("listener", "has_token", "resource", "is_needed"),
    [
        (LOOPBACK, False, "/api/v1/groups", False),
        (LOOPBACK, True, "/api/v1/groups", True),
        (EVERYWHERE, False, "/api/v1/groups", True),
        (EVERYWHERE, True, "/livez", False),
        (EVERYWHERE, True, "/readyz", False),
        (EVERYWHERE, False, "/metrics", False),
        (EVERYWHERE, True, "/ui", False),
        (EVERYWHERE, True, "/ui/{file}", False),
        (EVERYWHERE, True, "/uiapi", True),
        (EVERYWHERE, True, "", True),
        (HostPort("::1", 9644), False, "/api/v1/groups", False),
        (HostPort("kproxy.internal", 9644), False, "/api/v1/groups", True),
    ],
)
def test_what_is_not_for_probes_needs_a_token_beyond_this_machine_and_wherever_there_is_one(
    listener: HostPort, resource: str, *, has_token: bool, is_needed: bool
) -> None:
    assert AccessRules(listener, has_token=has_token).needs_token(resource) is is_needed


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {TOKEN}", None),
        (f"bearer  {TOKEN} ", None),
        (None, 401),
        ("", 401),
        ("Bearer", 401),
        (f"Bearer {TOKEN}x", 401),
        (f"Basic {TOKEN}", 401),
        ("Bearer \u00e4", 401),
        ("Bearer \udcff", 401),
    ],
)
def test_who_shows_the_token_is_let_in(authorization: str | None, status: int | None) -> None:
    # Given
    asked = Asked("/api/v1/groups", ("127.0.0.1",), "127.0.0.1", authorization=authorization)

    # When
    refusal = AccessRules(LOOPBACK, has_token=True).token_refusal(asked, TOKEN)

    # Then
    assert (None if refusal is None else refusal.status) == status


def test_a_port_that_others_reach_without_a_token_says_what_to_set() -> None:
    # Given
    rules = AccessRules(EVERYWHERE)

    # When
    refusal = rules.token_refusal(Asked("/api/v1/groups", ("10.0.0.7",), "10.0.0.7"), "")

    # Then
    assert rules.is_closed
    assert refusal is not None
    assert (refusal.status, refusal.message) == (
        403,
        (
            "kproxy.admin.listener = 0.0.0.0:9644 lets other machines in, and nothing tells who may ask: set "
            "kproxy.admin.token.file, or listen on 127.0.0.1; /livez, /readyz and /metrics need no token"
        ),
    )


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("a:1", "a"),
        ("[::1]:9644", "::1"),
        ("[::ffff:10.0.0.1]", "10.0.0.1"),
        ("A.B.", "a.b"),
        ("[::1", "::1"),
    ],
)
def test_hosts_are_compared_in_one_form(place: str, name: str) -> None:
    assert host_name(place) == name
