"""Moves to a named version: when they are told, when they are only something to check, and where they stand."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace

import pytest

from diagnose.knowledge import Knowledge
from diagnose.knowledge.advisory import Advisory, Flag, Point
from diagnose.knowledge.frameworks import VersionMark
from diagnose.knowledge.records import Case, Fix
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis
from diagnose.vocabulary import Value
from tests.diagnose.prescribe.conftest import make_case

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.10 GiB."
RUN = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm"
LINK = "https://github.com/vllm-project/vllm/pull/1"


def advisory(**fields: object) -> Advisory:
    given: dict[str, object] = {
        "slug": "a-fault",
        "body": "It holds too much.",
        "title": "The engine holds too much",
        "reviewed": datetime.date(2026, 11, 22),
        "sources": (LINK,),
        "package": "vllm",
        "lever": "upgrade.vllm",
        "when": {"oom_kind": ["gpu_oom"]},
        "introduced": Point(version="0.7.0"),
        "fixed": Point(version="0.8.3"),
    }
    return Advisory(**{**given, **fields})  # type: ignore[arg-type]


@pytest.fixture
def told(knowledge: Knowledge) -> Callable[..., Diagnosis]:
    """The diagnosis of a paste with these advisories and no others."""

    def run(text: str, *advisories: Advisory, cases: tuple[Case, ...] = (), **answers: Value) -> Diagnosis:
        own = replace(knowledge, advisories={one.slug: one for one in advisories})
        return diagnose(f"{OOM}\n{RUN}\n{text}", answers, own, cases)

    return run


def moves(diagnosis: Diagnosis) -> list[str]:
    """What is prescribed by an advisory, as lever, package and versions."""
    return [
        f"{one.lever.slug} {one.changes[0].key} {one.changes[0].before} {one.changes[0].after}"
        for one in diagnosis.prescriptions
        if one.advisories
    ]


@pytest.mark.parametrize("version", ["0.8.3", "0.8.4", "0.10.0", "0.6.6"])
def test_it_says_nothing_to_a_version_outside_the_range(told: Callable[..., Diagnosis], version: str) -> None:
    diagnosis = told(f"vllm=={version}", advisory())
    assert (moves(diagnosis), diagnosis.checks) == ([], ())


def test_a_build_between_two_versions_is_only_something_to_check(told: Callable[..., Diagnosis]) -> None:
    diagnosis = told("vllm==0.8.3.dev12", advisory())
    assert (moves(diagnosis), len(diagnosis.checks)) == ([], 1)


def test_an_unknown_version_is_something_to_check_and_no_fact(told: Callable[..., Diagnosis]) -> None:
    diagnosis = told("", advisory())
    assert moves(diagnosis) == []
    assert [check.advisory.slug for check in diagnosis.checks] == ["a-fault"]
    assert "engine_version" in [asked.question.fact for asked in diagnosis.questions]


def of_trainer(introduced: str, fixed: str) -> Advisory:
    """A fault of the trainer itself, whose version keys of the paste bound."""
    return advisory(
        package="verl", lever="upgrade.framework", introduced=Point(version=introduced), fixed=Point(version=fixed)
    )


@pytest.fixture
def bounded(knowledge: Knowledge) -> Callable[[Advisory], Diagnosis]:
    """The diagnosis where the text leaves the trainer's releases from 0.4.0 on and before 0.6.0."""
    mark = (
        VersionMark(literal="first_of_0_4", since="0.4.0"),
        VersionMark(literal="last_of_0_5", until="0.6.0"),
    )
    trainer = replace(knowledge.frameworks["verl"], marks=mark, keys=(), code=())

    def run(one: Advisory) -> Diagnosis:
        own = replace(knowledge, advisories={one.slug: one}, frameworks={**knowledge.frameworks, "verl": trainer})
        return diagnose(f"{OOM}\n{RUN}\nfirst_of_0_4\nlast_of_0_5", {}, own, ())

    return run


@pytest.mark.parametrize(
    ("introduced", "fixed", "gives"),
    [
        ("", "0.6.0", "told"),
        ("0.4.0", "0.7.0", "told"),
        ("", "0.4.1", "check"),
        ("0.4.1", "0.7.0", "check"),
        ("", "0.4.0", "silent"),
        ("0.6.0", "0.7.0", "silent"),
    ],
)
def test_a_bounded_version_counts_for_all_that_it_may_be(
    bounded: Callable[[Advisory], Diagnosis], introduced: str, fixed: str, gives: str
) -> None:
    diagnosis = bounded(of_trainer(introduced, fixed))
    told = any(one.advisories for one in diagnosis.prescriptions)
    assert ("told" if told else "check" if diagnosis.checks else "silent") == gives


def test_a_bounded_version_is_told_by_its_bounds_and_names_no_release(
    bounded: Callable[[Advisory], Diagnosis],
) -> None:
    given = next(one for one in bounded(of_trainer("", "0.6.0")).prescriptions if one.advisories)
    assert given.changes[0].before is None
    assert "verl, since 0.4.0, by “first_of_0_4”, and before 0.6.0" in given.why


