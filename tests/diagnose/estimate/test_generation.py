"""Generation without an engine: the trainer's own model, its cache, and prompts that nothing limits."""

from __future__ import annotations

import statistics

import pytest

from diagnose.estimate import assumed_lengths
from diagnose.estimate.rows import UNKNOWN_PROMPT
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis, Term

GRPO = """
trl=={version}
from trl import GRPOConfig
args = GRPOConfig(per_device_train_batch_size=4, gradient_accumulation_steps=8, num_generations=8, max_completion_length=1024{more})
"""
PPO = """
deepspeed --module openrlhf.cli.{launcher} --pretrain meta-llama/Meta-Llama-3-8B --reward_pretrain r/m-8b --zero_stage 2 \\
    --micro_train_batch_size 2 --micro_rollout_batch_size 4 --prompt_max_len 1024 --generate_max_len 1024 --flash_attn {more}
{error}
"""
OUT = "torch.OutOfMemoryError: CUDA out of memory."
ERROR = 'File "/x/openrlhf/trainer/ppo_utils/experience_maker.py", line 100, in generate_samples\n' + OUT


def run(text: str, **answers: object) -> Diagnosis:
    return diagnose(text, {"model": "Qwen2.5-7B", "gpu_mem_gib": 80, "n_gpus": 8, **answers}, current(), ())


def terms(found: Diagnosis, phase: str) -> dict[str, Term]:
    assert found.estimate.gpu is not None
    here = found.estimate.gpu.phase(phase)
    assert here is not None
    return {term.id: term for term in here.terms}


@pytest.mark.parametrize(("version", "rows"), [("0.16.0", 4), ("0.17.0", 32), ("1.0.0", 32)])
def test_completions_of_a_whole_update_are_generated_at_once_since_a_version(version: str, rows: int) -> None:
    """trl v0.17.0 trl/trainer/grpo_trainer.py:717: the loader hands over as many rows as an update accumulates."""
    more = ", max_prompt_length=1024" if version < "1" else ""
    cache = terms(run(GRPO.format(version=version, more=more)), "rollout")["kv_pool"]
    assert cache.how.startswith(f"{rows} rows × ")


def test_fewer_accumulated_passes_are_advised_where_generation_runs_out() -> None:
    error = '\n  File "/x/trl/trainer/grpo_trainer.py", line 1900, in _generate_and_score_completions\n' + OUT
    found = run(
        GRPO.format(version="1.0.0", more="") + error, gpu_mem_gib=24, model="Qwen2.5-1.5B", response_length=16384
    )
    assert found.phase == "rollout"
    fewer = next(one for one in found.prescriptions if one.lever.slug == "batch.accumulation.down")
    assert fewer.before is not None
    assert fewer.after is not None
    assert fewer.after.need < fewer.before.need


def test_a_prompt_that_nothing_limits_is_taken_as_most_are_and_told_as_assumed() -> None:
    found = run(GRPO.format(version="1.0.0", more=""))
    assert f"{1024 + UNKNOWN_PROMPT.mid:,} (" in terms(found, "actor_update")["checkpoints"].how
    lengths = {"real_prompt_length": UNKNOWN_PROMPT.mid, "real_response_length": 1024}
    assert {fact.id: fact.value for fact in assumed_lengths(found.facts)} == lengths


def test_a_prompt_of_which_something_is_known_is_not_guessed() -> None:
    told = run(GRPO.format(version="1.0.0", more=""), real_prompt_length=300)
    assert "× 1,324 (" in terms(told, "actor_update")["checkpoints"].how
    assert [fact.id for fact in assumed_lengths(told.facts)] == ["real_response_length"]
    limited = run(GRPO.format(version="0.25.1", more=", max_prompt_length=700"))
    assert "× 1,724 (" in terms(limited, "actor_update")["checkpoints"].how


