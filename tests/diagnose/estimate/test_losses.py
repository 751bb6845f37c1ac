"""Losses that take logits of their own: what a key sets in motion, from the paste to the bytes of the logits."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate import plan_of
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis

KNOWN = current()
VOCAB, TOKENS = 152_064, 8192
SFT = (
    "swift sft --model Qwen/Qwen2.5-7B-Instruct --torch_dtype bfloat16 --max_length 8192 --packing true"
    " --per_device_train_batch_size 1 --use_liger_kernel true"
)
GKD = (
    "swift rlhf --rlhf_type gkd --model Qwen/Qwen2.5-7B --teacher_model Qwen/Qwen2.5-14B-Instruct --torch_dtype bfloat16"
    " --tuner_type full --max_length 8192 --packing true --per_device_train_batch_size 1 --deepspeed zero3"
)
RERANKER = (
    "swift sft --model Qwen/Qwen3-Reranker-4B --task_type {task} --torch_dtype bfloat16 --max_length 1024"
    " --per_device_train_batch_size 1"
)


def _diagnose(text: str, **answers: Any) -> Diagnosis:
    return diagnose(text, {"n_gpus": 1, "full_or_lora": "lora", "gpu_mem_gib": 80, **answers}, KNOWN, ())


def _logits(text: str, **answers: Any) -> int:
    """Bytes of logits at the worst moment of the update; 0 where the loss makes none at once."""
    gpu = _diagnose(text, **answers).estimate.gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    return sum(term.bytes for term in update.terms if term.id == "logits")


def _whole_logits(text: str, **answers: Any) -> bool:
    plan = plan_of(_diagnose(text, **answers).facts, KNOWN.fallback)
    assert plan is not None
    return plan.makes_logits


@pytest.mark.parametrize(
    "keys",
    ["", "--loss_scale last_round", "--loss_scale ignore_empty_think", "--enable_dft_loss false", "--sequence_parallel_size 1"],
)  # fmt: skip
def test_a_fused_head_makes_no_logits(keys: str) -> None:
    assert _logits(f"{SFT} {keys}") == 0


@pytest.mark.parametrize(
    "keys",
    [
        "--loss_scale hermes",
        "--loss_scale last_round+react --enable_dft_loss false",
        "--enable_dft_loss true",
        "--enable_channel_loss true --sequence_parallel_size 1",
    ],
)
def test_a_loss_that_weighs_tokens_takes_logits_whatever_kernels_the_model_has(keys: str) -> None:
    """modelscope/ms-swift@3602360 swift/trainers/seq2seq_trainer.py: compute_loss"""
    assert _logits(f"{SFT} {keys}") == 12 * TOKENS * VOCAB


def test_a_split_sequence_takes_the_logits_of_its_part() -> None:
    assert _logits(f"{SFT} --sequence_parallel_size 2", n_gpus=2) == 12 * TOKENS * VOCAB // 2


def test_a_loss_over_pairs_asks_for_logits_and_one_over_samples_does_not() -> None:
    """modelscope/ms-swift@3602360 swift/rlhf_trainers/dpo_trainer.py: concatenated_forward; grpo_trainer.py: compute_liger_loss"""
    run = SFT.replace("swift sft", "swift rlhf --rlhf_type {}")
    assert _whole_logits(run.format("dpo"))
    assert _whole_logits(run.format("kto"))
    assert not _whole_logits(run.format("grpo"))
    assert not _whole_logits(run.format("gkd"), teacher_b=14)


def test_what_changes_nothing_is_not_advised() -> None:
    text = (
        f"{SFT.replace('--use_liger_kernel true', '')} --loss_scale hermes\ntorch.OutOfMemoryError: CUDA out of memory."
    )
    advised = [one.lever.slug for one in _diagnose(text, phase="actor_update").prescriptions]
    assert "logits.chunked" in [
        one.lever.slug for one in _diagnose(text.replace("--loss_scale hermes", ""), phase="actor_update").prescriptions
    ]
    assert "logits.chunked" not in advised


def test_a_supervised_loss_beside_distillation_keeps_its_log_softmax() -> None:
    """modelscope/ms-swift@3602360 swift/rlhf_trainers/gkd_trainer.py: compute_loss, labels in forward_inputs"""
    answers = {"n_gpus": 4, "full_or_lora": "full"}
    alone, beside = (_logits(f"{GKD} --sft_alpha {share}", **answers) for share in (0, 0.1))
    assert beside - alone == 4 * TOKENS * VOCAB


@pytest.mark.parametrize(
    ("version", "strategy", "each"),
    [("3.11.0", "--deepspeed zero2", 38), ("3.12.0", "--deepspeed zero2", 26), ("3.11.0", "", 76), ("4.6.0", "", 44)],
)
def test_a_distillation_holds_what_its_loss_has_worked_out_of_all_tokens(
    version: str, strategy: str, each: int
) -> None:
    """modelscope/ms-swift b3d0d794e (#7164), first in v3.12.0, goes in chunks; without DeepSpeed accelerate makes logits fp32"""
    text = GKD.replace("--deepspeed zero3", strategy).replace("--tuner_type full", "")
    assert _logits(text, n_gpus=4, framework_version=version) == each * TOKENS * VOCAB


@pytest.mark.parametrize(("strategy", "each"), [("--deepspeed zero2", 4), ("", 6)])
def test_a_generative_reranker_made_whole_logits_before_its_head_was_cut_down(strategy: str, each: int) -> None:
    """modelscope/ms-swift bcc45bf1b (#7816), first in v4.0.0; eight documents a query, each as long as the longest"""
    text = f"{RERANKER.format(task='generative_reranker')} {strategy}"
    row = {"real_response_length": 500, "longest_response_length": 500}
    assert _logits(text, framework_version="3.12.0", **row) == each * 8 * 500 * 151_936
    assert _logits(text, framework_version="4.0.0", **row) == 0
    assert _logits(f"{RERANKER.format(task='reranker')} {strategy}", framework_version="3.12.0", **row) == 0


def test_the_last_chunk_of_a_distillation_takes_more_until_it_has_gone_backward() -> None:
    """tests/data/trainers/swift-3.12.toml: of 491 and of 983 tokens, which are one chunk of 512 and two"""
    found = _diagnose(GKD.replace("--deepspeed zero3", ""), n_gpus=4, framework_version="3.12.0")
    assert found.estimate.gpu is not None
    update = next(one for one in found.estimate.gpu.phases if one.phase == "actor_update")
    assert next(term.bytes for term in update.terms if term.id == "logits_chunk") == 24 * 512 * VOCAB


@pytest.mark.parametrize(
    ("version", "sp", "strategy", "each", "chunk"),
    [
        ("3.5.0", 4, "--deepspeed zero2", 2, 6 * 1024),
        ("4.5.0", 4, "--deepspeed zero2", 2, 6 * 1024),
        ("4.5.0", 4, "", 6, 10 * 1024),
        ("3.4.0", 4, "--deepspeed zero2", 12, 0),
        ("4.5.0", 1, "--deepspeed zero2", 12, 0),
    ],
)
def test_a_loss_over_a_split_sequence_writes_its_gradients_where_the_logits_stood(
    version: str, sp: int, strategy: str, each: int, chunk: int
) -> None:
    """modelscope/ms-swift v3.5.0 swift/trainers/sequence_parallel/ulysses.py: ChunkedCrossEntropyLoss; v3.4.1 has none"""
    text = f"CELOSS_PARALLEL_SIZE=1024 swift sft --model Qwen/Qwen2.5-0.5B --per_device_train_batch_size 1 {strategy}"
    text += f" --max_length 32768 --packing true --attn_impl flash_attn --sequence_parallel_size {sp}"
    found = _diagnose(text, n_gpus=4, framework_version=version).estimate.gpu
    assert found is not None
    update = found.phase("actor_update")
    assert update is not None
    sizes = {term.id: term.bytes for term in update.terms}
    assert sizes["logits"] == each * 32_768 // sp * 151_936
    assert sizes.get("logits_chunk", 0) == chunk * 151_936


@pytest.mark.parametrize(("version", "share"), [("3.4.0", 1.0), ("3.12.0", 0.75)])
def test_prompts_have_no_logits_where_the_labels_alone_are_asked_for(version: str, share: float) -> None:
    """modelscope/ms-swift v3.5.0 swift/trainers/mixin.py: get_logits_to_keep; of one row the answers’ own tokens"""
    text = "swift sft --model Qwen/Qwen2.5-7B --per_device_train_batch_size 1 --max_length 2048"
    row = {"real_response_length": 2048, "real_prompt_length": 512}
    assert _logits(text, framework_version=version, **row) == share * 12 * 2048 * VOCAB


def test_a_known_length_counts_where_no_limit_is_set() -> None:
    text = "swift sft --model Qwen/Qwen2.5-7B --per_device_train_batch_size 1"
    assert _logits(text, framework_version="3.12.0", real_response_length=2048) == 12 * 2048 * VOCAB


def test_a_student_without_an_engine_generates_by_itself_and_gathers_its_weights() -> None:
    """modelscope/ms-swift@3602360 swift/rlhf_trainers/rollout_mixin.py: _generate_completions, unwrap_model_for_generation"""
    gpu = _diagnose(GKD.replace("--packing true ", ""), n_gpus=4, full_or_lora="full").estimate.gpu
    assert gpu is not None
    rollout = gpu.phase("rollout")
    assert rollout is not None
    terms = {term.id: term.bytes for term in rollout.terms}
    assert terms["gathered_weights"] == 2 * 7_615_616_512
    assert "kv_pool" in terms
    assert {"init", "weight_sync"}.isdisjoint(phase.phase for phase in gpu.phases)


@pytest.mark.parametrize("flags", [" --lmbda 0", " --lmbda 0.5 --use_vllm true --vllm_mode server"])
def test_a_student_that_never_answers_or_asks_a_server_gathers_nothing(flags: str) -> None:
    gpu = _diagnose(GKD + flags, n_gpus=4, full_or_lora="full").estimate.gpu
    assert gpu is not None
    assert "gathered_weights" not in {term.id for phase in gpu.phases for term in phase.terms}


@pytest.mark.parametrize(("model", "whole"), [("Qwen/Qwen2.5-7B-Instruct", False), ("Qwen/Qwen2.5-Omni-7B", True)])
def test_a_model_that_the_fused_kernels_do_not_know_keeps_its_logits(model: str, whole: bool) -> None:
    """linkedin/Liger-Kernel@ead96b61 monkey_patch.py: MODEL_TYPE_TO_APPLY_LIGER_FN"""
    assert _whole_logits(SFT.replace("Qwen/Qwen2.5-7B-Instruct", model)) is whole


@pytest.mark.parametrize(("version", "whole"), [("1.3", True), ("1.7", False)])
def test_a_trainer_with_a_chunked_loss_of_its_own_needs_no_kernels_for_it(version: str, whole: bool) -> None:
    text = "from trl import SFTConfig, SFTTrainer\nargs = SFTConfig(use_liger_kernel=True, max_length=4096)"
    assert _whole_logits(text, model="GLM-4.5-Air", framework_version=version) is whole


EVALUATES = """llamafactory-cli train run.yaml
model_name_or_path: Qwen/Qwen2.5-7B
stage: sft
finetuning_type: lora
cutoff_len: 1024
per_device_train_batch_size: 1
bf16: true
val_size: 0.1
{more}
"""


@pytest.mark.parametrize(
    ("more", "rows"),
    [
        ("eval_strategy: steps", 8),
        ("eval_strategy: epoch\nper_device_eval_batch_size: 2", 2),
        ("eval_strategy: no\nper_device_eval_batch_size: 2", None),
        ("per_device_eval_batch_size: 2", None),
    ],
)
def test_rows_that_are_held_out_are_evaluated_between_steps_where_a_strategy_says_so(
    more: str, rows: int | None
) -> None:
    """tests/data/trainers/llamafactory.toml, sft-lora-eval: 10 bytes a logit, of twice as many rows more than a step takes."""
    answers = {"n_gpus": 1, "gpu_mem_gib": 80, "real_response_length": 1024}
    run = diagnose(EVALUATES.format(more=more), answers, KNOWN, ())
    assert run.estimate is not None
    gpu = run.estimate.gpu
    assert gpu is not None
    phase = gpu.phase("eval")
    assert (phase is None) == (rows is None)
    if phase is not None and rows is not None:
        logits = next(term.bytes for term in phase.terms if term.id == "logits")
        assert logits == pytest.approx(10 * rows * 1024 * 152_064, rel=0.001)
