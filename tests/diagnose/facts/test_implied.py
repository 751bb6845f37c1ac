"""What a run has though no key says so."""

from __future__ import annotations

import pytest

from diagnose.knowledge import Knowledge
from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("verl GRPO Qwen2.5-7B, 8 x A100 80GB, OOM in the ref log prob", "has_ref"),
        ("verl Qwen2.5-7B, 8 x A100 80GB, OOM in the critic update", "has_critic"),
    ],
)
def test_a_run_that_fails_in_a_models_phase_has_that_model_whatever_the_default(
    text: str, model: str, knowledge: Knowledge
) -> None:
    assert diagnose(text, {}, knowledge, ()).facts.values[model] is True


def test_a_setting_that_says_otherwise_outranks_the_phase(knowledge: Knowledge) -> None:
    text = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo\nOOM in the critic update"
    assert diagnose(text, {}, knowledge, ()).facts.values["has_critic"] is False


def test_fine_tuning_is_no_word_that_all_goes_well(knowledge: Knowledge) -> None:
    found = diagnose("Will Qwen3-8B GRPO full fine-tuning fit on 4x A100 40GB with verl?", {}, knowledge, ())
    assert found.facts.values["framework"] == "verl"


def test_a_budget_of_tokens_in_a_part_of_the_settings_packs_the_passes(knowledge: Knowledge) -> None:
    text = "verl Qwen3-8B, 8 x H20 96GB, CUDA OOM in update_actor: ppo_max_token_len_per_gpu=49152 (use_dynamic_bsz), sp_size=1"
    found = diagnose(text, {}, knowledge, ())
    assert (found.facts.values["dynamic_batch"], found.facts.values["micro_tokens"]) == (True, 49152)
    assert "batch.micro.down" not in [one.lever.slug for one in found.prescriptions]


@pytest.mark.parametrize(
    "text",
    [
        "verl Qwen3-8B grpo: ppo_micro_batch_size_per_gpu=2, ppo_max_token_len_per_gpu=16384",
        "verl Qwen3-8B grpo: ppo_max_token_len_per_gpu=16384, use_dynamic_bsz=False",
    ],
)
def test_a_micro_batch_or_the_switch_beside_it_outranks_the_budget(text: str, knowledge: Knowledge) -> None:
    assert diagnose(text, {}, knowledge, ()).facts.values["dynamic_batch"] is False


def test_a_pass_of_the_critic_is_ppo_where_that_is_the_default(knowledge: Knowledge) -> None:
    found = diagnose("verl Qwen2.5-7B, 8 x A100 80GB, OOM in the critic update", {}, knowledge, ())
    assert (found.facts.values["algo"], found.facts.stated["algo"].origin) == ("ppo", "derived")


STEP = "(TaskRunner pid=3) step:2 - actor/kl_coef:0.001 - critic/score/mean:0.4 - critic/returns/min:0.0 - {}response_length/mean:812.1"
DIED = "\nverl/workers/fsdp_workers.py, in update_actor\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB."


def test_a_step_whose_figures_hold_no_values_has_a_reference_and_no_critic(knowledge: Knowledge) -> None:
    found = diagnose(f"Search-R1, Qwen2.5-7B, 8 x A100 80GB\n{STEP.format('')}{DIED}", {}, knowledge, ()).facts
    assert (found.values["algo"], found.stated["algo"].origin) == ("grpo", "assumed")
    assert (found.values["has_critic"], found.values["has_ref"]) == (False, True)


def test_a_step_whose_figures_hold_values_has_a_critic(knowledge: Knowledge) -> None:
    text = f"verl, Qwen2.5-7B, 8 x A100 80GB\n{STEP.format('critic/values/mean:0.1 - ')}{DIED}"
    assert diagnose(text, {}, knowledge, ()).facts.values["algo"] == "ppo"