def test_a_prompt_that_a_default_alone_limits_is_taken_as_most_are() -> None:
    by_default, told = (run(GRPO.format(version="0.19.0", more=more)) for more in ("", ", max_prompt_length=512"))
    assert by_default.facts.stated["prompt_length"].value == told.facts.stated["prompt_length"].value == 512
    assumed = {fact.id: fact for fact in assumed_lengths(by_default.facts)}["real_prompt_length"]
    assert UNKNOWN_PROMPT.mid < assumed.value < 512
    assert "since only a default limits it" in assumed.why
    need = [terms(one, "actor_update")["activations"] for one in (by_default, told)]
    assert need[0].bytes < need[1].bytes
    assert need[0].high == need[1].high


def test_rows_are_as_long_as_the_longest_that_are_generated_together() -> None:
    """trl v0.19.0 trl/trainer/grpo_trainer.py: _generate_and_score_completions pads to the longest, not to the limits."""
    short = run(GRPO.format(version="0.19.0", more=""), real_prompt_length=100, real_response_length=300)
    assert "× 400 tokens" in terms(short, "actor_update")["activations"].how


def test_the_launcher_without_ray_generates_with_the_actor_itself() -> None:
    """OpenRLHF v0.4.2 openrlhf/cli/train_ppo.py: one process a card holds all four models."""
    found = run(PPO.format(launcher="train_ppo", more="", error=ERROR), model="Meta-Llama-3-8B")
    assert found.phase == "rollout"
    rollout = terms(found, "rollout")
    assert rollout["kv_pool"].bytes == 4 * 2048 * 131_072
    assert {"actor_weights", "ref_weights", "reward_weights", "critic_weights"} <= set(rollout)
    assert rollout["cuda_context"].how.startswith("1 ×")
    assert "kv_pool" not in terms(found, "actor_update")


@pytest.mark.parametrize(("launcher", "more"), [("train_ppo", ""), ("train_ppo_ray", "--vllm_num_engines 0")])
def test_nothing_of_an_engine_is_advised_where_there_is_none(launcher: str, more: str) -> None:
    found = run(PPO.format(launcher=launcher, more=more, error=ERROR), model="Meta-Llama-3-8B")
    advised = {change.key for one in found.prescriptions for change in one.changes}
    assert not {key for key in advised if "vllm" in key}


@pytest.mark.parametrize(
    ("stage", "more", "gone"),
    [
        (2, "--ref_reward_offload", set()),  # below stage 3 both stand whole on the card whatever is asked for
        (3, "--ref_reward_offload", {"ref_weights", "reward_weights"}),
        (3, "--ref.offload", {"ref_weights"}),
        (3, "--reward.offload", {"reward_weights"}),
    ],
)
def test_reference_and_reward_model_wait_on_the_host_as_the_switches_say(stage: int, more: str, gone: set[str]) -> None:
    """OpenRLHF openrlhf/trainer/ray/launcher.py at v0.9.0 and v0.10.2."""
    text = PPO.format(launcher="train_ppo_ray", more=f"--colocate_all_models {more}", error="")
    found = run(text.replace("--zero_stage 2", f"--zero_stage {stage}"), model="Meta-Llama-3-8B", has_reward_model=True)
    both = {"ref_weights", "reward_weights"}
    assert both - set(terms(found, "actor_update")) == gone
    assert found.estimate.host is not None
    host = found.estimate.host.phase("actor_update")
    assert host is not None
    assert both & {term.id for term in host.terms} == gone


def test_a_prompt_that_nothing_limits_is_as_long_as_those_of_the_catalogues_sets() -> None:
    means = [one.prompt_tokens.mean for one in current().datasets.values() if one.prompt_tokens]
    low, *_, high = statistics.quantiles(means, n=10)
    assert (low, statistics.median(means), high) == pytest.approx(UNKNOWN_PROMPT, rel=0.1)


def test_a_loop_of_ones_own_samples_the_answers_to_a_question_at_once():
    loop = "自己写的 grpo（没用 vllm），7B lora r=32，4090 单卡，每个问题采样 8 条 max_new_tokens=1024，model.generate 爆显存"
    assert terms(diagnose(loop, {}, current(), ()), "rollout")["kv_pool"].how.startswith("8 rows")