def test_a_log_of_before_the_release_has_an_older_package(told: Callable[..., Diagnosis]) -> None:
    mended = advisory(
        package="accelerate", lever="upgrade.dependency", introduced=Point(),
        fixed=Point(version="1.4.0", date=datetime.date(2025, 2, 17)),
    )  # fmt: skip
    given = next(one for one in told("2025-02-16 10:00:00 step 1", mended).prescriptions if one.advisories)
    assert given.changes[0].before is None
    assert "accelerate, by the log’s day, 2025-02-16" in given.why
    later = told("2025-02-18 10:00:00 step 1", mended)
    assert (moves(later), len(later.checks)) == ([], 1)


def test_the_day_says_nothing_of_a_trainer_that_is_run_from_its_repository(told: Callable[..., Diagnosis]) -> None:
    mended = advisory(
        package="verl", lever="upgrade.framework", introduced=Point(),
        fixed=Point(version="0.9.0", date=datetime.date(2026, 8, 14)),
    )  # fmt: skip
    diagnosis = told("2026-08-01 10:00:00 step 1", mended)
    assert (moves(diagnosis), len(diagnosis.checks)) == ([], 1)


def test_a_log_of_before_the_fault_does_not_have_it(told: Callable[..., Diagnosis]) -> None:
    young = advisory(
        package="transformers", lever="upgrade.dependency",
        introduced=Point(version="5.0.0", date=datetime.date(2026, 1, 26)), fixed=Point(version="5.4.0"),
    )  # fmt: skip
    diagnosis = told("2025-06-01 10:00:00 step 1", young)
    assert (moves(diagnosis), diagnosis.checks) == ([], ())


def test_what_was_mended_a_year_before_the_run_is_not_looked_up(told: Callable[..., Diagnosis]) -> None:
    old = advisory(fixed=Point(version="0.8.3", date=datetime.date(2024, 10, 24)))
    assert told("2025-11-01 10:00:00 step 1", old).checks == ()
    assert told("2025-09-01 10:00:00 step 1", old).checks != ()


def test_what_was_mended_before_the_trainer_came_out_is_not_looked_up(told: Callable[..., Diagnosis]) -> None:
    old = advisory(fixed=Point(version="0.8.3", date=datetime.date(2024, 10, 24)))
    assert told("verl==0.5.0", old).checks == ()


def test_what_was_mended_last_is_looked_up_first(told: Callable[..., Diagnosis]) -> None:
    older = advisory(slug="a-fault", fixed=Point(version="0.8.3", date=datetime.date(2025, 4, 6)))
    newer = advisory(slug="b-fault", fixed=Point(version="0.9.1", date=datetime.date(2025, 6, 10)))
    assert [check.advisory.slug for check in told("", older, newer).checks] == ["b-fault", "a-fault"]


def test_it_holds_for_the_families_that_it_names_alone(told: Callable[..., Diagnosis]) -> None:
    of_family = advisory(families=("qwen2.5-vl",))
    run = "vllm==0.8.2 actor_rollout_ref.model.path="
    assert moves(told(f"{run}Qwen/Qwen2.5-VL-7B-Instruct", of_family)) != []
    assert moves(told(f"{run}Qwen/Qwen2.5-7B-Instruct", of_family)) == []
    assert moves(told("vllm==0.8.2", of_family)) == []


def test_the_setting_that_does_as_much_takes_it_away(told: Callable[..., Diagnosis]) -> None:
    flagged = advisory(flag=Flag(key="SOME_FLAG", value="0"))
    assert moves(told("vllm==0.8.2\nexport SOME_FLAG=0", flagged)) == []
    assert moves(told("vllm==0.8.2\nexport SOME_FLAG=1", flagged)) != []


def test_a_symptom_that_did_not_match_takes_it_away(told: Callable[..., Diagnosis]) -> None:
    assert moves(told("vllm==0.8.2", advisory(signatures=("cumem-oom",)))) == []
    assert moves(told("vllm==0.8.2", advisory(signatures=("torch-cuda-oom-short",)))) != []


def test_a_condition_that_nobody_knows_takes_it_away(told: Callable[..., Diagnosis]) -> None:
    open_still = advisory(when={"oom_kind": ["gpu_oom"], "max_turns": 3})
    diagnosis = told("vllm==0.8.2", open_still)
    assert (moves(diagnosis), diagnosis.checks) == ([], ())


def test_a_lever_that_only_advisories_name_is_not_said_without(told: Callable[..., Diagnosis]) -> None:
    diagnosis = told("")
    assert "upgrade.dependency" not in [one.lever.slug for one in diagnosis.prescriptions]


def test_what_was_tried_in_vain_is_refused_with_the_version_named(told: Callable[..., Diagnosis]) -> None:
    diagnosis = told("vllm==0.8.2\nI tried upgrading vllm, it did not help.", advisory())
    assert moves(diagnosis) == []
    refused = next(one for one in diagnosis.not_advised if one.lever.slug == "upgrade.vllm")
    assert "0.8.3" in refused.why


