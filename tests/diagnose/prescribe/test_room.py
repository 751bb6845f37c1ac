"""An engine that found no room for its cache: what its share leaves, by the rule of its version, and the smallest step that is enough."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report.text import to_text
from diagnose.units import GIB

NO_BLOCKS = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
TOO_LONG = "The model's max seq len (40960) is larger than the maximum number of tokens that can be stored in KV cache (9024).\n"
OPENRLHF = (
    "openrlhf train_ppo_ray --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --colocate_all_models --vllm_gpu_memory_utilization {share}"
    " --pretrain Qwen/Qwen2.5-32B-Instruct --actor_num_gpus_per_node 8 --zero_stage 3 --adam_offload --micro_train_batch_size 1"
    " --micro_rollout_batch_size 1 --prompt_max_len 1024 --generate_max_len 8192\n8 x H100 80GB\n"
)
SWIFT = (
    "swift rlhf --rlhf_type grpo --model Qwen/Qwen3-14B --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.4"
    " --num_generations 8 --max_completion_length 4096 --tuner_type lora\n4 x A100 80GB\n"
)


def answer(paste):
    return diagnose(paste, {}, current(), [])


def advice(diagnosis, slug):
    return next((one for one in diagnosis.prescriptions if one.lever.slug == slug), None)


def refused(diagnosis, slug):
    return next((one.why for one in diagnosis.not_advised if one.lever.slug == slug), None)


def test_a_share_below_the_weights_is_told_with_its_figures():
    """32.76 billion parameters × 2 B over two cards are 30.5 GiB; 0.3 of 79.1 GiB are 23.7."""
    room = answer(NO_BLOCKS + OPENRLHF.format(share=0.3)).room
    assert room.share == pytest.approx(0.3 * 79.1 * GIB, rel=0.01)
    assert room.weights == pytest.approx(32.76e9 * 2 / 2, rel=0.01)
    assert room.left == room.share - room.weights - room.work - room.others < 0
    assert (
        room.row == 2 * 64 * 4 * 128 * 2 * 9216
    )  # layers × KV heads of one of two cards × width × bf16, keys and values


def test_the_smallest_share_is_advised_that_holds_one_longest_sequence():
    given = advice(answer(NO_BLOCKS + OPENRLHF.format(share=0.3)), "rollout.gpu_memory_utilization.up")
    assert [change.after for change in given.changes] == ["0.5"]
    before, after = given.room
    assert not before.enough
    assert after.enough
    assert after.left - before.left == pytest.approx(0.2 * 79.1 * GIB, rel=0.01)


def test_what_leaves_the_room_as_it_is_is_not_advised():
    found = answer(NO_BLOCKS + OPENRLHF.format(share=0.3))
    assert advice(found, "length.response.down") is None
    assert "still lack" in refused(found, "length.response.down")


def test_a_length_limit_above_the_cache_is_lowered_as_far_as_it_must():
    found = answer(TOO_LONG + SWIFT)
    given = advice(found, "rollout.max_model_len.down")
    assert 0 < found.room.left < found.room.row
    assert [change.after for change in given.changes] == ["9024"]
    assert given.after_verdict == "fits"


def test_the_length_that_the_message_prints_is_the_one_that_is_advised():
    message = (
        "ValueError: To serve at least one request with the models's max seq len (32768), (1.75 GiB KV cache is needed, which is larger "
        "than the available KV cache memory (1.42 GiB). Based on the available memory, the estimated maximum model length is 26560. Try "
        "increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n"
    )
    serve = "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.3 --max-model-len 32768\nRTX 4090 24GB\n"
    given = advice(answer(serve + message), "rollout.max_model_len.down")
    assert [change.after for change in given.changes] == ["26560"]
    assert given.after_verdict == "fits"


TOO_LITTLE = "Free memory on device ({free}/79.25 GiB) on startup is less than desired GPU memory utilization (0.9, 71.33 GiB).\n"
VERL = (
    "verl==0.4.1\npython3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
    "data.max_prompt_length=1024 data.max_response_length=4096 actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.rollout.tensor_model_parallel_size=1 actor_rollout_ref.rollout.gpu_memory_utilization=0.9 "
    "trainer.n_gpus_per_node=8 trainer.nnodes=1\n8 x A100 80GB\n"
)
SERVE = "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.9 --max-model-len 8192\nA100 80GB\n"


def test_a_printed_length_below_the_longest_row_is_not_advised():
    """Prompt and answer come to 5,120 tokens."""
    command = VERL.replace("trainer.nnodes", "actor_rollout_ref.rollout.max_model_len=40960 trainer.nnodes")
    found = answer(TOO_LONG.replace("9024", "3000") + command)
    assert found.facts.values["fitting_length"] == 3000
    given = advice(found, "rollout.max_model_len.down")
    assert given is None or int(given.changes[0].after) >= 5120


@pytest.mark.parametrize("command", [VERL, SERVE])
def test_where_too_little_is_free_the_share_holds_one_longest_sequence_and_no_more_than_is_free(command):
    found = answer(command + TOO_LITTLE.format(free="21.33"))
    (change,) = advice(found, "rollout.gpu_memory_utilization.down").changes
    needs = 15.2 + 2  # GiB of weights in bf16 and of the least that a step takes
    assert needs / 79.25 < float(change.after) <= 21.33 / 79.25
    smaller = diagnose(command, {"gpu_memory_utilization": float(change.after)}, current(), [])
    assert smaller.facts.values["gpu_memory_utilization"] == float(change.after)


@pytest.mark.parametrize("command", [VERL, SERVE])
def test_where_no_share_is_enough_none_is_advised(command):
    found = answer(command + TOO_LITTLE.format(free="11.00"))
    assert advice(found, "rollout.gpu_memory_utilization.down") is None
    assert "no share is enough" in refused(found, "rollout.gpu_memory_utilization.down")


@pytest.mark.parametrize(
    ("command", "who"), [(VERL, "of the trainer of the same run, the rest"), (SERVE, "by another process")]
)
def test_it_says_who_holds_what_was_not_free(command, who):
    told = to_text(answer(command + TOO_LITTLE.format(free="21.33"))).replace("\u00a0", " ")
    assert "57.9 GiB of the card were in use before the engine took anything" in told
    assert who in told


def test_the_answer_says_where_the_share_went():
    told = to_text(answer(NO_BLOCKS + OPENRLHF.format(share=0.3)))
    assert "leaves nothing for its cache" in told
    assert "short →" in told


def test_where_the_share_is_ample_the_failure_stays_unexplained():
    found = answer(NO_BLOCKS + OPENRLHF.format(share=0.6))
    assert found.room.enough
    assert "do not explain" in to_text(found)
    assert all(one.room is None for one in found.prescriptions)


def test_other_failures_have_no_room():
    assert answer("CUDA out of memory. Tried to allocate 2.00 GiB.\n" + SWIFT).room is None


LOGGED = "INFO 05-11 10:12:44 [gpu_worker.py:227] Available KV cache memory: {left} GiB\n"


def test_what_the_log_lacks_stands_before_what_is_reckoned():
    found = answer(LOGGED.format(left="-3.12") + NO_BLOCKS + SWIFT)
    assert found.room.left > 0 > found.room.rest
    assert found.room.rest == pytest.approx(-3.12 * GIB, rel=0.001)
    assert "The log shows that 3.1 GiB are lacking before any cache." in to_text(found)
    before, after = advice(found, "rollout.gpu_memory_utilization.up").room
    assert after.rest - before.rest == pytest.approx(0.1 * 79.1 * GIB, rel=0.01)
    assert "still lack 3.1" in refused(found, "rollout.max_model_len.down")


@pytest.mark.parametrize(("card", "refused"), [("A100", True), ("GH200", False)])  # of 40 or 80 GB, of 96 or 144
def test_what_no_size_of_the_card_holds_is_no_way_out(advise, card, refused):
    text = (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=88213.0. Some of the step tasks have been OOM Killed.\n#SBATCH --mem=480G\n"
        f"8 x {card}\n"
        "deepspeed --num_gpus 8 openrlhf/cli/train_ppo_ray.py --pretrain Qwen/Qwen2.5-14B --zero_stage 3 --adam_offload "
        "--micro_train_batch_size 2 --rollout_batch_size 128"
    )
    advice = advise(text)
    assert ("offload.optimizer.off" not in advice.levers) is refused
    if refused:
        assert "the largest A100 has 79.2" in advice.refused("offload.optimizer.off").why


SMALL_SHARE = """ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
verl 0.4.0, vllm==0.8.5, 8 x A800 80GB
actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B algorithm.adv_estimator=grpo
actor_rollout_ref.rollout.tensor_model_parallel_size=2
actor_rollout_ref.rollout.gpu_memory_utilization={share}
"""


def test_a_share_that_the_engine_alone_fills_comes_before_a_version() -> None:
    found = diagnose(SMALL_SHARE.format(share=0.4), {}, current(), ())
    assert {one.lever.slug for one in found.prescriptions[:2]} == {
        "rollout.gpu_memory_utilization.up",
        "rollout.tensor_parallel.up",
    }
    assert found.room is not None
    assert found.room.explains


def test_in_an_ample_share_what_else_counts_against_it_comes_first() -> None:
    found = diagnose(SMALL_SHARE.format(share=0.6), {}, current(), ())
    assert found.prescriptions[0].lever.slug == "upgrade.vllm"


@pytest.mark.parametrize(("free", "share"), [("62.11", "0.6"), ("70.40", "0.5")])
def test_of_a_card_that_nobody_tells_what_the_log_shows_free_before_the_engine_gives_the_share(free, share):
    """Its share is one of what is free when it loads: 30.5 GiB of weights and 1.1 of one sequence want 0.51 of 62.11, 0.45 of 70.40."""
    paste = (
        f"Load weight begin. avail mem={free} GB\n"
        "Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=31.21 GB, mem usage=30.90 GB.\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-32B-Instruct"
        " data.train_batch_size=1024 data.max_prompt_length=512 data.max_response_length=8192 actor_rollout_ref.rollout.name=sglang"
        " actor_rollout_ref.rollout.gpu_memory_utilization=0.3 actor_rollout_ref.rollout.tensor_model_parallel_size=2"
        " actor_rollout_ref.rollout.n=5 trainer.n_gpus_per_node=8 trainer.nnodes=1\n"
    )
    first = answer(paste).prescriptions[0]
    assert (first.lever.slug, [change.after for change in first.changes]) == (
        "rollout.gpu_memory_utilization.up",
        [share],
    )
