import pytest

from kproxy.error_codes import known_code


@pytest.mark.parametrize(
    ("number", "code"), [(0, "NONE"), (6, "NOT_LEADER_OR_FOLLOWER"), (999, "UNKNOWN_SERVER_ERROR")]
)
def test_a_number_that_kproxy_has_no_name_for_is_an_unknown_error(number: int, code: str) -> None:
    assert known_code(number).name == code
