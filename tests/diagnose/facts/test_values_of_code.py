"""What stands behind a key without being a value: a variable of the program, a flag whose words were not pasted."""

from __future__ import annotations

import pytest


def test_a_member_of_the_program_s_own_object_is_no_optimizer(values):
    code = (
        "    self.actor_booster.backward(loss=actor_loss, optimizer=self.actor_optim)\nColossalChat, CUDA out of memory"
    )
    assert "optimizer" not in values(code)


@pytest.mark.parametrize("flag", ["--prompt_dataset ${prompt_dataset[@]}", "--prompt_dataset"])
def test_a_flag_without_its_words_names_no_data_set(values, flag):
    assert "dataset" not in values(f"colossalai run --nproc_per_node 4 train_ppo.py {flag} --train_batch_size 4\nOOM")


def test_a_loop_that_makes_the_rows_names_no_data_set(values):
    run = "trainer = SFTTrainer(model='Qwen/Qwen2.5-1.5B', train_dataset=dataset)\nCUDA out of memory"
    assert "dataset" not in values(f"dataset = [convert(row) for row in rows]\n{run}")
    assert values(f"dataset = load_dataset('trl-lib/tldr')\n{run}")["dataset"] == "trl-lib/tldr"
