"""No key is written that is on, has no effect, is not the trainer's, or says what it already says."""

from __future__ import annotations

import pytest

from diagnose.prescribe.steps import at_bound
from tests.diagnose.prescribe.conftest import GROUPED


def test_no_change_sets_a_key_to_what_it_is(advise):
    changes = [change for one in advise(GROUPED).prescriptions for change in one.changes]
    assert changes
    assert all(change.before != change.after for change in changes)


def test_it_never_writes_a_key_that_has_no_effect(advise):
    dead = GROUPED.replace("rollout.n=32", "rollout.n=32 actor_rollout_ref.rollout.max_num_seqs=512")
    advice = advise(dead, phase="rollout")
    assert "actor_rollout_ref.rollout.max_num_seqs" in advice.facts.dead_keys
    assert all(change.key not in advice.facts.dead_keys for one in advice.prescriptions for change in one.changes)
    assert "rollout.max_num_seqs.down" not in advice.levers


def test_it_never_offers_a_key_that_the_framework_lacks(advise):
    assert "logits.chunked" not in advise(GROUPED).levers


def test_a_key_of_one_projects_script_is_written_where_it_stands_alone(advise):
    """om-ai-lab/VLM-R1 adds ``freeze_vision_modules`` to TRL, which has no such key"""
    text = (
        "accelerate launch --num_processes 8 {script} --model_name_or_path Qwen/Qwen2.5-VL-7B-Instruct --max_pixels 12845056 "
        "--per_device_train_batch_size 4 --num_generations 8 --gradient_checkpointing true --deepspeed zero3.json --bf16 "
        "--attn_implementation flash_attention_2\n8 x A100 80GB\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB in the backward pass"
    )
    written = [
        change.key
        for one in advise(text.format(script="examples/scripts/grpo_vlm.py")).prescriptions
        for change in one.changes
    ]
    assert written
    assert "freeze_vision_modules" not in written
    own = advise(text.format(script="src/open_r1/grpo_jsonl.py --freeze_vision_modules false"))
    assert ("freeze_vision_modules", "true") in [(c.key, c.after) for one in own.prescriptions for c in one.changes]


def test_packed_rows_are_offered_on_cards_that_can_compute_them(advise):
    text = (
        "deepspeed --module openrlhf.cli.train_rm --micro_train_batch_size 2 --pretrain Qwen/Qwen2.5-7B-Instruct --max_len 4096 "
        "--zero_stage 3\n8 x {card}\ntorch.OutOfMemoryError: CUDA out of memory in the backward pass"
    )
    assert "padding.remove" in advise(text.format(card="A100 80GB")).levers
    assert "padding.remove" not in advise(text.format(card="V100 32GB")).levers


def test_no_word_is_used_that_would_change_the_algorithm(advise):
    text = """torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.
NPROC_PER_NODE=4 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --train_type full --use_vllm true \\
  --vllm_mode colocate --deepspeed zero3 --per_device_train_batch_size 4 --gradient_accumulation_steps 4
4 x A100 80GB"""
    changes = [change for one in advise(text, phase="actor_update").prescriptions for change in one.changes]
    assert changes
    assert all(change.key != "rlhf_type" for change in changes)
    assert all(change.after not in ("zero2", "zero2_offload") for change in changes)


def test_torchs_own_hint_is_no_setting_to_take_out(advise):
    text = (
        f"{GROUPED}\ntorch.OutOfMemoryError: CUDA out of memory. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
    )
    assert "expandable_segments" not in advise(text).facts.stated


def test_segments_that_are_set_are_taken_out_with_the_word_that_torch_reads(advise):
    text = f"export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512,expandable_segments:True\n{GROUPED}"
    (change,) = advise(text, phase="weight_sync").advised("allocator.expandable_segments.off").changes
    assert change.after == "max_split_size_mb:512,expandable_segments:False"


def test_a_size_at_its_bound_is_said_with_its_value(advise, knowledge):
    facts = advise(GROUPED, micro_batch=1).facts
    said = at_bound(knowledge.levers["batch.micro.down"], facts)
    assert said == "Update micro batch is 1; there is no further step."


def test_a_megatron_key_is_not_for_fsdp(advise):
    assert all("megatron" not in change.key for one in advise(GROUPED).prescriptions for change in one.changes)


def test_quantised_weights_are_no_missing_key_where_a_key_makes_them(advise):
    text = (
        "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-32B-Instruct --train_type lora --per_device_train_batch_size 1 "
        "--num_generations 4 --max_completion_length 512\n4 x A100 40GB, CUDA out of memory in the actor update"
    )
    advice = advise(text)
    changes = [change.key for one in advice.prescriptions if one.lever.slug == "peft.qlora" for change in one.changes]
    assert changes == ["quant_method", "quant_bits"]


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("swift sft --model Qwen/Qwen2.5-7B --train_type lora --max_length 4096", True),
        ("swift sft --model Qwen/Qwen2.5-7B --train_type lora --max_length 4096 --truncation_strategy left", False),
        ("swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B --max_completion_length 4096", False),
        (
            "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B data.filter_overlong_prompts=True",
            True,
        ),
    ],
)
def test_rows_that_are_left_out_already_need_no_filter(advise, text, dropped):
    """modelscope/ms-swift v3.12.0 swift/llm/argument/base_args/template_args.py: __post_init__"""
    advice = advise(f"{text}\nstep 12 done, step 13: CUDA out of memory in the backward pass, 8 x A100 40GB")
    assert any(one.lever.slug == "length.filter_long" for one in advice.prescriptions) is not dropped


def test_bits_that_quantize_nothing_alone_need_the_method_beside_them(advise):
    """modelscope/ms-swift v3.0.0 swift/llm/argument/base_args/quant_args.py: get_quantization_config"""
    text = (
        "swift sft --model Qwen/Qwen2.5-32B-Instruct --train_type lora --quant_bits 4 --max_length 2048\n"
        "8 x A100 40GB, CUDA out of memory in the backward pass"
    )
    advice = advise(text)
    assert advice.facts.values["full_or_lora"] == "lora"
    changes = [(change.key, change.after) for change in advice.advised("peft.qlora").changes]
    assert changes == [("quant_method", "bnb")]
