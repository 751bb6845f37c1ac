"""Loops of one file that people copy: simple_GRPO 4ab94c6, tiny-grpo eafedd7, GRPO-Zero d41bb48."""

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.82 GiB. GPU 0 has a total capacity of {card} GiB of which "
    "0.31 GiB is free.\n"
)
SIMPLE = (
    "simple_GRPO, Qwen2.5-7B on 3 A800 and one more for the engine\ndeepspeed grpo_vllm_one.py\ntrain_batch_size = 16\nmax_tokens = 2048\n"
    '  File "/data/simple_GRPO/grpo_vllm_one.py", line 74, in GRPO_step\n' + OOM.format(card=79.33)
)
TINY = (
    'tiny-grpo on a 3090\n  File "/w/tiny-grpo/train.py", line 170, in sequences_log_probs\n'
    + OOM.format(card=23.68)
    + 'model_name = "meta-llama/Llama-3.2-1B-Instruct"\ntrain_batch_size = 16\ngroup_size = 12\nmax_length = 1024\n'
)
ZERO = (
    '  File "/w/GRPO-Zero/grpo.py", line 204, in update_policy\n'
    + OOM.format(card=23.52)
    + "training:\n  max_gen_len: 1024\n  micro_batch_size: 2\n  memory_efficient_adamw: true\nmodel: Qwen2.5-3B-Instruct, RTX 4090\n"
)


def test_a_batch_of_rows_is_a_pass_and_comes_first():
    for text, to in ((SIMPLE, 16), (TINY, 16), (ZERO, 2)):
        found = diagnose(text, {}, current(), ())
        assert found.facts.values["micro_batch"] == to
        assert found.prescriptions[0].lever.slug == "batch.micro.down"


def test_the_engine_of_one_is_on_another_card():
    slugs = {one.lever.slug for one in diagnose(SIMPLE, {}, current(), ()).prescriptions}
    assert not {"rollout.gpu_memory_utilization.down", "rollout.sleep_mode.on"} & slugs


def test_an_optimizer_that_is_offloaded_is_not_offloaded_again():
    found = diagnose(ZERO, {}, current(), ())
    assert "offload.optimizer.on" not in {one.lever.slug for one in found.prescriptions}


def test_who_names_the_offload_may_have_taken_it_out():
    assert diagnose(SIMPLE, {}, current(), ()).facts.values["optimizer_on_cpu"] is True
    taken = diagnose(SIMPLE + "ds_config 里去掉了 offload_optimizer\n", {}, current(), ())
    assert taken.facts.values.get("optimizer_on_cpu") is not True
