"""Kafka's own cases of SslPrincipalMapperTest, and what must hold for every subject."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.security.principal import Principal
from kproxy.security.principal_mapping import InvalidMappingRule, NoMatchingRule, PrincipalMapping

SEVERAL = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L, "
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L, "
    "RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U, "
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U, "
    "DEFAULT"
)


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "duke"),
        ("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME"),
        ("cN=duke,OU=JavaSoft,O=Sun Microsystems", "DUKE"),
        ("OU=JavaSoft,O=Sun Microsystems,C=US", "OU=JavaSoft,O=Sun Microsystems,C=US"),
    ],
)
def test_the_first_rule_that_fits_makes_the_name(subject: str, name: str) -> None:
    assert PrincipalMapping(SEVERAL).name_of(subject) == name


@pytest.mark.parametrize(
    "rules",
    [
        "DEFAULT",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L, DEFAULT",
        "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/",
        "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L",
        "RULE:^cn=(.?),ou=(.?),dc=(.?),dc=(.?)$/$1@$2/U",
        "RULE:^CN=([^,ADEFLTU,]+)(,.*|$)/$1/",
        "RULE:^CN=([^,DEFAULT,]+)(,.*|$)/$1/",
        "",
        ",   , , ,      , , ,   ",
        ",,RULE://,,,DEFAULT,,",
        ",  , RULE: /   /    ,,,   DEFAULT, ,   ",
        r"RULE:\/\\\(\)\n\t/\/\//",
        r"RULE:\**\/+/*/L,RULE:\/*\**/**/",
        "RULE:,RULE:,/,RULE:,\\//U,RULE:,/RULE:,/,RULE:,RULE:,/L,RULE:,/L,RULE:, DEFAULT, /DEFAULT/,DEFAULT",
    ],
)
def test_rules_that_kafka_reads_are_read(rules: str) -> None:
    PrincipalMapping(rules)


@pytest.mark.parametrize(
    "rules",
    [
        "default",
        "DEFAUL",
        "DEFAULT/L",
        "DEFAULT/U",
        "RULE:CN=(.*?),OU=ServiceUsers.*/$1",
        "rule:^CN=(.*?),OU=ServiceUsers.*$/$1/",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/L",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/LU",
    ],
)
def test_rules_that_kafka_refuses_are_refused(rules: str) -> None:
    with pytest.raises(
        InvalidMappingRule, match=r"ssl\.principal\.mapping\.rules has .*: expected DEFAULT or RULE"
    ):
        PrincipalMapping(rules)


def test_a_comma_and_a_blank_may_stand_in_a_name() -> None:
    # Given
    mapping = PrincipalMapping(r"RULE:^CN=((\\, *|\w)+)(,.*|$)/$1/,DEFAULT")

    # Then
    assert mapping.name_of(r"CN=Tkac\, Adam,OU=ITZ,DC=geodis,DC=cz") == r"Tkac\, Adam"


@pytest.mark.parametrize(
    ("rule", "subject", "name"),
    [
        ("RULE:^CN=(.*)$/user-$1/", "CN=a", "user-a"),
        ("RULE:^CN=(.*)$/$0!/", "CN=a", "CN=a!"),
        # One group: $12 is the first and a 2, $4 is no group and so is text (escapeLiteralBackReferences).
        ("RULE:^CN=(.*)$/$12/", "CN=a", "a2"),
        ("RULE:^CN=(.*)$/$1@$4/", "CN=a", "a@$4"),
        (r"RULE:^CN=(.*)$/\$1/", "CN=a", "$1"),
        (r"RULE:^CN=(.*)$/$1\/x/", "CN=a", "a/x"),
        ("RULE:^CN=(a)?(.*)$/<$1>/", "CN=b", "<>"),
        ("RULE:^CN=(?<who>.*)$/${who}/U", "CN=a", "A"),
        # The rule fits as a whole; what is replaced is each place that the pattern finds.
        ("RULE:.*/x/", "CN=a", "xx"),
    ],
)
def test_the_replacement_is_javas(rule: str, subject: str, name: str) -> None:
    assert PrincipalMapping(rule).name_of(subject) == name


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("RULE:^CN=(.*$/$1/", "cannot be read"),
        ("RULE:^CN=.*$/$1/", "names a group, and there is none"),
        ("RULE:^CN=(.*)$/$x/", "stands before a number"),
        ("RULE:^CN=(.*)$/${who}/", "there is no group 'who'"),
    ],
)
def test_a_rule_that_would_fail_for_each_client_is_refused_at_once(rule: str, why: str) -> None:
    with pytest.raises(InvalidMappingRule, match=why):
        PrincipalMapping(rule)


def test_whom_no_rule_fits_has_no_name() -> None:
    with pytest.raises(NoMatchingRule, match="fits 'OU=x'"):
        PrincipalMapping("RULE:^CN=(.*)$/$1/").name_of("OU=x")


def test_a_principal_is_a_user() -> None:
    assert PrincipalMapping("DEFAULT").principal_of("CN=a") == Principal("User", "CN=a")


@given(st.text())
def test_by_default_every_subject_is_its_own_name(subject: str) -> None:
    assert PrincipalMapping("DEFAULT").name_of(subject) == subject


@given(st.text())
def test_any_text_is_read_as_rules_or_refused(rules: str) -> None:
    with suppress(InvalidMappingRule, NoMatchingRule):
        assert isinstance(PrincipalMapping(rules).name_of("CN=a"), str)


@given(
    name=st.from_regex(r"[a-zA-Z0-9 .@_-]+", fullmatch=True),
    rest=st.lists(st.from_regex(r"(OU|O|C)=[a-zA-Z0-9]+", fullmatch=True), max_size=4),
)
def test_a_common_name_is_taken_out_of_any_subject(name: str, rest: list[str]) -> None:
    # Given
    mapping = PrincipalMapping("RULE:^CN=([^,]*)(?:,.*)?$/$1/, DEFAULT")

    # Then
    assert mapping.name_of(",".join([f"CN={name}", *rest])) == name
