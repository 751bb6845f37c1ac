"""A patch that is pasted: the file after the change is what is read."""

from __future__ import annotations

import pytest

from diagnose.ingest import read

COMMAND = """\
diff --git a/run_grpo.sh b/run_grpo.sh
index 3b18e51..9c7a1f2 100755
--- a/run_grpo.sh
+++ b/run_grpo.sh
@@ -1,8 +1,8 @@
 python3 -m verl.trainer.main_ppo \\
-    data.train_batch_size=512 \\
+    data.train_batch_size=1024 \\
     data.max_prompt_length=1024 \\
-    data.max_response_length=2048 \\
     actor_rollout_ref.model.enable_gradient_checkpointing=True \\
-    actor_rollout_ref.actor.use_kl_loss=True \\
+    actor_rollout_ref.actor.fsdp_config.param_offload=True \\
     trainer.n_gpus_per_node=8
-bash eval.sh data.train_batch_size=2
+echo done
It still dies, trainer.nnodes=2
- data.train_batch_size=4096 was no better"""
CONFIG = """\
@@ -3,6 +3,7 @@ rollout:
 worker:
   actor:
-    global_batch_size: 64
+    global_batch_size: 128
+    micro_batch_size_per_device_for_update: 4
     model:
       model_path: Qwen/Qwen2.5-7B-Instruct"""


def test_a_command_is_whole_after_the_change() -> None:
    paste = read(COMMAND)
    assert [(one.key, one.value) for one in paste.settings if one.command == 0] == [
        ("data.train_batch_size", "1024"),
        ("data.max_prompt_length", "1024"),
        ("actor_rollout_ref.model.enable_gradient_checkpointing", "True"),
        ("actor_rollout_ref.actor.fsdp_config.param_offload", "True"),
        ("trainer.n_gpus_per_node", "8"),
    ]
    assert [(one.key, one.value) for one in paste.settings if one.command != 0] == [
        ("trainer.nnodes", "2"),
        ("data.train_batch_size", "4096"),  # behind the hunk a dash is a dash
    ]
    assert [line.text for line in paste.lines] == COMMAND.split("\n")


def test_a_place_is_that_of_the_line_as_it_was_pasted() -> None:
    paste = read(COMMAND)
    for one in paste.settings:
        line = next(line for line in paste.lines if line.number == one.span.line)
        assert line.text[one.span.start : one.span.end] == one.value


def test_nested_keys_keep_their_place() -> None:
    assert {one.key: one.value for one in read(CONFIG).settings} == {
        "worker.actor.global_batch_size": "128",
        "worker.actor.micro_batch_size_per_device_for_update": "4",
        "worker.actor.model.model_path": "Qwen/Qwen2.5-7B-Instruct",
    }


@pytest.mark.parametrize("mark", ["```diff", "``` patch", "  ```diff"])
def test_a_block_that_is_marked_needs_no_heads(mark: str) -> None:
    text = f"{mark}\n- gpu_memory_utilization=0.8\n+ gpu_memory_utilization=0.5\n```\n- n_gpus_per_node=4"
    assert [(one.key, one.value) for one in read(text).settings] == [
        ("gpu_memory_utilization", "0.5"),
        ("n_gpus_per_node", "4"),
    ]


def test_lines_that_begin_with_a_sign_are_no_patch_by_that_alone() -> None:
    text = "- per_device_train_batch_size: 4\n+ data.max_prompt_length=8\n--- a line of a report\n@@ not a head @@"
    keys = [one.key for one in read(text).settings]
    assert keys == ["per_device_train_batch_size", "data.max_prompt_length"]


def test_a_hunk_that_is_cut_off_is_read_as_far_as_it_goes() -> None:
    cut = CONFIG.split("\n")[:4]
    assert {one.key: one.value for one in read("\n".join(cut)).settings} == {}
    assert {one.key: one.value for one in read("\n".join([*cut, "+    global_batch_size: 32"])).settings} == {
        "worker.actor.global_batch_size": "32"
    }
