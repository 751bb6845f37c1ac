"""Several changes at once, where none is enough alone: the person who makes them all has a run that fits."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import pytest

from diagnose.knowledge import Knowledge
from diagnose.pipeline import diagnose
from diagnose.prescribe.together import MOST
from diagnose.report import to_json, to_markdown, to_text
from diagnose.types import Change, Diagnosis

FAILED = """
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
8 x {card}

"""
PPO = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae actor_rollout_ref.model.path=Qwen/Qwen2.5-14B-Instruct "
    "critic.model.path=Qwen/Qwen2.5-14B-Instruct data.max_prompt_length=1024 data.max_response_length=16384 "
    "data.train_batch_size=256 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 critic.ppo_micro_batch_size_per_gpu=8 "
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.7 actor_rollout_ref.rollout.tensor_model_parallel_size=2 "
    "trainer.n_gpus_per_node=8 trainer.nnodes=1"
)
OPENRLHF = (
    "deepspeed --module openrlhf.cli.train_ppo_ray --pretrain meta-llama/Llama-3.1-8B-Instruct "
    "--reward_pretrain meta-llama/Llama-3.1-8B-Instruct --colocate_all_models --vllm_num_engines 8 "
    "--vllm_gpu_memory_utilization 0.5 --zero_stage 2 --micro_train_batch_size 8 --prompt_max_len 2048 --generate_max_len 8192 "
    "--actor_num_gpus_per_node 8 --ref_num_gpus_per_node 8 --critic_num_gpus_per_node 8 --reward_num_gpus_per_node 8"
)
RUNS = {
    "verl, PPO": FAILED.format(card="H100 80GB") + PPO,
    "OpenRLHF": FAILED.format(card="A100 80GB") + OPENRLHF,
}


def _changed(text: str, changes: Iterable[Change]) -> str:
    """The paste as the person leaves it: each key with its new value in its place, a new key at the end."""
    for change in changes:
        assert change.key, change
        for joint in ("=", " "):
            old, new = f"{change.key}{joint}{change.before}", f"{change.key}{joint}{change.after}"
            if change.before is not None and old in text:
                text = text.replace(old, new, 1)
                break
        else:
            flag = "" if "main_ppo" in text else "--"
            text += f" {flag}{change.key}{'=' if not flag else ' '}{change.after}"
    return text


@pytest.fixture(params=RUNS)
def run(request: pytest.FixtureRequest) -> str:
    return RUNS[request.param]


def _gpu_word(found: Diagnosis) -> str:
    assert found.estimate.gpu is not None
    return found.estimate.gpu.verdict()


def test_who_makes_all_the_changes_has_a_run_that_fits(run: str, knowledge: Knowledge) -> None:
    found = diagnose(run, {}, knowledge, ())
    together = found.together
    assert _gpu_word(found) == "out"
    assert together is not None
    assert together.after_verdict == "fits"
    changed = diagnose(_changed(run, together.changes), {}, knowledge, ())
    assert changed.estimate.gpu is not None
    assert changed.estimate.gpu.verdict() == "fits"
    assert changed.estimate.gpu.peak.bytes == pytest.approx(together.after.bytes, rel=1e-6)


def test_it_takes_every_one_of_them(run: str, knowledge: Knowledge) -> None:
    together = diagnose(run, {}, knowledge, ()).together
    assert together is not None
    assert 1 < len(together.levers) <= MOST
    for fewer in combinations(together.levers, len(together.levers) - 1):
        moved = {change.fact for lever in fewer for change in lever.changes}
        changes = [change for change in together.changes if change.fact in moved]
        if len(changes) < len(together.changes):
            assert _gpu_word(diagnose(_changed(run, changes), {}, knowledge, ())) != "fits"


def test_it_is_said_on_paper_and_to_programs_as_well(run: str, knowledge: Knowledge) -> None:
    found = diagnose(run, {}, knowledge, ())
    assert found.together is not None
    said, given = to_markdown(found), to_json(found)["together"]
    assert "These together fit" in said
    assert all(f"`{change.key}`" in said for change in found.together.changes)
    assert given["fits_after"] is True
    assert [change["key"] for change in given["changes"]] == [change.key for change in found.together.changes]


def test_what_was_tried_in_vain_is_in_no_set(knowledge: Knowledge) -> None:
    text = RUNS["verl, PPO"] + "\n\nI tried a smaller ppo_micro_batch_size_per_gpu, it did not help.\n"
    found = diagnose(text, {}, knowledge, ())
    assert "batch.micro.down" in {tried.lever for tried in found.facts.tried}
    assert found.together is None or "batch.micro.down" not in {lever.slug for lever in found.together.levers}


def test_there_is_none_where_one_change_is_enough(knowledge: Knowledge) -> None:
    short = (
        PPO.replace("14B", "7B").replace("16384", "3072").replace("memory_utilization=0.7", "memory_utilization=0.4")
    )
    found = diagnose(FAILED.format(card="H100 80GB") + short.replace("_gpu=4", "_gpu=64"), {}, knowledge, ())
    assert _gpu_word(found) != "fits"
    assert "fits" in {prescription.after_verdict for prescription in found.prescriptions}
    assert found.together is None


@pytest.mark.parametrize(
    "text",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        RUNS["OpenRLHF"].replace("8 x A100 80GB", ""),
    ],
    ids=["nothing known", "no card"],
)
def test_there_is_none_where_figures_do_not_speak(text: str, knowledge: Knowledge) -> None:
    assert diagnose(text, {}, knowledge, ()).together is None


def test_it_is_not_said_that_no_set_is_enough(knowledge: Knowledge) -> None:
    """A run of which the estimate shows far too much may not be the one that was estimated."""
    text = FAILED.format(card="RTX 4090") + PPO.replace("14B", "72B")
    assert diagnose(text, {}, knowledge, ()).together is None


def test_adapters_are_part_of_the_set_where_settings_are_not_enough_and_what_comes_close_leads(
    knowledge: Knowledge,
) -> None:
    found = diagnose(
        "trl==1.9.0 GRPOTrainer Qwen2.5-3B, one 24GB 4090, CUDA out of memory in backward", {}, knowledge, ()
    )
    assert found.together is not None
    assert found.together.after_verdict == "fits"
    assert {lever.slug for lever in found.together.levers} == {"peft.lora", "batch.micro.down"}
    assert found.prescriptions[0].lever.slug == "peft.lora"
    assert "Train a LoRA adapter: may change results. Less capacity than full training" in to_text(found)


def test_an_engine_over_more_cards_may_be_given_less(knowledge: Knowledge) -> None:
    """Alone it fills its share of the card all the same; a smaller share alone would not hold its weights."""
    text = (
        "Can I train Qwen3-14B with GRPO full parameter on 8xA100 40GB using OpenRLHF? "
        "prompt 1024, response 4096, n=8, zero3, adam offload, vllm colocated"
    )
    found = diagnose(text, {}, knowledge, ())
    assert found.together is not None
    assert found.together.after_verdict == "fits"
    after = {change.fact: change.after for change in found.together.changes}
    assert after["rollout_tp"] == "2"
    assert float(after["gpu_memory_utilization"]) < 0.75
    rollout = diagnose(text, found.together.settings, knowledge, ()).estimate.gpu.phase("rollout")
    assert next(term.bytes for term in rollout.terms if term.id == "kv_pool") > 1 << 30


PAIRS = """
### model
model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
stage: dpo
finetuning_type: full
deepspeed: examples/deepspeed/ds_z2_config.json
cutoff_len: 4096
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
bf16: true
4 x A100 80GB, LLaMA-Factory 0.9.2
  File "/LLaMA-Factory/src/llamafactory/train/dpo/trainer.py", line 190, in concatenated_forward
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB. GPU 1 has a total capacity of 79.14 GiB of which 3.02 GiB is free.
"""


def test_where_only_what_changes_results_is_enough_alone_a_set_that_leaves_them_is_shown(knowledge: Knowledge) -> None:
    found = diagnose(PAIRS, {}, knowledge, ())
    enough = [one.lever for one in found.prescriptions if one.after_verdict == "fits"]
    assert enough
    assert all(lever.results != "same" for lever in enough if lever.changes and not lever.keyless)
    assert found.together is not None
    assert all(lever.results == "same" for lever in found.together.levers)
    assert "No change that leaves the results as they are is enough alone" in to_text(found)


def test_a_change_that_fills_the_card_to_the_brim_is_not_taken_for_one_that_comes_close(knowledge: Knowledge) -> None:
    """What torch keeps for itself takes all that the share leaves: a smaller micro batch beside it leaves the optimizer's step the most."""
    text = (
        'trl 0.18.1, one A100-80GB, Qwen2.5-3B full finetune\n  File "trl/trainer/grpo_trainer.py", line 1248, in compute_loss\n'
        "    loss.backward(**kwargs)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.48 GiB. GPU 0 has a total"
        " capacity of 79.14 GiB of which 2.71 GiB is free.\n"
        "args = GRPOConfig(use_vllm=True, vllm_mode='colocate', vllm_gpu_memory_utilization=0.6, per_device_train_batch_size=8,"
        " gradient_accumulation_steps=2, num_generations=8, max_prompt_length=256, max_completion_length=1024, bf16=True,"
        " gradient_checkpointing=True, beta=0.0)\n"
    )
    found = diagnose(text, {}, knowledge, ())
    share = next(one for one in found.prescriptions if one.lever.slug == "rollout.gpu_memory_utilization.down")
    assert share.after
    assert share.after.bytes == found.estimate.gpu.limit  # type: ignore[union-attr]
    assert found.together
    assert [lever.slug for lever in found.together.levers] == [
        "rollout.gpu_memory_utilization.down",
        "batch.micro.down",
    ]
    assert found.together.after.bytes < share.after.bytes
