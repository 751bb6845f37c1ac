"""The figures of an allocator's message, added up and held against the model's own shapes."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.words.figures import NBSP
from diagnose.words.refusal import told

LINE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried}. GPU 0 has a total capacity of {total} of which {free} is free. "
    "Including non-PyTorch memory, this process has {held} memory in use. Of the allocated memory {allocated} is allocated by PyTorch, "
    "and {unused} is reserved by PyTorch but unallocated."
)
USUAL = {
    "tried": "2.00 GiB",
    "total": "79.15 GiB",
    "free": "1.00 GiB",
    "held": "77.90 GiB",
    "allocated": "76.00 GiB",
    "unused": "0.50 GiB",
}


def sentences(before="", **figures):
    knowledge = current()
    diagnosis = diagnose(f"{before}\n{LINE.format(**{**USUAL, **figures})}", {}, knowledge, ())
    return " ".join(told(diagnosis)).replace(NBSP, " ")


def test_without_figures_nothing_is_said():
    assert told(diagnose("CUDA out of memory on 8 A100", {}, current(), ())) == []


def test_a_size_that_is_no_multiple_of_a_shape_is_not_explained():
    said = sentences("GRPO on Qwen2.5-7B-Instruct", tried="463.00 MiB")
    assert "matrix" not in said
    assert "layer" not in said


@pytest.mark.parametrize(
    ("model", "tried", "words"),
    [
        # 8192 × 29568 × 2 bytes = 462 MiB
        (
            "Qwen2.5-VL-72B-Instruct",
            "462.00 MiB",
            "one MLP matrix in bf16 (8,192 hidden × 29,568 intermediate × 2 bytes)",
        ),
        # 152064 × 3584 × 2 bytes = 1039.5 MiB, rounded up to 1040
        (
            "Qwen2.5-7B-Instruct",
            "1040.00 MiB",
            "one embedding or output matrix in bf16 (152,064 vocabulary × 3,584 hidden × 2 bytes)",
        ),
    ],
)
def test_a_matrix_of_the_model_is_named_with_its_product(model, tried, words):
    assert words in sentences(f"GRPO on {model}", tried=tried)


def test_the_logits_of_a_micro_batch_are_named_where_the_lengths_are_known():
    keys = (
        "trl grpo --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 4 "
        "--max_prompt_length 512 --max_completion_length 1536"
    )
    # 4 rows × 2048 tokens × 152064 × 4 bytes = 4752 MiB
    said = sentences(keys, tried="4.64 GiB")
    assert "logits of an update micro batch in fp32 (4 rows × 2,048 tokens × 152,064 vocabulary × 4 bytes)" in said


def test_without_lengths_logits_are_told_as_tokens_where_the_traceback_is_about_them():
    code = '  File "/x/dpo_trainer.py", line 98, in get_batch_logps\n    logits.log_softmax(-1)'
    said = sentences(f"DPO on Qwen2.5-7B\nTraceback (most recent call last):\n{code}", tried="8.36 GiB")
    # 8.36 × 2**30 / (152064 × 4) tokens
    assert "fp32 logits of 14,758 tokens" in said


def test_no_logits_are_told_where_no_rows_pass_through_a_model():
    code = '  File "/x/torch/optim/adam.py", line 800, in _multi_tensor_adam\n    exp_avg_sq_sqrt = torch._foreach_sqrt(exp_avg_sqs)'
    keys = (
        "verl, actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4"
    )
    assert "logits" not in sentences(f"{keys}\n{code}", tried="8.36 GiB")


def test_keys_that_speak_of_log_probs_are_no_traceback_about_logits():
    keys = (
        "verl\nactor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4"
    )
    code = '  File "/x/vllm/model_executor/layers/fused_moe/fused_moe.py", line 1640, in fused_experts_impl'
    assert "logits" not in sentences(f"{keys}\n{code}", tried="1.51 GiB")


def test_a_size_is_named_as_one_of_the_pass_that_failed():
    keys = (
        "verl, 8 x H100, python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B "
        "data.max_prompt_length=512 data.max_response_length=1536 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4"
    )
    frame = '  File "verl/workers/actor/dp_actor.py", line 248, in {}\n    x()'
    update, logprob = (
        sentences(f"{keys}\n{frame.format(one)}", tried="4.64 GiB") for one in ("update_policy", "compute_log_prob")
    )
    assert ("an update micro batch" in update, "a log-prob micro batch" in update) == (True, False)
    assert ("an update micro batch" in logprob, "a log-prob micro batch" in logprob) == (False, True)


def test_a_small_piece_is_the_allocators_own():
    assert "20 MiB is the allocator’s own piece for a tensor of 1 to 10 MiB" in sentences(tried="20.00 MiB")


def test_more_free_than_asked_for_is_no_shortage():
    said = sentences(tried="20.00 MiB", free="66.43 GiB", held="12.00 GiB", allocated="8.51 GiB")
    assert "66.4 GiB were free" in said
    assert "not short of memory" in said


def test_more_than_the_whole_card_is_no_matter_of_settings():
    assert "more than the whole card" in sentences(tried="910.00 GiB")


def test_logits_beyond_the_card_are_a_matter_of_rows():
    keys = (
        "trl grpo --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 128 "
        "--max_prompt_length 512 --max_completion_length 1536"
    )
    # 128 rows × 2048 tokens × 152064 × 4 bytes = 148.5 GiB
    said = sentences(keys, tried="148.50 GiB")
    assert "only a smaller tensor helps, by fewer rows or tokens in a pass" in said
    assert "product of two lengths" not in said


def test_what_is_neither_free_nor_the_processes_own_is_another_tenants():
    said = sentences(free="5.11 GiB", held="42.64 GiB", allocated="40.00 GiB", unused="1.00 GiB", tried="7.25 GiB")
    assert "31.4 GiB of the card are neither this process’s nor free" in said


def test_idle_memory_that_would_have_done_lies_in_pieces():
    said = sentences(tried="6.00 GiB", unused="9.50 GiB", allocated="67.00 GiB")
    assert "10.5 GiB are free or reserved and unused (9.5 GiB of it reserved)" in said
    assert "not in one piece" in said


def test_idle_memory_that_would_not_have_done_is_a_full_card():
    assert "a full card, not a fragmented one" in sentences()


def test_of_two_sizes_that_look_alike_neither_is_called_less_than_the_other():
    said = sentences(tried="2.32 GiB", free="1.81 GiB", unused="0.50 GiB")
    assert "2.3 GiB are free or reserved and unused, a little less than was asked for: a full card" in said


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"held": "79.00 GiB", "free": "8.00 GiB", "tried": "9.00 GiB"}, "more than the card has"),
        ({"held": "61.00 GiB", "allocated": "88.00 GiB"}, "Do not add them up"),
        ({"held": "0 bytes", "free": "1.00 GiB"}, "The driver tells nothing of this process"),
    ],
)
def test_figures_that_contradict_each_other_are_said_to(figures, words):
    assert words in sentences(**figures)


def test_figures_of_a_sleeping_engine_name_no_other_tenant():
    assert "neither this process’s" not in sentences(held="61.00 GiB", allocated="88.00 GiB")


def test_a_request_that_only_logits_can_be_is_told_as_rows_in_two_types():
    command = (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
        "data.max_prompt_length=1024 data.max_response_length=8192 actor_rollout_ref.model.use_remove_padding=True "
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 trainer.n_gpus_per_node=8\n"
        '  File "/opt/verl/workers/actor/dp_actor.py", line 412, in update_policy\n    loss.backward()'
    )
    said = sentences(command, tried="16.00 GiB")
    assert "can only be logits here" in said
    assert (
        "rows of about 3,531 tokens on average in fp32, or 7,061 in bf16; the estimate takes 7,061, the longer ones."
        in said
    )
