from kproxy.security.acls import AclBinding, AclOperation, AclPermission, PatternType, ResourceType


def test_the_numbers_are_those_of_the_wire() -> None:
    """`AclOperation`, `AclPermissionType`, `ResourceType` and `PatternType` of Kafka's clients."""
    assert {each.name: each.value for each in AclOperation} == {
        "ANY": 1,
        "ALL": 2,
        "READ": 3,
        "WRITE": 4,
        "CREATE": 5,
        "DELETE": 6,
        "ALTER": 7,
        "DESCRIBE": 8,
        "CLUSTER_ACTION": 9,
        "DESCRIBE_CONFIGS": 10,
        "ALTER_CONFIGS": 11,
    }
    assert [AclPermission.DENY, AclPermission.ALLOW] == [2, 3]
    assert [ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER] == [2, 3, 4]
    assert [PatternType.ANY, PatternType.LITERAL, PatternType.PREFIXED] == [1, 3, 4]


def test_a_binding_may_have_numbers_that_nobody_knows_here() -> None:
    binding = AclBinding(99, "orders", PatternType.LITERAL, "User:alice", "*", 77, AclPermission.DENY)
    assert (binding.resource_type, binding.operation) == (99, 77)
