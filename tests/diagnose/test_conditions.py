import pytest

from diagnose.conditions import holds, in_range, unknown, version


@pytest.mark.parametrize(
    ("conditions", "values", "expected"),
    [
        ({"sp": 2}, {"sp": 1}, False),
        ({"sp": 2}, {}, None),
        ({"sp": 2, "tp": 1}, {"tp": 2}, False),  # one known misfit decides, whatever is unknown
        ({"micro_batch": {"above": 1}}, {"micro_batch": 1}, False),
        ({"algo": {"not": ["ppo", "grpo"]}}, {"algo": "grpo"}, False),
        ({"engine_version": {"at_least": "0.9.1"}}, {"engine_version": "0.10.0"}, True),  # by parts, not by letters
        ({"algo": ["ppo", "grpo"]}, {"algo": "grpo"}, True),
        ({"micro_batch": {"at_least": 2, "at_most": 4}}, {"micro_batch": 4}, True),
        ({"gradient_checkpointing": "true"}, {"gradient_checkpointing": True}, True),
        ({"zero_stage": 1}, {"zero_stage": True}, False),  # true is no stage
        ({}, {}, True),
    ],
)
def test_a_condition_holds_fails_or_stays_open(conditions, values, expected):
    assert holds(conditions, values) is expected


def test_it_names_the_facts_that_would_decide():
    assert unknown({"sp": 2, "tp": 1}, {"tp": 1}) == ("sp",)


@pytest.mark.parametrize(
    ("since", "until", "at", "inside"),
    [
        ("0.4.0", "", "0.3.9", False),
        ("", "0.6.0", "0.6.0", False),
        ("", "0.6.0", None, False),  # an unknown version counts as the newest
        ("0.4.0", "0.6.0", "0.5.0.post1", True),
        ("0.9.0", "", None, True),
        ("", "", None, True),
    ],
)
def test_a_version_lies_in_a_range(since, until, at, inside):
    assert in_range(since, until, at) is inside


def test_a_version_is_its_numbers():
    assert version("v0.8.5.post1") == (0, 8, 5)
    assert version("0.4") == version("0.4.0")
    assert version("0.10") > version("0.9")
    assert version("0.0") == (0,)
    assert version("main") == ()
