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
