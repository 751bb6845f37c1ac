"""The promise that a framework is one file: a copy of the content gets one more, and the engine diagnoses with it."""

import shutil

from diagnose.knowledge import CONTENT, load
from diagnose.pipeline import diagnose

SIXTH = """+++
title = "Sextant"
reviewed = 2026-11-20
sources = ["https://example.org/sextant"]
config_shape = "flag"
phases = ["load", "rollout", "logprob", "actor_update", "optimizer_step"]

[detect]
commands = ["sextant.train"]

[[key]]
key = "rows_on_each_card"
fact = "micro_batch"

[[key]]
key = "answer_tokens"
fact = "response_length"

[[key]]
key = "question_tokens"
fact = "prompt_length"

[[key]]
key = "base"
fact = "model"
hidden = true

[[key]]
key = "cards"
fact = "n_gpus"
hidden = true

[[default]]
[default.facts]
algo = "grpo"
full_or_lora = "full"
zero_stage = 3
strategy = "fsdp"
gradient_checkpointing = true
remove_padding = false
flash_attention = true
rollout_mode = "server"
has_ref = false
has_critic = false

[[resident]]
what = "actor_weights"
phases = ["load", "rollout", "logprob", "actor_update", "optimizer_step"]

[[resident]]
what = "actor_gradients"
phases = ["actor_update", "optimizer_step"]

[[resident]]
what = "actor_optimizer"
phases = ["actor_update", "optimizer_step"]

[[behaviour]]
[behaviour.does]
weight_bytes = 4
gradient_bytes = 4
optimizer_bytes = 8
gather = "fsdp_units"
logits_forward_bytes = 2
logits_train_bytes = 8
logits_rows = "all"
processes_per_gpu = 1

[[frame]]
function = "learn"
phase = "actor_update"
+++
"""

PASTE = """
python3 -m sextant.train --base Qwen/Qwen2.5-7B-Instruct --cards 8 --rows_on_each_card 16 --question_tokens 1024 --answer_tokens 4096

Traceback (most recent call last):
  File "/srv/sextant/trainer.py", line 88, in learn
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB. GPU 0 has a total capacity of 79.15 GiB of which 3.10 GiB is free.
Including non-PyTorch memory, this process has 76.04 GiB memory in use. Of the allocated memory 70.11 GiB is allocated by PyTorch,
and 4.80 GiB is reserved by PyTorch but unallocated.
"""


def test_a_framework_is_added_by_one_file_and_diagnosed_with(tmp_path):
    shutil.copytree(CONTENT, tmp_path / "content")
    (tmp_path / "content" / "frameworks" / "sextant.md").write_text(SIXTH, encoding="utf-8")
    knowledge = load(tmp_path / "content")

    found = diagnose(PASTE, {}, knowledge, ())

    assert found.facts.values["framework"] == "sextant"
    assert [option.value for option in knowledge.questions["framework"].options][-2:] == ["sextant", "plain"]
    assert (found.kind, found.phase) == ("gpu_oom", "actor_update")
    assert found.facts.values["micro_batch"] == 16
    assert found.estimate.gpu.phase("actor_update").bytes > 79.15 * 1024**3
    smaller = next(p for p in found.prescriptions if p.lever.slug == "batch.micro.down")
    assert [(change.key, change.before) for change in smaller.changes] == [("rows_on_each_card", "16")]
    assert smaller.after.bytes < smaller.before.bytes
