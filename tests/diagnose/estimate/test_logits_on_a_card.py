"""Logits as a card has them: in the type in which the loss gets them, and the part of the vocabulary that a tensor parallel rank keeps."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis
from diagnose.units import GIB
from diagnose.words.figures import NBSP
from diagnose.words.refusal import told

GPUS = {"n_gpus": 8, "gpu_mem_gib": 80}
LENGTHS = {"real_prompt_length": 500, "real_response_length": 1500}
PPO = (
    "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer algorithm.adv_estimator=grpo data.max_prompt_length=2048 "
    "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct data.max_response_length=8192 actor_rollout_ref.actor.use_kl_loss=True "
    "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16 "
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=16 actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=16"
)
PASS = 16 * 2000 * 152_064 // 2  # numbers of the logits of a pass on each of two ranks


def _run(command: str, **answers: Any) -> Diagnosis:
    return diagnose(command, {**GPUS, **answers}, current(), ())


def _logits(run: Diagnosis, phase: str) -> int:
    gpu = run.estimate.gpu
    assert gpu is not None
    found = gpu.phase(phase)
    assert found is not None
    return sum(term.bytes for term in found.terms if term.id == "logits")


@pytest.mark.parametrize(
    ("version", "logprob", "reference", "update", "with_entropy"),
    [
        ("0.3.0", 8, 8, 24, 24),
        ("0.4.1", 8, 6, 6, 8),
        ("0.5.0", 8, 6, 6, 8),
        ("0.6.1", 12, 6, 8, 12),
        ("0.9.0", 12, 6, 8, 12),
    ],
)
def test_megatron_gives_the_loss_fp32_logits_and_the_old_log_prob_an_entropy_of_them(
    version: str, logprob: int, reference: int, update: int, with_entropy: int
) -> None:
    run = _run(PPO, framework_version=version, **LENGTHS)
    each = [_logits(run, phase) / PASS for phase in ("logprob", "ref_logprob", "actor_update")]
    assert each == pytest.approx([logprob, reference, update])
    entropy = _run(f"{PPO} actor_rollout_ref.actor.entropy_coeff=0.001", framework_version=version, **LENGTHS)
    assert _logits(entropy, "actor_update") / PASS == pytest.approx(with_entropy)


def test_fused_kernels_are_read_where_megatron_s_workers_read_them() -> None:
    fused = f"{PPO} actor_rollout_ref.model.use_fused_kernels=True"
    assert _logits(_run(fused, framework_version="0.4.1"), "logprob") > 0
    assert _logits(_run(fused, framework_version="0.5.0"), "logprob") == 0


def _refused(gib: float, code: str) -> str:
    return (
        f'{PPO}\nTraceback (most recent call last):\n  File "/w/verl/verl/workers/actor/megatron_actor.py", line 230, in compute_log_prob\n'
        f'    output = self.forward_backward_batch(\n  File "/w/verl/verl/workers/actor/megatron_actor.py", line 580, in logits_processor\n'
        f"    {code}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate {gib:.2f} GiB. GPU 0 has a total capacity of 79.11 GiB "
        "of which 5.20 GiB is free."
    )


def test_a_size_that_the_loss_was_refused_is_of_fp32_logits_over_a_part_of_the_vocabulary() -> None:
    row = _run(_refused(11.30, "logits_bak = logits.clone()"), framework_version="0.6.1").facts.failed_row
    assert row is not None
    assert row.shortest == row.longest == pytest.approx(11.30 * GIB / 4 / (152_064 / 2) / 16, rel=1e-3)


def test_the_product_that_makes_them_makes_16_bits() -> None:
    row = _run(_refused(11.30, "output = torch.matmul(total_input, weight.t())")).facts.failed_row
    assert row is not None
    assert row.longest == pytest.approx(2 * row.shortest)


def test_the_words_on_a_refused_size_tell_the_part_and_the_type() -> None:
    failed = (
        "python3 train.py --actor-num-gpus-per-node 8 --colocate --hf-checkpoint /root/Qwen3-4B --tensor-model-parallel-size 2 "
        "--use-dynamic-batch-size --max-tokens-per-gpu 9216 --rollout-max-response-len 32768 --advantage-estimator grpo\n"
        'Traceback (most recent call last):\n  File "/root/slime/slime/backends/megatron_utils/loss.py", line 70, in get_responses\n'
        "    logits = logits.div(args.rollout_temperature)\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.12 GiB. GPU 0 has a total capacity of 79.11 GiB of which 5.2 GiB "
        "is free."
    )
    said = " ".join(told(_run(failed))).replace(NBSP, " ")
    # 9.12 × 2**30 / (4 × 151936 / 2)
    assert (
        "are the fp32 logits of 32,226 tokens at a vocabulary of 151,936, of which each card has one of 2 parts" in said
    )
    assert (
        "more than the budget of 9,216: a row that is longer makes a pass of its own, which no smaller budget parts"
        in said
    )


BUDGET = (
    "python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --hf-checkpoint /root/Qwen3-4B --advantage-estimator grpo "
    "--tensor-model-parallel-size 2 --use-dynamic-batch-size --rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size 256"
)


def _tokens(command: str, **answers: Any) -> tuple[float, float, float]:
    """Tokens of an update on a card, by its logits."""
    gpu = _run(command, **answers).estimate.gpu
    assert gpu is not None
    term = next(term for term in gpu.phase("actor_update").terms if term.id == "logits")  # type: ignore[union-attr]
    a_token = 12 * 151_936 / 2
    return term.low / a_token, term.bytes / a_token, term.high / a_token


def test_a_row_longer_than_the_budget_is_a_pass_of_its_own_however_small_the_budget_is() -> None:
    long = f"{BUDGET} --rollout-max-response-len 32768 --max-tokens-per-gpu"
    small, smaller = (_tokens(f"{long} {budget}") for budget in (9216, 4608))
    assert small[1:] == pytest.approx(smaller[1:])
    assert small[1] >= 32768
    halved = _tokens(f"{long} 9216 --context-parallel-size 2")
    assert halved[1] == pytest.approx(small[1] / 2, rel=0.01)


def test_rows_within_the_budget_fill_it_and_no_more() -> None:
    short = f"{BUDGET} --rollout-max-response-len 4096 --rollout-max-prompt-len 1024 --max-tokens-per-gpu"
    assert _tokens(f"{short} 9216")[1:] == pytest.approx((9216, 9216))


def test_a_budget_below_the_longest_row_is_not_made_smaller() -> None:
    long = f"{BUDGET} --rollout-max-response-len 32768 --max-tokens-per-gpu 9216\ntorch.OutOfMemoryError: CUDA out of memory"
    levers = [one.lever.slug for one in _run(long, phase="actor_update", gpu_mem_gib=40).prescriptions]
    assert "batch.dynamic_tokens.down" not in levers
    assert "shard.sequence_parallel.up" in levers


NEMO = (
    "uv run examples/run_grpo_math.py policy.model_name=Qwen/Qwen2.5-7B-Instruct cluster.gpus_per_node=8 cluster.num_nodes=1 "
    "policy.max_total_sequence_length=4096 policy.logprob_batch_size=4 policy.train_micro_batch_size=4 "
    "policy.dynamic_batching.enabled=False policy.sequence_packing.enabled=False policy.dtensor_cfg.enabled=True "
    "policy.dtensor_cfg.tensor_parallel_size={tp} {more}"
)


@pytest.mark.parametrize("version", ["0.3.0", "0.6.0"])
def test_fsdp_with_tensor_parallelism_may_keep_the_vocabulary_in_parts(version: str) -> None:
    two, eight = (_run(NEMO.format(tp=tp, more=""), framework_version=version) for tp in (2, 8))
    assert _logits(two, "logprob") == pytest.approx(14 * 4 * 4096 * 152_064 / 2, rel=0.01)
    assert _logits(eight, "actor_update") == pytest.approx(_logits(two, "actor_update") / 4)


def test_it_casts_log_probs_in_chunks_where_it_is_told_to() -> None:
    chunked = _run(NEMO.format(tp=2, more="policy.logprob_chunk_size=1024"), framework_version="0.6.0")
    assert _logits(chunked, "logprob") == pytest.approx(2 * 4 * 4096 * 152_064 / 2, rel=0.01)
    untold = _run(NEMO.format(tp=2, more="policy.logprob_chunk_size=null"), framework_version="0.6.0")
    assert _logits(untold, "logprob") > _logits(chunked, "logprob")


AREAL = (
    "python3 -m areal.launcher.local gsm8k_grpo.py --config gsm8k_grpo.yaml allocation_mode=sglang.d4p1t1+d{dp}p1t{tp} "
    "actor.path=Qwen/Qwen2.5-1.5B-Instruct actor.mb_spec.max_tokens_per_mb=16384 gconfig.max_new_tokens=8192"
)


@pytest.mark.parametrize(("version", "parts"), [("0.4.1", 1), ("0.5.0", 4), ("1.0.4", 4)])
def test_a_head_whose_output_was_put_together_made_whole_rows(version: str, parts: int) -> None:
    alone, split = (
        _run(AREAL.format(dp=4 // tp, tp=tp), framework_version=version, n_gpus=8, **LENGTHS) for tp in (1, 4)
    )
    assert _logits(split, "actor_update") == pytest.approx(_logits(alone, "actor_update") / parts)


def _log_probs(*more: str, **answers: Any) -> float:
    """Bytes of a logit in the pass of old log-probs."""
    gpu = _run(" ".join((BUDGET, "--max-tokens-per-gpu 9216", *more)), **answers).estimate.gpu
    assert gpu is not None
    term = next(term for term in gpu.phase("logprob").terms if term.id == "logits")  # type: ignore[union-attr]
    return term.bytes / (9216 * 151_936 / 2)


def test_a_softmax_over_all_logits_is_a_second_copy_and_one_in_chunks_is_none() -> None:
    assert _log_probs(framework_version="0.3.1") == pytest.approx(8)
    assert _log_probs("--log-probs-chunk-size 1024", framework_version="0.3.1") == pytest.approx(6)
    assert _log_probs(framework_version="0.2.4") == pytest.approx(6)


def test_where_log_probs_ran_out_the_chunk_is_written() -> None:
    answers = {"framework_version": "0.3.1", "phase": "logprob"}
    message = (
        "\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.80 GiB. "
        "GPU 0 has a total capacity of 79.11 GiB of which 3.2 GiB is free."
    )
    for more, given in (("", True), (" --log-probs-chunk-size 1024", False)):
        found = _run(f"{BUDGET} --max-tokens-per-gpu 20480{more}{message}", **answers)
        keys = {change.key for one in found.prescriptions for change in one.changes}
        assert ("log-probs-chunk-size" in keys) is given
