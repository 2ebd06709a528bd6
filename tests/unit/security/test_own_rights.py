"""The rights that kproxy asks for, in the words of kafka-acls.sh."""

from kproxy.security.acls import AclOperation
from kproxy.security.own_rights import OWN_RIGHTS, OwnResource, operation_name, own_rights_in_words


def test_rights_are_listed_by_what_they_are_about_under_its_own_name_where_that_is_known() -> None:
    # When
    told = own_rights_in_words({OwnResource.STATE_TOPICS: "the topics s and g"})

    # Then
    assert told == (
        "Read, Write, Create, Delete and DescribeConfigs on the topics s and g; "
        "Read on the fleet's group; Write on the transactional ids of the state log; Describe on all groups; "
        "Describe on the cluster; and Read on the topics that share groups consume"
    )


def test_something_is_asked_for_of_everything_and_nothing_is_without_a_name() -> None:
    # When
    asked = {operation_name(each) for operations in OWN_RIGHTS.values() for each in operations}

    # Then
    assert OWN_RIGHTS.keys() == set(OwnResource)
    assert asked <= {operation_name(each) for each in AclOperation} - {"Any", "All"}
