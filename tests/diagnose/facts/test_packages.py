"""Which version of each package the run has."""

from __future__ import annotations

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.types import Facts

VERL = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm"


def read_text(text: str, **answers: str) -> Facts:
    return read_facts(read(text), answers, current())


def versions(text: str, **answers: str) -> dict[str, str]:
    return {name: str(fact.value) for name, fact in read_text(text, **answers).versions.items()}


def test_two_versions_of_a_package_tell_none() -> None:
    assert "deepspeed" not in versions("deepspeed 0.15.0 works, deepspeed 0.16.0 does not")


def test_a_first_release_of_a_series_is_no_shorter_spelling_of_a_later_one() -> None:
    assert "torch" not in versions("torch==2.0\ntorch==2.6.0")


def test_a_version_with_a_gap_tells_none() -> None:
    assert "vllm" not in versions("vllm 0.7.x")


def test_a_trainer_that_installs_under_another_name_has_no_version_of_that() -> None:
    assert "verl" not in versions("Search-R1\npython3 -m verl.trainer.main_ppo retriever.topk=3 verl==0.1")


def test_a_spelling_that_is_only_shorter_is_the_same_version() -> None:
    assert versions("torch 2.6\ntorch==2.6.0+cu124")["torch"] == "2.6.0+cu124"


@pytest.mark.parametrize(
    ("text", "package", "version"),
    [
        ("pytorch 2.5.1", "torch", "2.5.1"),
        ("flash_attn==2.7.4.post1", "flash-attn", "2.7.4.post1"),
        ("[pip3] transformers==4.49.0", "transformers", "4.49.0"),
        ("[Rank 0] DeepSpeed info: version=0.16.4, git-hash=unknown", "deepspeed", "0.16.4"),
        ("docker pull some/image:app-vllm0.10.0-te2.2", "vllm", "0.10.0"),
    ],
)
def test_it_reads_a_version_from_where_programs_put_it(text: str, package: str, version: str) -> None:
    assert versions(text)[package] == version


def test_the_engine_and_torch_become_facts_with_their_line() -> None:
    facts = read_text(f"torch==2.6.0\nvllm==0.8.2\n{VERL}")
    assert (facts.values["torch_version"], facts.values["engine_version"]) == ("2.6.0", "0.8.2")
    span = facts.stated["engine_version"].span
    assert span is not None
    assert span.line == 2


def test_an_answer_outranks_the_text() -> None:
    facts = read_text(f"vllm==0.8.2\n{VERL}", engine_version="0.9.1")
    assert facts.values["engine_version"] == facts.versions["vllm"].value == "0.9.1"


def test_a_framework_stands_under_its_id() -> None:
    assert versions(f"verl==0.4.1\n{VERL}")["verl"] == "0.4.1"


def test_the_folder_of_a_frame_names_the_version_for_which_its_code_was_written():
    frame = '  File "/x/verl/third_party/vllm/vllm_v_0_6_3/llm.py", line 199, in sync_model_weights\n    self.llm_engine.x()'
    assert read_facts(read(f"verl\n{frame}"), {}, current()).values["engine_version"] == "0.6.3"
    assert (
        read_facts(read(f"verl, vllm==0.6.3.post1\n{frame}"), {}, current()).values["engine_version"] == "0.6.3.post1"
    )


@pytest.mark.parametrize(
    ("text", "algo"),
    [
        ("the script is examples/grpo_trainer/run_qwen2-7b.sh", "grpo"),
        ("I start examples/ppo_trainer/run_gemma.sh", "ppo"),
        ("see config/ppo_trainer.yaml and verl/trainer/ppo/ray_trainer.py", None),
    ],
)
def test_the_folder_of_a_script_names_the_algorithm(text, algo):
    found = read_facts(read(f"verl, {text}, OOM"), {}, current()).stated["algo"]
    assert (found.value if found.origin == "read" else None) == algo


def test_a_limit_of_the_prompt_is_written_for_versions_that_have_one():
    text = (
        "python3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path Qwen/Qwen2.5-7B --rollout.micro_batch_size 4"
    )
    assert "prompt_length" not in read_facts(read(text), {}, current()).keys
    old = "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen2.5-7B --micro_rollout_batch_size 4 --prompt_max_len 512"
    assert read_facts(read(old), {}, current()).keys["prompt_length"] == "prompt_max_len"


def test_pip_show_tells_a_version_in_the_line_below_the_name() -> None:
    shown = f"{VERL}\n$ pip show vllm\nName: vllm\nVersion: 0.8.5.post1\nSummary: An engine\n---\nName: torch\nVersion: 2.6.0+cu124\n"
    assert versions(shown)["vllm"] == "0.8.5.post1"
    assert versions(shown)["torch"] == "2.6.0+cu124"


def test_a_version_below_no_name_is_nobodys() -> None:
    assert "vllm" not in versions(f"{VERL}\nName: vllm\nSummary: An engine\nVersion: 0.8.5\n")


def test_the_environment_of_transformers_tells_torchs_version() -> None:
    assert versions(f"{VERL}\n- PyTorch version (GPU?): 2.6.0+cu124 (True)\n")["torch"] == "2.6.0+cu124"
