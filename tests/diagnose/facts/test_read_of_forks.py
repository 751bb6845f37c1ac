"""Short texts of people who train with forks: counts, steps, ranks and fears as they write them."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

ROWS = """
|   0  NVIDIA A100-SXM4-40GB          On  | 00000000:07:00.0 Off |                    0 |
| N/A   34C    P0              62W / 400W |   9874MiB / 40960MiB |      0%      Default |
|   1  NVIDIA A100-SXM4-40GB          On  | 00000000:0F:00.0 Off |                    0 |
| N/A   33C    P0              60W / 400W |   9642MiB / 40960MiB |      0%      Default |
"""
FRAME = "+---------------------------------------------------------------------------------------+"


def facts(text: str):
    knowledge = current()
    return diagnose(text, {}, knowledge, ()).facts


@pytest.mark.parametrize("words", ["H100x8", "A100-80Gx8", "8xH100"])
def test_a_count_may_stand_right_behind_the_card(words):
    assert facts(f"verl on {words}, CUDA out of memory").values["n_gpus"] == 8


def test_rows_cut_from_a_table_are_not_all_cards_where_the_words_count_more():
    assert facts(f"verl on 8xA100 40GB, CUDA out of memory{ROWS}(the others alike)").values["n_gpus"] == 8


def test_a_table_with_its_frame_counts_its_cards():
    assert facts(f"verl on one of our 8xA100, CUDA out of memory\n{FRAME}{ROWS}{FRAME}").values["n_gpus"] == 2


def test_cards_of_a_node_tell_which_of_two_counts_is_the_runs():
    text = "Last month 8x H100 were enough for verl, now four H100 and trainer.n_gpus_per_node=4: CUDA out of memory"
    assert facts(text).values["n_gpus"] == 4


def test_the_time_of_a_step_is_no_step():
    text = "step:3 - actor/grad_norm:0.1 - timing_s/step:240\ntorch.OutOfMemoryError: CUDA out of memory."
    assert facts(text).number("step") == 3


def test_ranks_beside_stages_are_those_of_the_trainer():
    text = "verl with the megatron backend, DeepSeek-V3 on 96 H800\nPP=12 TP=1 EP=8 INFER_TP=32\nCUDA out of memory"
    read = facts(text).values
    assert [read.get(id) for id in ("pp", "tp", "ep", "rollout_tp")] == [12, 1, 8, 32]


def test_more_cards_that_worked_are_no_older_version():
    assert "worked_before" not in facts("With 8 cards everything worked, now only 4: CUDA out of memory in verl").values


def test_a_step_of_no_prompts_tells_no_batch():
    trainer = "python -m verl.experimental.fully_async_policy.fully_async_main"
    text = f"{trainer} data.train_batch_size=0 data.gen_batch_size=1\nCUDA out of memory"
    assert facts(text).values.get("train_batch_size") != 0


def test_a_fear_beside_a_refused_setting_is_no_failure():
    text = (
        "ValueError: max_num_batched_tokens (4096) is smaller than max_model_len (9216).\n"
        "verl. I am afraid that a larger max_num_batched_tokens OOMs."
    )
    assert "oom_kind" not in facts(text).values


def test_the_name_of_a_data_set_is_no_trainer(facts):
    found = facts(
        "trl 0.22.1\ntraining_args = GRPOConfig(per_device_train_batch_size=8, num_generations=8)\n"
        'ds = load_dataset("lmms-lab/multimodal-open-r1-8k-verified")\n'
    )
    assert found.fork is None


def test_the_line_of_code_says_whose_log_probs_a_loss_takes(facts):
    found = facts(
        'Traceback (most recent call last):\n  File "/w/src/open_r1/trainer/grpo_trainer.py", line 512, in compute_loss\n'
        "    ref_per_token_logps = self._get_per_token_logps(self.ref_model, prompt_completion_ids, **prompt_inputs)\n"
        '  File "/w/src/open_r1/trainer/grpo_trainer.py", line 388, in _get_per_token_logps\n'
        "    log_probs = logits_row.log_softmax(dim=-1)\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.74 GiB."
    )
    assert found.values["phase"] == "ref_logprob"


def test_what_a_trainer_always_does_holds_where_no_model_is_named():
    found = diagnose(
        "CUDA out of memory. Tried to allocate 980.00 MiB\nDeepSpeed-Chat, PPO, in generate", {}, current(), ()
    )
    assert found.facts.values["rollout_engine"] == "hf"
    assert not any(given.lever.slug.startswith("rollout.gpu_memory") for given in found.prescriptions)
