"""What is found in an expression, before files are held against it."""

import pytest

from tests.deploy.promql import Matcher, Selector, label_list, made_labels, selectors


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("kproxy_a > 900", [Selector("kproxy_a")]),
        ('up{job=~".*kproxy.*"} == 0', [Selector("up", (Matcher("job", "=~", ".*kproxy.*"),))]),
        (
            'sum by (fleet) (rate(kproxy_a_total{group="g", reason=~"x|y"}[5m]))',
            [Selector("kproxy_a_total", (Matcher("group", "=", "g"), Matcher("reason", "=~", "x|y")))],
        ),
        (
            "instance:kproxy_a:p99 unless instance:kproxy_a:p99 offset 1h",
            [Selector("instance:kproxy_a:p99"), Selector("instance:kproxy_a:p99")],
        ),
        ("label_values(kproxy_build_info, fleet)", [Selector("kproxy_build_info")]),
        ("sum(rate(process_cpu_seconds_total[5m]))", [Selector("process_cpu_seconds_total")]),
    ],
)
def test_metrics_are_found_with_their_matchers(expression: str, found: list[Selector]) -> None:
    assert list(selectors(expression)) == found


def test_matchers_that_cannot_be_read_are_an_error() -> None:
    with pytest.raises(AssertionError, match="not a list of matchers"):
        list(selectors("kproxy_a{group=g}"))


def test_labels_are_found_wherever_they_are_listed() -> None:
    # Given
    expression = 'sum by (fleet, le) (a) / on (group) b or label_replace(c, "reason", "by (x)", "", "")'

    # Then
    assert label_list(expression) == {"fleet", "le", "group", "reason"}
    assert made_labels(expression) == {"reason"}


@pytest.mark.parametrize(
    ("matcher", "words"),
    [
        (Matcher("reason", "=~", "host|origin"), ("host", "origin")),
        (Matcher("reason", "=", "host"), ("host",)),
        (Matcher("group", "=~", "$group"), ()),
        (Matcher("job", "=~", ".*kproxy.*"), ()),
    ],
)
def test_values_are_told_from_patterns(matcher: Matcher, words: tuple[str, ...]) -> None:
    assert matcher.words == words