def test_a_run_of_verl_of_which_little_is_shown_is_taken_to_sample_groups_and_asked(knowledge: Knowledge) -> None:
    found = diagnose("verl, Qwen2.5-7B, 8 x A100 80GB, CUDA OOM in update_actor", {}, knowledge, ())
    assert (found.facts.values["algo"], found.facts.algo_told) == ("grpo", False)
    assert "algo" in [one.question.fact for one in found.questions]
    assert diagnose("verl PPO, Qwen2.5-7B, 8 x A100 80GB, CUDA OOM", {}, knowledge, ()).facts.algo_told


SPREAD = """model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-72B-Instruct", device_map="auto", torch_dtype=torch.bfloat16)
model = get_peft_model(model, LoraConfig(r=16))
args = {trainer}(per_device_train_batch_size=1, gradient_checkpointing=True, max_length=1024)
{launch}
CUDA out of memory, 4 x A100 80GB
"""


@pytest.mark.parametrize("trainer", ["TrainingArguments", "SFTConfig"])
def test_one_process_lays_the_layers_over_all_cards(trainer: str, knowledge: Knowledge) -> None:
    peaks = []
    for launch in ("python train.py", "torchrun --nproc_per_node=4 train.py"):
        found = diagnose(SPREAD.format(trainer=trainer, launch=launch), {}, knowledge, ())
        assert found.estimate.gpu
        peaks.append(found.estimate.gpu.peak.bytes / 2**30)
    assert peaks[0] < 60 < 130 < peaks[1]  # 135 GiB of weights


def test_a_training_gets_no_advice_for_what_trains_nothing(knowledge: Knowledge) -> None:
    found = diagnose(SPREAD.format(trainer="TrainingArguments", launch="python train.py"), {}, knowledge, ())
    assert not [one.lever.slug for one in found.prescriptions if one.lever.when.get("trains") is False]


@pytest.mark.parametrize(("engine", "awake"), [("SGLang", True), ("vLLM", False)])
def test_an_awake_engine_holds_more_than_a_share_that_counts_its_weights_and_cache_alone(
    engine: str, awake: bool, knowledge: Knowledge
) -> None:
    text = (
        f"RLinf math GRPO with Megatron, {engine} rollout, Qwen2.5-7B, 8 x H100 80GB, rollout.gpu_memory_utilization is 0.5\n"
        '  File "/x/RLinf/rlinf/workers/actor/megatron_actor_worker.py", line 1401, in sync_model_to_rollout\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB. GPU 5 has a total capacity of 79.11 GiB of which "
        "500.00 MiB is free. Including non-PyTorch memory, this process has 32.60 GiB memory in use.\n"
    )
    found = diagnose(text, {}, knowledge, ())
    assert found.facts.engine_awake is awake
    if awake:
        assert found.prescriptions[0].lever.slug == "rollout.gpu_memory_utilization.down"


PART = """verl, 8xH100 80GB, Qwen3-14B, torch.OutOfMemoryError: CUDA out of memory in update_actor
actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4
actor_rollout_ref.rollout.tensor_model_parallel_size=2
"""


def test_of_a_part_of_the_settings_without_a_critics_no_critic_is_counted(knowledge: Knowledge) -> None:
    found = diagnose(PART, {}, knowledge, ()).facts
    assert (found.values["has_critic"], found.stated["algo"].origin) == (False, "assumed")


@pytest.mark.parametrize(
    "more",
    [
        "critic.ppo_micro_batch_size_per_gpu=4",
        "reward_model.enable=True",
        "reward_model.model.path=some/rm",
        "we train with PPO",
        "bash examples/ppo_trainer/run_x.sh",
        "the values pass of the critic is fine",
    ],
)
def test_a_word_of_a_critic_or_of_a_reward_model_keeps_the_default(more: str, knowledge: Knowledge) -> None:
    assert diagnose(PART + more, {}, knowledge, ()).facts.values["has_critic"] is True