def test_it_names_package_versions_and_line(told: Callable[..., Diagnosis]) -> None:
    diagnosis = told("vllm==0.8.2", advisory())
    assert moves(diagnosis) == ["upgrade.vllm vllm 0.8.2 0.8.3"]
    given = next(one for one in diagnosis.prescriptions if one.advisories)
    assert given.title == "Move to vllm 0.8.3 or newer"
    assert "line 3" in given.why
    assert (given.before, given.patch) == (None, ())


def test_two_faults_of_one_package_are_one_move_to_the_newer_version(told: Callable[..., Diagnosis]) -> None:
    other = advisory(slug="b-fault", fixed=Point(version="0.9.1"), order=20)
    diagnosis = told("vllm==0.8.2", other, advisory())
    assert moves(diagnosis) == ["upgrade.vllm vllm 0.8.2 0.9.1"]
    given = next(one for one in diagnosis.prescriptions if one.advisories)
    assert [one.slug for one in given.advisories] == ["a-fault", "b-fault"]


def test_without_a_mended_version_the_way_is_back(told: Callable[..., Diagnosis]) -> None:
    back = advisory(lever="downgrade.vllm", fixed=None, last_good=Point(version="0.6.6"))
    assert moves(told("vllm==0.10.0", back)) == ["downgrade.vllm vllm 0.10.0 0.6.6"]


def test_a_fault_that_broke_a_run_stands_first(told: Callable[..., Diagnosis]) -> None:
    back = advisory(lever="downgrade.vllm", fixed=None, last_good=Point(version="0.6.6"))
    diagnosis = told("vllm==0.10.0", back, worked_before=True)
    assert diagnosis.prescriptions[0].advisories == (back,)


def test_a_run_of_an_earlier_day_cannot_have_the_commit(told: Callable[..., Diagnosis]) -> None:
    day = Point(commit="07cae10", date=datetime.date(2026, 7, 15))
    main = advisory(introduced=Point(), fixed=day)
    assert moves(told("2026-07-14 10:00:00 step 1", main, engine_version="0.12.0")) == [
        "upgrade.vllm vllm 0.12.0 commit 07cae10 of 2026-07-15"
    ]
    later = told("2026-07-16 10:00:00 step 1", main, engine_version="0.12.0")
    assert (moves(later), len(later.checks)) == ([], 1)


def test_an_excluded_address_takes_the_advisory_away(knowledge: Knowledge) -> None:
    own = replace(knowledge, advisories={"a-fault": advisory()})
    text = f"{OOM}\n{RUN}\nvllm==0.8.2"
    assert moves(diagnose(text, {}, own, ()))
    assert moves(diagnose(text, {}, own, (), exclude=[LINK])) == []
    assert diagnose(f"{OOM}\n{RUN}", {}, own, (), exclude=[LINK]).checks == ()


def test_its_evidence_is_that_of_fixes_which_name_it(told: Callable[..., Diagnosis]) -> None:
    named = make_case("named", {"oom_kind": "gpu_oom"})
    fix = Fix(lever="upgrade.vllm", detail="", by="reporter", worked=True, advisory="a-fault")
    cases = (replace(named, fixes=(fix,)), make_case("other", {"oom_kind": "gpu_oom"}, ("upgrade.vllm", True)))
    diagnosis = told("vllm==0.8.2", advisory(), cases=cases)
    given = next(one for one in diagnosis.prescriptions if one.advisories)
    assert given.evidence.worked == ("named",)


def test_facts_that_move_with_the_version_are_tried_on_the_estimate(told: Callable[..., Diagnosis]) -> None:
    text = "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct trainer.n_gpus_per_node=8 trainer.nnodes=1\n8 x A100 80GB\nvllm==0.8.2"
    moved = advisory(moves={"response_length": 64})
    diagnosis = told(text, moved, phase="actor_update", response_length=8192, micro_batch=8, prompt_length=512)
    given = next(one for one in diagnosis.prescriptions if one.advisories)
    assert given.before is not None
    assert given.after is not None
    assert given.after.bytes < given.before.bytes


def test_a_move_whose_phase_is_open_stands_where_its_lever_would(told: Callable[..., Diagnosis]) -> None:
    of_phase = advisory(
        package="verl", lever="upgrade.framework", when={"oom_kind": ["memory_growth"], "phase": ["actor_update", "logprob"]}
    )  # fmt: skip
    growing = {"oom_kind": "memory_growth", "framework_version": "0.7.1"}
    without = [one.lever.slug for one in told("").prescriptions]
    plain = [one.lever.slug for one in told("", **growing).prescriptions]
    given = told("", of_phase, **growing).prescriptions
    assert "upgrade.framework" in plain
    assert "upgrade.framework" not in without
    assert [one.lever.slug for one in given] == plain
    move = given[plain.index("upgrade.framework")]
    assert move.title == "Move to verl 0.8.3 or newer"
    assert "is affected if it dies in the actor update or old log-prob" in move.why
