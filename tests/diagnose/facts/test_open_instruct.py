"""Learners and engines that a list of cards parts, rows that whole samples fill, and the passes that one function serves."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis
from diagnose.units import GIB

RUN = """
python open_instruct/grpo_fast.py --beta 0.01 --num_samples_per_prompt_rollout 16 --num_unique_prompts_rollout 48 \\
    --per_device_train_batch_size 1 --max_prompt_token_length 2048 --response_length 8192 --pack_length {pack} \\
    --model_name_or_path meta-llama/Llama-3.1-8B-Instruct --deepspeed_stage {stage} --num_learners_per_node {learners} \\
    --vllm_num_engines 4 --vllm_tensor_parallel_size 2{more}
8 x A100 80GB
"""
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total capacity of 79.25 GiB.\n"
)
STEP = '  File "/w/open_instruct/grpo_fast.py", line 668, in step\n    {line}\n'
FORWARD = (
    '  File "/w/open_instruct/grpo_utils.py", line 560, in forward_for_logprobs\n    logits = logits / temperature\n'
)
UPDATE = "local_logprobs_BT, entropy_BT = grpo_utils.forward_for_logprobs("


def told(line: str = UPDATE, stage: int = 2, pack: int = 16384, learners: str = "4", more: str = "") -> Diagnosis:
    run = RUN.format(stage=stage, pack=pack, learners=learners, more=more)
    return diagnose(run + STEP.format(line=line) + FORWARD + OOM, {}, current(), ())


def changes(found: Diagnosis) -> dict[str, dict[str, str]]:
    return {
        given.lever.slug: {change.key: change.after for change in given.changes if change.key}
        for given in found.prescriptions
    }


def sent(found: Diagnosis) -> float:
    phase = found.estimate.gpu.phase("weight_sync")
    return sum(term.bytes for term in phase.terms if term.id == "sync_transient") / GIB


@pytest.mark.parametrize(
    ("learners", "more", "cards", "trains"),
    [
        ("4", "", 12, 4),
        ("8 4", "", 20, 12),
        ("1", " --single_gpu_mode", 1, 1),
        ("1", " --single_gpu_mode False", 9, 1),
    ],
)
def test_learners_are_listed_by_node_and_engines_have_cards_of_their_own(
    learners: str, more: str, cards: int, trains: int
) -> None:
    values = told(learners=learners, more=more).facts.values
    assert (values["n_gpus"], values["trainer_gpus"]) == (cards, trains)


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        (UPDATE, "actor_update"),
        ("ref_logprobs_BT = grpo_utils.compute_logprobs(", "ref_logprob"),
        ("local_old_logprobs_BT = grpo_utils.compute_logprobs(", "logprob"),
        ("batch_data = next(self.dataloader)", None),
    ],
)
def test_the_line_of_a_step_tells_whose_log_probs_they_are(line: str, phase: str | None) -> None:
    assert told(line).phase == phase


def test_a_row_that_samples_fill_is_what_a_pass_holds() -> None:
    update = told().estimate.gpu.phase("actor_update")
    logits = next(term for term in update.terms if term.id == "logits")
    assert logits.bytes == pytest.approx(4 * 16384 * 128256)


def test_a_row_is_never_advised_below_one_sample() -> None:
    assert changes(told())["length.packed.down"] == {"pack_length": "10240"}
    assert "length.packed.down" not in changes(told(pack=10240))


def test_the_row_shrinks_with_the_longest_response() -> None:
    found = changes(told(pack=10240, more=" --deepspeed_zpg 1"))["length.response.down"]
    assert int(found["pack_length"]) - int(found["response_length"]) == 2048


def test_without_the_reference_its_term_is_turned_off_too() -> None:
    assert changes(told())["algo.drop_ref"] == {"load_ref_policy": "false", "beta": "0.0"}


def test_no_reference_is_dropped_by_a_word_that_stands_there() -> None:
    run = RUN.format(stage=2, pack=16384, learners="4", more="").replace("--beta 0.01", "--beta 0")
    found = diagnose(run + STEP.format(line=UPDATE) + FORWARD + OOM, {}, current(), ())
    assert found.facts.values["has_ref"] is True
    assert changes(found)["algo.drop_ref"] == {"load_ref_policy": "false"}


@pytest.mark.parametrize(("stage", "copies"), [(2, 1), (3, 2)])
def test_whoever_sends_the_weights_copies_them_all(stage: int, copies: int) -> None:
    assert sent(told(stage=stage)) == pytest.approx(2 * copies * 8.03e9 / GIB, rel=0.01)
    assert sent(told(stage=stage, more=" --gather_whole_model False")) < 3


def test_before_the_copies_nothing_but_what_was_sharded_was_gathered() -> None:
    assert sent(told(stage=3, more="\nopen-instruct==0.2.0")) == pytest.approx(2 * 8.03e9 / GIB, rel=0.01)
    assert sent(told(stage=2, more="\nopen-instruct==0.2.0")) == 0


@pytest.mark.parametrize(
    ("learners", "more", "group"), [("8 8", "", 8), ("4", "", 4), ("8 8", " --deepspeed_zpg 16", 16)]
)
def test_a_second_shard_is_split_over_its_group_alone(learners: str, more: str, group: int) -> None:
    update = told(stage=3, learners=learners, more=more).estimate.gpu.phase("actor_update")
    second = next(term for term in update.terms if term.id == "second_shard")
    assert second.bytes == pytest.approx(2 * 8.03e9 / group, rel=0.01)


@pytest.mark.parametrize(("stage", "more"), [(2, ""), (3, " --deepspeed_zpg 1")])
def test_there_is_no_second_shard_below_stage_3_nor_without_a_group(stage: int, more: str) -> None:
    found = told(stage=stage, learners="8 8", more=more)
    assert all(term.id != "second_shard" for term in found.estimate.gpu.phase("actor_update").terms)


def test_an_optimizer_on_the_host_is_not_advised_where_deepspeed_refuses_it() -> None:
    assert not {"offload.optimizer.on"} & set(changes(told("self.model.step()")))


def test_a_program_for_pairs_has_no_samples() -> None:
    text = """
