"""Each rule of Kafka's authorizer as a sentence; tests/models/test_authorizer_model.py has them all at once."""

from typing import Final

from kproxy.security import standard_authorizer
from kproxy.security.acls import (
    CLUSTER_NAME,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourceType,
)
from kproxy.security.principal import Principal
from kproxy.security.standard_authorizer import AuthorizerRules, StandardAuthorizer

ALICE: Final = Principal("User", "alice")
BOB: Final = Principal("User", "bob")
HOST: Final = "10.0.0.7"


def acl(
    operation: AclOperation = AclOperation.READ,
    *,
    principal: str = "User:alice",
    name: str = "orders",
    resource_type: ResourceType = ResourceType.TOPIC,
    pattern_type: PatternType = PatternType.LITERAL,
    host: str = "*",
    permission: AclPermission = AclPermission.ALLOW,
) -> AclBinding:
    return AclBinding(resource_type, name, pattern_type, principal, host, operation, permission)


def may(
    *bindings: AclBinding,
    principal: Principal = ALICE,
    host: str = HOST,
    operation: AclOperation = AclOperation.READ,
    resource_type: ResourceType = ResourceType.TOPIC,
    name: str = "orders",
    rules: AuthorizerRules | None = None,
) -> bool:
    authorizer = StandardAuthorizer(bindings, rules or AuthorizerRules())
    return authorizer.permissions_of(principal, host).allows(operation, resource_type, name)


def test_what_nobody_allowed_is_denied() -> None:
    assert not may()
    assert not may(acl(principal="User:bob"))


def test_a_literal_pattern_is_about_one_name() -> None:
    assert may(acl())
    assert not may(acl(), name="orders-eu")
    assert not may(acl(), resource_type=ResourceType.GROUP)


def test_a_prefix_is_about_every_name_that_begins_with_it() -> None:
    prefixed = acl(name="ord", pattern_type=PatternType.PREFIXED)
    assert may(prefixed)
    assert may(prefixed, name="ord")
    assert not may(prefixed, name="or")


def test_a_literal_asterisk_is_about_every_name_and_a_prefixed_one_is_not() -> None:
    assert may(acl(name="*"))
    assert not may(acl(name="*", pattern_type=PatternType.PREFIXED))
    assert may(acl(name="*", pattern_type=PatternType.PREFIXED), name="*stars")


def test_to_be_denied_counts_more_than_to_be_allowed() -> None:
    denied = acl(permission=AclPermission.DENY, name="*")
    assert not may(acl(), denied)
    assert not may(denied, acl())


def test_the_principal_of_everybody_is_everybody() -> None:
    assert may(acl(principal="User:*"))
    assert not may(acl(), acl(principal="User:*", permission=AclPermission.DENY))
    assert not may(acl(principal="Group:*"), principal=Principal("Group", "staff"))


def test_a_host_is_named_exactly_or_is_every_host() -> None:
    assert may(acl(host=HOST))
    assert not may(acl(host="10.0.0.8"))
    assert may(acl(), acl(host="10.0.0.8", permission=AclPermission.DENY))


def test_the_host_of_a_client_is_compared_as_brokers_write_it() -> None:
    assert may(acl(host="2001:db8:0:0:0:0:0:7"), host="2001:db8::7")
    assert may(acl(host="10.0.0.7"), host="::ffff:10.0.0.7")
    assert may(acl(host="fe80:0:0:0:0:0:0:1%eth0"), host="fe80::1%eth0")
    assert not may(acl(), acl(host="2001:db8:0:0:0:0:0:7", permission=AclPermission.DENY), host="2001:db8::7")


def test_an_entry_with_its_host_in_another_form_says_nothing_as_at_a_broker() -> None:
    assert not may(acl(host="2001:db8::7"), host="2001:db8::7")
    assert not may(acl(host="fe80:0:0:0:0:0:0:1"), host="fe80::1%eth0")
    assert not may(acl(host="client.example"), host="2001:db8::7")


