from kproxy.admin.readiness import CheckResult, Readiness


def test_every_check_is_run_and_says_what_is_wrong() -> None:
    # Given
    readiness = Readiness(
        {
            "listeners_bound": lambda: "",
            "metadata_fresh": lambda: "the view of the cluster is 700 s old",
            "not_draining": lambda: "kproxy is stopping",
        }
    )

    # When
    results = readiness.results()

    # Then
    assert results == [
        CheckResult("listeners_bound", ""),
        CheckResult("metadata_fresh", "the view of the cluster is 700 s old"),
        CheckResult("not_draining", "kproxy is stopping"),
    ]
    assert [result.is_passed for result in results] == [True, False, False]


def test_a_check_is_asked_anew_each_time() -> None:
    # Given
    complaints = ["metadata was never fetched"]
    readiness = Readiness({"metadata_fresh": lambda: complaints[0]})
    complaints[0] = ""

    # When
    results = readiness.results()

    # Then
    assert results == [CheckResult("metadata_fresh", "")]


def test_checks_whose_number_is_not_known_beforehand_come_last() -> None:
    # Given
    slots: list[CheckResult] = []
    readiness = Readiness({"listeners": lambda: ""}, more=lambda: slots)
    slots.append(CheckResult("slot_0", "loading"))

    # When
    results = readiness.results()

    # Then
    assert results == [CheckResult("listeners", ""), CheckResult("slot_0", "loading")]


def of_slots(*details: str) -> Readiness:
    slots = [CheckResult(f"slot_{number}", detail) for number, detail in enumerate(details)]
    return Readiness({"listeners": str}, more=lambda: slots, group="slots")


def test_checks_of_a_group_are_one_line_unless_all_are_asked_for() -> None:
    # Given
    readiness = of_slots(*[""] * 50)

    # When
    short, long = readiness.lines(), readiness.lines(is_verbose=True)

    # Then
    assert short == [CheckResult("listeners", ""), CheckResult("slots", "")]
    assert long == readiness.results()
    assert len(long) == 51


def test_the_line_of_a_group_says_how_many_do_not_pass_and_why_the_first_ones() -> None:
    # Given
    readiness = of_slots("", "loading", "loading", "", "unassigned", "no leader")

    # When
    [_, line] = readiness.lines()

    # Then
    assert line == CheckResult(
        "slots",
        "4 of 6 do not pass: slot_1: loading; slot_2: loading; slot_4: unassigned; "
        "and 1 more, which /readyz?verbose tells",
    )


def test_a_group_of_none_is_no_line() -> None:
    assert of_slots().lines() == [CheckResult("listeners", "")]
