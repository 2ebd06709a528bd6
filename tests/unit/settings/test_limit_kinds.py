import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.settings.limit_kinds import bytes_or_auto, count_by_host


@pytest.mark.parametrize(("text", "value"), [("auto", None), (" AUTO ", None), ("1024", 1024)])
def test_bytes_are_a_number_or_follow_from_the_memory_there_is(text: str, value: int | None) -> None:
    assert bytes_or_auto(1024).parse(text) == value


@pytest.mark.parametrize("text", ["1023", "", "a lot", "50%"])
def test_other_words_for_bytes_are_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(ValueError, match="from 1024 to 2147483647, or auto"):
        bytes_or_auto(1024).parse(text)


def test_counts_are_read_as_brokers_read_them() -> None:
    counts = count_by_host().parse("10.0.0.7:100, ::1:5,[fe80::2]:0,ingress.svc:5000,")

    assert counts == {"10.0.0.7": 100, "::1": 5, "fe80::2": 0, "ingress.svc": 5000}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("10.0.0.7", "HOST:COUNT at '10.0.0.7'"),
        ("10.0.0.7:many", "a count from 0 to 2147483647 behind the last colon of '10.0.0.7:many'"),
        ("10.0.0.7:-1", "a count from 0"),
        ("a:1,a:2", "every host once, and 'a:2' repeats one"),
    ],
)
def test_a_count_that_cannot_be_read_is_refused_with_the_pair(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        count_by_host().parse(text)


@given(st.dictionaries(st.sampled_from(["10.0.0.7", "::1", "ingress"]), st.integers(0, 2**31 - 1)))
def test_counts_are_written_as_they_are_read(counts: dict[str, int]) -> None:
    kind = count_by_host()
    assert kind.parse(kind.write(counts)) == counts
