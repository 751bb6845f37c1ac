"""Changes of a run whose command only names a file: overrides where the trainer takes them, no words behind a shell's script."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_json, to_text

OOM = "\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 11.60 GiB. GPU 0 has a total capacity of 79.11 GiB."
AREAL = "python3 examples/math/gsm8k_rl.py --config examples/math/gsm8k_grpo.yaml"
IN_UPDATE = '\n  File "/w/AReaL/areal/engine/fsdp_engine.py", line 758, in forward_backward_batch\n    loss.backward()'
SWIFT = "bash examples/train/grpo/internal/vllm_72b_4gpu.sh"
IN_LOSS = '\n  File "/w/swift/trainers/rlhf_trainer/grpo_trainer.py", line 900, in _compute_loss\n    loss = f(logits)'


def _added(text):
    given = diagnose(text, {}, current(), ()).prescriptions
    return {one.lever.slug: [line.text for line in one.patch if line.mark == "+"] for one in given}


def test_a_flag_that_names_a_file_makes_no_flags_of_overrides():
    added = _added(AREAL + IN_UPDATE + OOM)
    assert added["batch.dynamic_tokens.down"] == [f"{AREAL} actor.mb_spec.max_tokens_per_mb=5120"]


@pytest.mark.parametrize("script", [SWIFT, SWIFT.removeprefix("bash ")])
def test_nothing_is_written_behind_a_script_of_a_shell(script):
    added = _added(script + IN_LOSS + OOM)
    assert added
    assert not any(added.values())


UPDATE = '\n  File "/w/verl/workers/actor/dp_actor.py", line 400, in update_policy\n    loss.backward()'
SHIPPED = "verl 0.5, bash examples/grpo_trainer/run_qwen3-8b.sh\n8x A100 80GB" + UPDATE + OOM
MICRO = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"


def _changes(text):
    answer = diagnose(text, {}, current(), ())
    several = [one for one in (answer.together, answer.ahead and answer.ahead.together) if one]
    return {change.key: change for given in (*answer.prescriptions, *several) for change in given.changes}


def test_what_stands_before_a_change_is_told_by_the_file():
    changes = _changes(SHIPPED)
    assert (changes[MICRO].before, changes[MICRO].shipped, changes[MICRO].after) == ("32", "run_qwen3-8b.sh", "16")
    unset = changes["actor_rollout_ref.model.use_fused_kernels"]  # by the code's default, and by no file
    assert (unset.before, unset.shipped) == (None, "")


def test_what_the_paste_sets_is_no_files():
    change = _changes(SHIPPED.replace(".sh\n", f".sh {MICRO}=16\n"))[MICRO]
    assert (change.before, change.shipped) == ("16", "")


def test_a_word_of_a_file_is_shown_where_its_key_has_one_for_it_alone():
    changes = _changes("llamafactory-cli train examples/train_full/llama3_full_sft.yaml" + OOM)
    assert (changes["finetuning_type"].before, changes["finetuning_type"].after) == ("full", "lora")
    assert changes["deepspeed"].before is None  # zero3, or the path of a file that says it


def test_the_file_is_named_beside_its_value_in_text_and_json():
    answer = diagnose(SHIPPED, {}, current(), ())
    assert f"{MICRO} 32 (run_qwen3-8b.sh as it is shipped) → 16" in to_text(answer)
    assert "Already on: run_qwen3-8b.sh as it is shipped." in to_text(answer)
    first = to_json(answer)["prescriptions"][0]["changes"]
    assert first == [{"key": MICRO, "before": "32", "after": "16", "shipped": "run_qwen3-8b.sh"}]


def test_the_file_is_named_in_chinese():
    answer = diagnose(
        "在 8 张 A100 80G 上跑的，更新 actor 的时候显存不够了，请问应该怎么改？\n" + SHIPPED, {}, current(), ()
    )
    assert f"{MICRO} 32（项目自带的 run_qwen3-8b.sh） → 16" in to_text(answer)
