"""Variables that a whole shell script sets and never takes."""

from __future__ import annotations

import pytest

from diagnose.ingest import read

SCRIPT = """#!/bin/bash
set -x
MODEL=Qwen/Qwen2.5-7B-Instruct
use_dynamic_bsz=True
# actor.use_dynamic_bsz=${use_dynamic_bsz} \\
offload=True

python3 -m verl.trainer.main_ppo \\
    actor_rollout_ref.model.path=$MODEL \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4
"""
TAKES = SCRIPT.replace("=4\n", "=4 \\\n    actor_rollout_ref.actor.use_dynamic_bsz=${use_dynamic_bsz}\n")
SUMS = SCRIPT.replace("offload=True", "rows=8\ntokens=$((rows * 1024))").replace("=4\n", "=$tokens\n")


def _keys(text):
    return [one.key for one in read(text).settings]


def test_what_no_line_but_a_comment_takes_is_no_setting():
    assert not {"use_dynamic_bsz", "offload"} & set(_keys(SCRIPT))
    assert {"MODEL", "actor_rollout_ref.model.path"} <= set(_keys(SCRIPT))


@pytest.mark.parametrize("end", [' "$@"\n', " $@\n", " 2>&1 | tee train.log\n"])
def test_a_command_that_hands_on_or_is_logged_is_whole(end):
    assert "use_dynamic_bsz" not in _keys(SCRIPT.rstrip("\n") + end)


@pytest.mark.parametrize(
    "text",
    [
        "it dies with\nuse_dynamic_bsz=True\nppo_max_token_len_per_gpu=16384\nCUDA out of memory",
        TAKES,
        SCRIPT + "bash eval.sh $use_dynamic_bsz\n",
        SCRIPT.replace("$MODEL", "Qwen/Qwen2.5-7B-Instruct"),  # no variable is taken: notes beside a command
        SCRIPT.replace("MODEL=Qwen/Qwen2.5-7B-Instruct\n", ""),  # what sets the variable stands elsewhere
        SCRIPT.rstrip("\n") + " \\\n",  # the text breaks off
        SCRIPT.replace("    actor_rollout_ref.actor", "    ...\n    actor_rollout_ref.actor"),
        "I set\nuse_dynamic_bsz=True\nbut this dies all the same:\n" + SCRIPT.replace("use_dynamic_bsz=True\n", ""),
        SCRIPT.replace("use_dynamic_bsz=True\n", "") + "then I added\nuse_dynamic_bsz=True\n",
    ],
)
def test_what_may_be_a_setting_is_one(text):
    assert any(key.rpartition(".")[2] == "use_dynamic_bsz" for key in _keys(text))


def test_a_name_in_a_sum_is_taken():
    assert "rows" in _keys(SUMS)
