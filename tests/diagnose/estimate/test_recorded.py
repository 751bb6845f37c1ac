"""What a record says of a run hangs on its version and on the facts that its conditions name, and on nothing else."""

from dataclasses import replace
from typing import Any

from diagnose.estimate.recorded import recorded
from diagnose.knowledge.records import Behaviour, Resident
from tests.diagnose.estimate.conftest import framework

RECORD = replace(
    framework(
        residents=(
            Resident(what="ref_weights", phases=("load",), when={"has_ref": True}),
            Resident(what="model_copy", phases=("load",), until="2.0"),
        )
    ),
    behaviours=(
        Behaviour(does={"ref_bytes": 2, "kv_rule": "dense"}),
        Behaviour(does={"ref_bytes": 4}, when={"precision": "fp32"}),
        Behaviour(does={"weight_bytes": 2}, when={"precision": "bf16"}, since="2.0"),
    ),
)


def _does(**values: Any) -> dict[str, Any]:
    return dict(recorded(RECORD, values).does)


def _stays(**values: Any) -> list[str]:
    return [entry.what for entry in recorded(RECORD, values).residents]


def test_a_condition_on_an_unknown_fact_is_not_met() -> None:
    assert _does() == {"ref_bytes": 2, "kv_rule": "dense"}
    assert _stays(framework_version="2.1") == []


def test_a_number_is_no_yes_though_python_takes_it_for_one() -> None:
    assert _stays(has_ref=True, framework_version="2.1") == ["ref_weights"]
    assert _stays(has_ref=1, framework_version="2.1") == []
    assert _stays(has_ref=True, framework_version="2.1") == ["ref_weights"]


def test_of_several_entries_the_last_counts() -> None:
    assert _does(precision="fp32") == {"ref_bytes": 4, "kv_rule": "dense"}


def test_an_entry_counts_within_its_versions() -> None:
    assert _stays(framework_version="1.9") == ["model_copy"]
    assert "weight_bytes" in _does(precision="bf16", framework_version="2.0")
    assert "weight_bytes" not in _does(precision="bf16", framework_version="1.9")


def test_the_record_follows_the_precision_in_versions_that_do() -> None:
    assert recorded(RECORD, {"framework_version": "2.0"}).own_precision
    assert not recorded(RECORD, {"framework_version": "1.9"}).own_precision


def test_what_conditions_do_not_name_changes_nothing() -> None:
    assert recorded(RECORD, {"has_ref": True}) is recorded(RECORD, {"has_ref": True, "micro_batch": 4})
