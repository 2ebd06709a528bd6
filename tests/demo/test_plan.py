import pytest

from tests.demo.failures import WrongSetting
from tests.demo.plan import Plan


def test_without_anything_in_the_environment_the_demo_is_the_one_of_the_readme() -> None:
    # When
    plan = Plan.from_environment({})

    # Then
    assert plan == Plan(record_count=3000, keeps_running=False, is_native=False, proxies=1)


def test_the_environment_says_how_many_records_and_what_is_different() -> None:
    # When
    plan = Plan.from_environment({"DEMO_RECORDS": "600", "KEEP": "1", "DEMO_NATIVE": "1"})

    # Then
    assert plan == Plan(record_count=600, keeps_running=True, is_native=True)


def test_with_several_kproxies_there_is_more_to_see_and_so_more_time_for_it() -> None:
    # When
    plan = Plan.from_environment({"PROXIES": "3"})

    # Then
    assert (plan.proxies, plan.is_fleet) == (3, True)
    assert plan.producing_seconds > Plan().producing_seconds


@pytest.mark.parametrize(
    "environment",
    [
        {"DEMO_RECORDS": "many"},
        {"DEMO_RECORDS": "299"},
        {"DEMO_RECORDS": "-1"},
        {"KEEP": "yes"},
        {"PROXIES": "0"},
        {"PROXIES": "9"},
        {"PROXIES": "three"},
        {"PROXIES": "²"},
    ],
)
def test_a_value_that_makes_no_sense_is_named(environment: dict[str, str]) -> None:
    # Given
    [(variable, value)] = environment.items()

    # When
    with pytest.raises(WrongSetting) as refusal:
        Plan.from_environment(environment)

    # Then
    assert str(refusal.value).startswith(f"{variable}={value}: expected")


def test_there_are_no_kproxies_where_kafka_serves_share_groups_itself() -> None:
    # When
    with pytest.raises(WrongSetting) as refusal:
        Plan.from_environment({"DEMO_NATIVE": "1", "PROXIES": "2"})

    # Then
    assert str(refusal.value) == "PROXIES=2: expected 1, for DEMO_NATIVE=1 is without kproxy"
