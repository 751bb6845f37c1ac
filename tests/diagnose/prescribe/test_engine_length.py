"""The length that an engine is started for where nothing sets it: the row's, or the longest context that the model knows."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis

NO_ROOM = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
VERL = (
    "verl {version}, 8 x A100 80GB\n"
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=256 data.max_prompt_length=2048 "
    "data.max_response_length=8192 actor_rollout_ref.model.path=meta-llama/Llama-3.1-8B-Instruct "
    "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 "
    "actor_rollout_ref.rollout.n=8 actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.tensor_model_parallel_size=1 "
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.3 {more} trainer.n_gpus_per_node=8 trainer.nnodes=1\n"
)
SWIFT = (
    "ms-swift 3.6.0, 8 x A100 80GB\n"
    "NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model LLM-Research/Meta-Llama-3.1-8B-Instruct --train_type full --use_vllm true "
    "--vllm_mode colocate --vllm_gpu_memory_utilization 0.3 --sleep_level 1 --deepspeed zero3 --torch_dtype bfloat16 "
    "--max_length 2048 --max_completion_length 2048 --per_device_train_batch_size 2 --num_generations 8\n"
)
SHORT = (
    "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (51000). "
    "Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n"
)
SMALLER = "rollout.max_model_len.down"
KNOWN = 131_072  # tokens that Llama 3.1 knows


def told(text: str, failed: str = NO_ROOM) -> Diagnosis:
    return diagnose(text + failed, {}, current(), ())


def changes(found: Diagnosis) -> list[tuple[str, str]]:
    return [
        (one.key, one.after) for lever in found.prescriptions if lever.lever.slug == SMALLER for one in lever.changes
    ]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [(VERL.format(version="0.6.1", more=""), 10_240), (VERL.format(version="0.7.1", more=""), KNOWN), (SWIFT, KNOWN)],
)
def test_a_cache_holds_one_sequence_of_what_the_engine_is_started_for(text: str, tokens: int) -> None:
    room = told(text).room
    assert room is not None
    assert room.tokens == tokens


def test_a_limit_is_set_where_the_engine_takes_the_models_and_by_the_key_that_counts() -> None:
    assert changes(told(SWIFT, SHORT)) == [("vllm_max_model_len", "51000")]
    key = "actor_rollout_ref.rollout.max_model_len"
    assert changes(told(VERL.format(version="0.7.1", more=""), SHORT)) == [(key, "51000")]
    unread = VERL.format(version="0.7.0", more=f"{key}=16384")
    assert changes(told(unread, SHORT)) == [("actor_rollout_ref.rollout.engine_kwargs.vllm.max_model_len", "51000")]


def test_none_is_advised_below_the_longest_row() -> None:
    found = told(VERL.format(version="0.6.1", more=""))
    assert not changes(found)
    (refused,) = [one for one in found.not_advised if one.lever.slug == SMALLER]
    assert "10,240 tokens" in refused.why


def test_what_the_log_shows_left_is_room_though_the_estimate_has_the_start_full() -> None:
    log = (
        "ValueError: To serve at least one request with the models's max seq len (40960), (5.62 GiB KV cache is needed, which is larger "
        "than the available KV cache memory (3.10 GiB). Based on the available memory, the estimated maximum model length is 22560.\n"
    )
    run = VERL.format(version="0.6.1", more="actor_rollout_ref.rollout.max_model_len=40960")
    run = run.replace("8 x A100 80GB", "4 x RTX 4090 24GB").replace("n_gpus_per_node=8", "n_gpus_per_node=4")
    run = run.replace("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B").replace(
        "utilization=0.3", "utilization=0.85"
    )
    found = diagnose(run + log, {}, current(), ())
    assert found.prescriptions[0].lever.slug == SMALLER
    assert changes(found) == [("actor_rollout_ref.rollout.max_model_len", "22560")]


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("Qwen/Qwen2.5-7B", 131_072),
        ("Qwen/Qwen2.5-7B-Instruct", 32_768),
        ("Qwen/Qwen2.5-Math-7B-Instruct", 4_096),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 131_072),
        ("Qwen/Qwen3-4B-Instruct-2507", 262_144),
        ("Qwen/Qwen3-8B-FP8", 40_960),
        ("Qwen/Qwen3-8B-Base", 32_768),
        ("me/qwen2.5-7b-sft", None),
        ("ibm-granite/granite-3.3-8b-instruct", None),
    ],
)
def test_a_sister_of_the_same_shape_may_know_another_context(model: str, tokens: int | None) -> None:
    text = VERL.format(version="0.8.0", more="").replace("meta-llama/Llama-3.1-8B-Instruct", model)
    found = told(text)
    assert found.facts.values.get("max_model_len") == tokens
    assert found.room is not None
    assert found.room.tokens == (tokens or 2048 + 8192)