accelerate launch --mixed_precision bf16 --num_processes 8 open_instruct/finetune.py --model_name_or_path meta-llama/Llama-3.1-8B \\
    --max_seq_length 4096 --per_device_train_batch_size 4 --gradient_accumulation_steps 2
"""
    found = diagnose(text + "8 x A100 80GB\n" + OOM, {"phase": "actor_update"}, current(), ())
    values = found.facts.values
    assert {id: values.get(id) for id in ("algo", "strategy", "response_length", "rollout_mode")} == {
        "algo": "sft",
        "strategy": "ddp",
        "response_length": None,
        "rollout_mode": None,
    }
    assert changes(found).get("shard.zero_stage.up", {}) == {}


def test_a_part_of_a_command_leaves_open_what_every_script_sets() -> None:
    values = diagnose("open-instruct grpo_fast of Qwen2.5-7B on 8 x H100 80GB\n" + OOM, {}, current(), ()).facts.values
    assert values["framework"] == "open-instruct"
    assert not {"zero_stage", "prompt_length", "response_length", "max_length", "micro_batch"} & set(values)


@pytest.mark.parametrize("home", ["configs/ds_configs/", "mine/"])
def test_supervised_training_goes_to_the_host_by_another_file(home: str) -> None:
    run = (
        "accelerate launch --num_machines 1 --num_processes 8 --use_deepspeed "
        f"--deepspeed_config_file {home}stage3_no_offloading_accelerate.conf open_instruct/finetune.py "
        "--model_name_or_path Qwen/Qwen3-14B --max_seq_length 4096 --per_device_train_batch_size 1 --gradient_checkpointing\n"
        "8 x A100 40GB, CUDA out of memory in the optimizer step\n"
    )
    made = changes(diagnose(run, {}, current(), ()))["offload.optimizer.on"]
    assert made == {"deepspeed_config_file": f"{home}stage3_offloading_accelerate.conf"}