def test_all_operations_are_every_one_of_them() -> None:
    assert may(acl(AclOperation.ALL), operation=AclOperation.DELETE)
    assert not may(acl(AclOperation.ALL, permission=AclPermission.DENY), acl(), operation=AclOperation.READ)


def test_who_may_read_write_delete_or_alter_may_describe() -> None:
    implying = [AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER]
    assert all(may(acl(operation), operation=AclOperation.DESCRIBE) for operation in implying)
    assert not may(acl(AclOperation.ALTER_CONFIGS), operation=AclOperation.DESCRIBE)
    assert not may(acl(AclOperation.DESCRIBE))


def test_who_may_alter_configurations_may_describe_them() -> None:
    assert may(acl(AclOperation.ALTER_CONFIGS), operation=AclOperation.DESCRIBE_CONFIGS)
    assert not may(acl(AclOperation.DESCRIBE), operation=AclOperation.DESCRIBE_CONFIGS)


def test_who_is_denied_to_read_may_still_describe() -> None:
    denied = acl(AclOperation.READ, permission=AclPermission.DENY)
    assert may(denied, acl(AclOperation.DESCRIBE), operation=AclOperation.DESCRIBE)
    assert not may(denied, operation=AclOperation.DESCRIBE)


def test_a_super_user_may_do_what_is_denied() -> None:
    rules = AuthorizerRules(super_users=frozenset({ALICE}))
    denied = acl(permission=AclPermission.DENY)
    assert may(denied, rules=rules)
    assert not may(acl(permission=AclPermission.DENY, principal="User:bob"), principal=BOB, rules=rules)


def test_without_any_pattern_for_a_resource_everybody_may_where_that_is_configured() -> None:
    rules = AuthorizerRules(allow_if_no_acl=True)
    assert may(rules=rules)
    assert not may(acl(principal="User:bob"), rules=rules)
    assert may(acl(principal="User:bob"), name="payments", rules=rules)


def test_the_cluster_is_a_resource_like_any_other() -> None:
    action = acl(AclOperation.CLUSTER_ACTION, name=CLUSTER_NAME, resource_type=ResourceType.CLUSTER)
    cluster = ResourceType.CLUSTER
    assert may(action, operation=AclOperation.CLUSTER_ACTION, resource_type=cluster, name=CLUSTER_NAME)


def test_what_was_decided_is_kept_until_there_is_too_much_of_it() -> None:
    # Given
    authorizer = StandardAuthorizer([acl(name="*")], AuthorizerRules())
    permissions = authorizer.permissions_of(ALICE, HOST)

    # When
    answers = {
        permissions.allows(AclOperation.READ, ResourceType.TOPIC, f"topic-{number}")
        for number in range(standard_authorizer.MOST_DECISIONS + 2)
    }

    # Then: all but the last two were forgotten
    assert answers == {True}
    assert permissions.kept_count == 2
    assert permissions.allows(AclOperation.READ, ResourceType.TOPIC, "topic-0")


def test_names_that_no_topic_can_have_are_decided_anew_each_time() -> None:
    authorizer = StandardAuthorizer([acl(name="g", pattern_type=PatternType.PREFIXED)], AuthorizerRules())
    permissions = authorizer.permissions_of(ALICE, HOST)
    assert permissions.allows(AclOperation.READ, ResourceType.TOPIC, "g" * 250)
    assert permissions.kept_count == 0


def test_one_principal_from_one_host_is_looked_up_once_and_only_so_many_are_kept() -> None:
    # Given
    authorizer = StandardAuthorizer([], AuthorizerRules())
    first = authorizer.permissions_of(ALICE, HOST)
    assert authorizer.permissions_of(ALICE, HOST) is first

    # When
    for number in range(standard_authorizer.MOST_PRINCIPALS):
        authorizer.permissions_of(Principal("User", f"user-{number}"), HOST)

    # Then
    assert authorizer.permissions_of(ALICE, HOST) is not first
    assert authorizer.binding_count == 0
