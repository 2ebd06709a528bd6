import pytest

from kproxy.clients.cluster.refusals import TryAgain, only_result, refusal_of, require_success
from kproxy.clients.failures import ClientFailed, NotAllowed, NotThere
from kproxy.error_codes import ErrorCode
from kproxy.errors import ExitCode


def test_no_error_is_none() -> None:
    require_success(ErrorCode.NONE, "nothing")


@pytest.mark.parametrize(
    ("error_code", "raised", "exit_code"),
    [
        (ErrorCode.GROUP_ID_NOT_FOUND, NotThere, ExitCode.NOT_FOUND),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NotThere, ExitCode.NOT_FOUND),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, NotAllowed, ExitCode.CANNOT_CONNECT),
        (ErrorCode.NON_EMPTY_GROUP, ClientFailed, ExitCode.FAILED),
        (ErrorCode.NOT_COORDINATOR, TryAgain, ExitCode.FAILED),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, TryAgain, ExitCode.FAILED),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, TryAgain, ExitCode.FAILED),
    ],
)
def test_an_error_code_becomes_the_failure_that_says_how_to_end(
    error_code: ErrorCode, raised: type[ClientFailed], exit_code: ExitCode
) -> None:
    # When
    with pytest.raises(raised) as refusal:
        require_success(error_code, "it cannot be done", "The reason.")

    # Then
    assert refusal.value.exit_code is exit_code
    assert str(refusal.value) == f"it cannot be done: The reason. ({error_code.name})"


def test_an_error_that_nobody_named_is_told_by_its_number() -> None:
    assert str(refusal_of(4711, "it cannot be done")) == "it cannot be done: error 4711"


def test_share_groups_that_are_off_are_told_in_words() -> None:
    # When
    refusal = refusal_of(ErrorCode.UNSUPPORTED_VERSION, "it cannot be done", "The version is not supported.")

    # Then
    assert "share groups are off in that cluster" in str(refusal)
    assert "share.version" in str(refusal)


@pytest.mark.parametrize("results", [[], ["a", "b"]])
def test_one_question_has_one_answer(results: list[str]) -> None:
    with pytest.raises(ClientFailed, match=f"answered with {len(results)} results instead of one"):
        only_result(results, "it cannot be done")
