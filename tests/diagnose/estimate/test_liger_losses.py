"""What losses of Liger hold of the head while they take their gradients in the forward pass."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Term
from diagnose.units import GIB

HEAD = 152064 * 3584
RUN = """from trl import GRPOConfig, GRPOTrainer
args = GRPOConfig(per_device_train_batch_size=8, num_generations=8, max_completion_length=256, use_liger_kernel=True)
model Qwen/Qwen2-7B-Instruct on one T4
"""
QLORA = """load_in_4bit=True, bnb_4bit_use_double_quant=True, dtype='float16', r=32, optim='paged_adamw_8bit'
"""


def at_head(text: str, **answers: str) -> dict[str, Term]:
    gpu = diagnose(text, {"full_or_lora": "full", **answers}, current(), ()).estimate.gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    return {term.id: term for term in update.terms}


def test_a_loss_over_whole_logits_sums_no_gradient_of_the_head() -> None:
    whole = at_head("trl==0.26.2\n" + RUN.replace(", use_liger_kernel=True", ""))
    assert "head_gradients" not in whole


@pytest.mark.parametrize("version", ["1.13.0", "1.16.0"])
def test_later_releases_leave_a_frozen_head_alone(version: str) -> None:
    later = at_head(f"trl=={version}\n" + RUN + QLORA, full_or_lora="qlora")
    assert "head_gradients" not in later


def test_earlier_ones_hold_the_gradient_of_a_frozen_head_twice_in_its_own_type() -> None:
    earlier = at_head("trl==0.26.2\n" + RUN + QLORA, full_or_lora="qlora")
    assert earlier["head_gradients"].bytes == 2 * 2 * HEAD


def test_they_make_the_logits_of_one_row_at_a_time_until_liger_0_8() -> None:
    assert "logits_row" in at_head("trl==1.3.0\n" + RUN + QLORA, full_or_lora="qlora")
    assert "logits_row" not in at_head("trl==1.4.0\n" + RUN + QLORA, full_or_lora="qlora")


def test_a_fork_with_a_loss_of_its_own_holds_none() -> None:
    unsloth = at_head("from unsloth import FastLanguageModel\ntrl==0.22.2\n" + RUN + QLORA, full_or_lora="qlora")
    assert "head_gradients" not in unsloth


def test_it_comes_to_what_a_notebook_of_december_2025_printed() -> None:
    """8.832 GiB reserved: huggingface/trl@c9a9e25 examples/notebooks/grpo_trl_lora_qlora.ipynb, which then loaded fp16."""
    run = diagnose("trl==0.26.2\n" + RUN + QLORA, {"full_or_lora": "qlora"}, current(), ()).estimate
    assert run.torch_reserved is not None
    assert run.torch_reserved / GIB == pytest.approx(8.832, rel=0.05)


SCORED = {
    "trl": "from trl import GRPOConfig, GRPOTrainer\nargs = GRPOConfig(per_device_train_batch_size=8, num_generations=8, num_iterations=2, "
    "max_completion_length=2048, beta=0.04, use_vllm=True, {liger})\nmodel Qwen/Qwen2-7B-Instruct on 8 H100\n",
    "ms-swift": "swift rlhf --rlhf_type grpo --model Qwen/Qwen2-7B-Instruct --num_iterations 2 --max_length 1024 --beta 0.04 {liger} "
    "--max_completion_length 2048 --per_device_train_batch_size 8 --num_generations 8 --use_vllm true --deepspeed zero3\n8 H100\n",
}
LIGER = {"trl": "use_liger_kernel=True", "ms-swift": "--use_liger_kernel true"}


def logits_of(text: str, **answers: str) -> dict[str, float]:
    gpu = diagnose(text, answers, current(), ()).estimate.gpu
    assert gpu is not None
    return {
        phase.phase: sum(term.bytes for term in phase.terms if term.id in ("logits", "logits_row"))
        for phase in gpu.phases
        if phase.phase in ("logprob", "ref_logprob", "actor_update")
    }


@pytest.mark.parametrize(("trainer", "version"), [("trl", "1.1.0"), ("trl", "1.9.0"), ("ms-swift", "3.9.0")])
def test_it_spares_the_logits_of_the_update_and_not_those_of_passes_that_score(trainer: str, version: str) -> None:
    whole = logits_of(SCORED[trainer].format(liger=""), framework_version=version)
    liger = logits_of(SCORED[trainer].format(liger=LIGER[trainer]), framework_version=version)
    assert liger["actor_update"] < whole["actor_update"] / 2
    assert [liger[phase] for phase in ("logprob", "ref_logprob")] == [
        whole[phase] for phase in ("logprob", "ref_logprob")
    ]
    assert liger["logprob"] > 0


def test_it_is_not_advised_for_a_pass_that_scores() -> None:
    failed = SCORED["trl"].format(liger="") + "torch.OutOfMemoryError: CUDA out of memory\n"
    found = {
        phase: diagnose(failed, {"phase": phase, "framework_version": "1.1.0"}, current(), ())
        for phase in ("logprob", "ref_logprob", "actor_update")
    }
    advised = {
        phase for phase, run in found.items() if "logits.chunked" in [one.lever.slug for one in run.prescriptions]
    }
    assert advised == {"actor_update"}


def test_a_trainer_that_takes_every_pass_in_chunks_still_does() -> None:
    assert logits_of(SCORED["trl"].format(liger=""), framework_version="1.15.0")["logprob"] == 0
    unsloth = "from unsloth import FastLanguageModel\n" + SCORED["trl"].format(liger=LIGER["trl"])
    assert logits_of(unsloth).get("logprob", 0) == 0
