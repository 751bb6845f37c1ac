"""Engines that run alone, as whole pastes: what their start leaves the cache, whether it passes, and changes in their own flags."""

from __future__ import annotations

import pytest

from diagnose.estimate.cache import kv_bytes_per_token
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report.text import to_text
from diagnose.types import Diagnosis
from diagnose.units import GIB
from diagnose.words import lead
from diagnose.words.headline import headline
from wizard.verdict import stamp

NO_BLOCKS = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 79.15 GiB of which 300.00 MiB is"
    " free."
)
TRL = (
    "CUDA_VISIBLE_DEVICES=0,1 trl vllm-serve --model Qwen/Qwen2.5-32B-Instruct --tensor-parallel-size 2 --max-model-len 16384"
    " --gpu-memory-utilization {share}\n2 x A100 40GB\n"
)
SWIFT = (
    "CUDA_VISIBLE_DEVICES=0,1,2,3 swift rollout --model Qwen/Qwen2.5-72B-Instruct --vllm_tensor_parallel_size 4"
    " --vllm_gpu_memory_utilization 0.98 --vllm_max_model_len 8192\n4 x A100 80GB\n"
)
TOO_LONG = (
    "vllm serve Qwen/Qwen3-32B --max-model-len 131072 --gpu-memory-utilization 0.9\n1 x H100 80GB\n"
    "ValueError: To serve at least one request with the model's max seq len (131072), (32.00 GiB KV cache is needed, which is larger than"
    " the available KV cache memory (6.10 GiB). Based on the available memory, the estimated maximum model length is 24976.\n"
)
ON_A_FULL_CARD = (
    "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.rollout.name=sglang"
    " actor_rollout_ref.rollout.gpu_memory_utilization=0.5 actor_rollout_ref.rollout.tensor_model_parallel_size=1"
    " trainer.n_gpus_per_node=8 trainer.nnodes=1\n8 x H100 80GB\n"
    "[2025-06-01 10:00:00 TP0] Load weight begin. avail mem={free} GB\n"
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
)
SGLANG = (
    "python -m sglang.launch_server --model-path Qwen/Qwen2.5-14B-Instruct --tp-size 1 --mem-fraction-static 0.9 --context-length 32768\n"
    f"1 x A100 80GB\n[2025-06-01 10:00:00] Capture cuda graph failed: {OOM}\n"
)
QUIET = (
    "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.9 --max-model-len 32768\nNVIDIA A100-SXM4-80GB\n"
)
OF_TRAINING = (
    "offload.",
    "shard.",
    "checkpointing.",
    "length.",
    "batch.",
    "optimizer.",
    "peft.",
    "algo.",
    "precision.",
    "sync.",
)


def told(text: str, **answers: str | float | bool) -> Diagnosis:
    return diagnose(text, answers, current(), ())


def changes(found: Diagnosis) -> dict[str, str]:
    return {change.key: change.after for given in found.prescriptions for change in given.changes}


@pytest.mark.parametrize("paste", [NO_BLOCKS + TRL.format(share=0.75), SWIFT + OOM, TOO_LONG, SGLANG, QUIET])
def test_nothing_of_a_training_is_said_of_an_engine_alone(paste: str) -> None:
    found = told(paste)
    assert [phase.phase for phase in found.estimate.gpu.phases] == ["load", "init", "rollout"]
    terms = {term.id for phase in found.estimate.gpu.phases for term in phase.terms if term.bytes}
    assert terms <= {
        "engine_weights", "kv_pool", "engine_graphs", "engine_activations", "cuda_context", "nccl", "workspaces"
    }  # fmt: skip
    assert (found.estimate.host, found.estimate.torch_allocated, found.estimate.missing) == (None, None, ())
    levers = {given.lever.slug for given in found.prescriptions}
    assert not any(slug.startswith(OF_TRAINING) for slug in levers)
    assert not levers & {
        "hardware.more_gpus",
        "upgrade.vllm",
        "rollout.lora_adapter",
        "rollout.gpu_memory_utilization.up",
    }
    assert "runs an engine alone" in lead(found)
    assert "real_response_length" not in found.facts.values


def test_trls_server_that_finds_no_room_for_its_cache() -> None:
    """32.76 billion parameters × 2 B over two cards are 30.5 GiB; 0.75 of 39.4 are 29.5."""
    found = told(NO_BLOCKS + TRL.format(share=0.75))
    assert (found.kind, found.phase) == ("vllm_no_kv_blocks", "init")
    assert found.room.share == pytest.approx(0.75 * 39.4 * GIB, rel=0.01)
    assert found.room.weights == pytest.approx(32.76e9 * 2 / 2, rel=0.01)
    assert found.room.left == found.room.share - found.room.weights - found.room.work < 0
    assert found.room.others == 0
    first = found.prescriptions[0]
    assert [(change.key, change.after) for change in first.changes] == [("gpu-memory-utilization", "0.95")]
    assert first.room[0].left < 0 < first.room[1].left


def test_a_shorter_sequence_is_no_help_where_nothing_is_left() -> None:
    found = told(NO_BLOCKS + TRL.format(share=0.9))
    assert "max-model-len" not in changes(found)
    assert "rollout.max_model_len.down" in {refused.lever.slug for refused in found.not_advised}


def test_swifts_server_whose_share_leaves_its_graphs_no_room() -> None:
    """0.98 of the card is the engine's by its own rule, and the graphs of vLLM before 0.20 come on top of it."""
    found = told(SWIFT + OOM)
    init = found.estimate.gpu.phase("init")
    assert init.bytes > 0.97 * found.estimate.gpu.limit
    assert found.verdict in ("close", "out")
    assert changes(found)["vllm_gpu_memory_utilization"] == "0.88"
    assert next(one for one in found.prescriptions if one.changes).after_verdict == "fits"


def test_a_length_limit_above_the_cache_is_lowered_by_what_the_message_says_is_left() -> None:
    """A token takes 64 layers × 8 heads × 128 × 2 × 2 B = 256 KiB: 6.1 GiB hold 24,985 of them."""
    found = told(TOO_LONG)
    assert found.facts.values["model"] == "Qwen3-32B"
    assert found.room.shown == pytest.approx(6.1 * GIB, rel=0.001)
    assert found.room.holds == pytest.approx(24_985, rel=0.001)
    assert found.room.row == 131072 * kv_bytes_per_token(layers=64, kv_heads=8, head_dim=128)
    assert changes(found)["max-model-len"] == "24976"  # as the message says
    length = next(one for one in found.prescriptions if one.lever.slug == "rollout.max_model_len.down")
    assert length.after_verdict == "fits"
    assert "32.0 GiB → 6.1 GiB for one longest sequence" in to_text(found)


def test_sglangs_server_that_cannot_capture_its_graphs() -> None:
    found = told(SGLANG)
    assert (found.kind, found.phase) == ("gpu_oom", "init")
    pool = next(term for term in found.estimate.gpu.phase("init").terms if term.id == "kv_pool")
    assert pool.bytes == pytest.approx(0.9 * (79.15 - 0.7) * GIB - 14.77e9 * 2, rel=0.01)
    asked = changes(found)
    assert (asked["mem-fraction-static"], asked["disable-cuda-graph"], asked["cuda-graph-max-bs"]) == (
        "0.8",
        "true",
        "32",
    )
    assert not any("_" in key for key in asked if key.islower())


def test_a_switch_is_written_without_a_word_behind_it() -> None:
    found = told(SGLANG)
    given = next(one for one in found.prescriptions if one.lever.slug == "rollout.enforce_eager.on")
    new = [line.text for line in given.patch if "--disable-cuda-graph" in line.text]
    assert new
    assert all(line.endswith("--disable-cuda-graph") for line in new)


def test_a_server_that_did_not_fail_is_told_what_its_cache_holds() -> None:
    """28 layers × 4 heads × 128 × 2 × 2 B are 56 KiB a token."""
    found = told(QUIET)
    assert (found.kind, found.verdict, stamp(found)) == (None, "fits", ("fits", "FITS"))
    assert found.room.holds == found.room.left // (56 * 1024)
    assert headline(found).startswith("By the estimate the engine starts, with room for about 1,0")
    assert f"{found.room.left // found.room.row} such sequences" in lead(found)
    assert found.prescriptions == ()


def test_a_server_that_would_not_start_is_told_so_before_it_fails() -> None:
    found = told("vllm serve Qwen/Qwen3-32B --max-model-len 131072 --gpu-memory-utilization 0.9\n1 x H100 80GB\n")
    assert (found.kind, found.pool, found.verdict) == (None, "gpu", "out")
    assert stamp(found) == ("out", "DOES NOT START")
    assert "less than one longest sequence" in headline(found)
    assert found.prescriptions[0].room is not None
    assert "max-model-len" in changes(found)


def test_an_engine_that_cuts_long_requests_starts_with_a_cache_below_its_limit() -> None:
    found = told(
        "lmdeploy serve api_server Qwen/Qwen2.5-32B-Instruct --cache-max-entry-count 0.5 --session-len 131072 --tp 1\n1 x A100 80GB\n"
    )
    assert 0 < found.room.left < found.room.row
    assert found.verdict == "fits"
    assert "starts nevertheless" in lead(found)


def test_lmdeploys_share_is_one_of_what_the_weights_leave() -> None:
    found = told("lmdeploy serve api_server Qwen/Qwen2.5-7B-Instruct --tp 1 --session-len 8192\n1 x A100 80GB\n")
    assert found.facts.values["gpu_memory_utilization"] == 0.8
    free = 79.2 * GIB - 0.7 * GIB - 7.616e9 * 2
    assert found.room.left == pytest.approx(0.8 * free, rel=0.01)
    assert found.facts.values["enforce_eager"] is True


def test_weights_follow_the_name_of_the_model_and_the_flag() -> None:
    plain, awq, fp8 = (
        told(
            f"vllm serve Qwen/Qwen2.5-32B-Instruct{mark} --max-model-len 8192 --tensor-parallel-size 1\n1 x A100 80GB\n"
        )
        for mark in ("", "-AWQ", " --quantization fp8")
    )
    assert awq.room.weights < 0.35 * plain.room.weights
    assert 0.5 < fp8.room.weights / plain.room.weights < 0.55


def test_stages_of_a_pipeline_share_weights_and_cache() -> None:
    one, two = (
        told(f"vllm serve Qwen/Qwen2.5-32B-Instruct --max-model-len 8192 -pp {stages}\n2 x A100 80GB\n")
        for stages in (1, 2)
    )
    assert two.room.weights == pytest.approx(one.room.weights / 2, rel=0.01)
    assert two.room.row == one.room.row / 2


def test_graphs_count_within_the_share_since_0_20() -> None:
    before, since = (told(f"{QUIET}vllm=={version}\n") for version in ("0.19.0", "0.20.0"))
    assert before.room.left - since.room.left == pytest.approx(1.2 * GIB, rel=0.01)


def test_the_share_by_default_grew_with_0_20() -> None:
    shares = [
        told(
            f"vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --port 8000\nA100 80GB\nvllm=={version}\n"
        ).facts
        for version in ("0.11.0", "0.20.0")
    ]
    assert [facts.values["gpu_memory_utilization"] for facts in shares] == [0.9, 0.92]


def test_sglangs_own_share_is_asked_for_where_nothing_tells_it() -> None:
    found = told(
        "python -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --tp-size 1 --port 30000\n1 x A100 80GB\n"
    )
    assert found.room is None
    assert "gpu_memory_utilization" in found.estimate.missing
    assert "gpu_memory_utilization" in {asked.question.fact for asked in found.questions}


def test_an_engine_that_nobody_knows_gets_no_estimate() -> None:
    found = told("text-generation-launcher --model-id Qwen/Qwen2.5-7B-Instruct --num-shard 2\n2 x A100 80GB\n")
    assert found.facts.values["trains"] is False
    assert found.estimate.gpu is None


def test_a_command_that_infers_is_no_server_by_its_trainers_default() -> None:
    found = told(
        "python -m openrlhf.cli.batch_inference --eval_task generate_vllm --pretrain Qwen/Qwen2.5-7B-Instruct\n8 x A100 80GB\n"
    )
    assert not found.facts.serves
    assert found.estimate.gpu is None or found.facts.values.get("trains") is not False


def test_a_server_beside_a_trainer_leaves_the_trainer_as_it_is() -> None:
    trains = (
        "accelerate launch --num_processes 2 grpo.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct --use_vllm true --vllm_mode server"
        " --per_device_train_batch_size 4 --max_completion_length 1024 # trl/trainer/\n2 x A100 80GB\n"
    )
    serves = "CUDA_VISIBLE_DEVICES=2,3 trl vllm-serve --model Qwen/Qwen2.5-7B-Instruct --tensor_parallel_size 2\n"
    both = told(serves + trains + OOM)
    assert not both.facts.serves
    assert both.room is None
    assert "actor_update" in {phase.phase for phase in both.estimate.gpu.phases}


def test_a_way_of_training_is_not_taken_for_what_trains_nothing() -> None:
    assert "full_or_lora" not in told(NO_BLOCKS + TRL.format(share=0.75)).facts.values


def test_a_card_too_small_for_the_weights_gets_more_ranks_though_nobody_counts_the_cards() -> None:
    """72.7 billion parameters × 2 B are 135 GiB; of two cards of 79 GiB each has room for half and for a cache."""
    found = told("vllm serve Qwen/Qwen2.5-72B-Instruct --max-model-len 8192 --port 8000\nNVIDIA A100-SXM4-80GB\n")
    assert (found.verdict, found.estimate.gpu.verdict()) == ("out", "out")
    given = found.prescriptions[0]
    assert [(change.key, change.after) for change in given.changes] == [("tensor-parallel-size", "2")]
    assert given.after_verdict == "fits"


def test_ranks_that_hold_the_weights_and_no_longest_sequence_are_not_enough() -> None:
    found = told("vllm serve Qwen/Qwen2.5-72B-Instruct --max-model-len 32768 --port 8000\nNVIDIA A100-SXM4-80GB\n")
    assert [change.after for change in found.prescriptions[0].changes] == ["4"]


def test_what_its_engine_does_not_count_leaves_no_more_room() -> None:
    start = "python -m sglang.launch_server --model-path Qwen/Qwen2.5-32B-Instruct --tp 2 --mem-fraction-static 0.3 --context-length 8192\n"
    found = told(
        f"{start}2 x A100 80GB\nRuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
    )
    assert changes(found)["mem-fraction-static"] == "0.5"
    levers = {given.lever.slug for given in found.prescriptions}
    assert not levers & {"rollout.enforce_eager.on", "rollout.max_num_seqs.down", "rollout.max_num_batched_tokens.down"}
    assert "engine_version" not in {asked.question.fact for asked in found.questions}


def test_weights_are_those_that_are_published_unless_the_name_says_otherwise() -> None:
    """gpt-oss-20b: 4.25 bits a parameter of its experts and 12.8 GiB in all, arXiv:2508.10925, section 2.1 and table 1."""
    few, whole = (
        told(f"vllm serve {name} --max-model-len 8192 --port 8000\n1 x A100 80GB\n").room.weights
        for name in ("openai/gpt-oss-20b", "unsloth/gpt-oss-20b-BF16")
    )
    assert few == pytest.approx(12.8 * GIB, rel=0.01)
    assert whole == pytest.approx(20.91e9 * 2, rel=0.01)


@pytest.mark.parametrize(("mark", "known"), [("", False), ("-GPTQ-Int4", True)])
def test_weights_of_bits_that_nothing_tells_are_not_reckoned(mark: str, known: bool) -> None:
    found = told(
        f"vllm serve Qwen/Qwen2.5-32B-Instruct{mark} --quantization gptq_marlin --max-model-len 8192\n1 x A100 80GB\n"
    )
    assert (found.estimate.gpu is not None) is known
    assert ("engine_quantization" in found.estimate.missing) is not known


@pytest.mark.parametrize(("name", "billions"), [("moonshotai/Kimi-K2-Instruct", 1026), ("MiniMaxAI/MiniMax-M2", 229)])
def test_a_model_that_is_published_in_8_bits_takes_a_byte_a_parameter(name: str, billions: float) -> None:
    """github.com/MoonshotAI/Kimi-K2 README.md at c6157be, section 4: block-fp8; Megatron-Bridge: “~230GB fp8”."""
    weights = told(f"vllm serve {name} --tensor-parallel-size 16 --max-model-len 8192\n16 x H200\n").room.weights
    assert weights == pytest.approx(billions * 1e9 / 16, rel=0.02)


def test_what_was_free_before_an_engine_loads_explains_a_share_of_it_that_is_too_small() -> None:
    found = told(ON_A_FULL_CARD.format(free="27.20"))
    assert found.room is not None
    assert not found.room.enough
    assert (found.room.others + found.room.unseen) / GIB == pytest.approx(79.11 - 27.2, abs=0.1)
    share = next(one for one in found.prescriptions if one.lever.slug == "rollout.gpu_memory_utilization.up")
    assert share.room is not None
    assert (share.room[1].rest - share.room[0].rest) / GIB == pytest.approx(2.72, abs=0.01)
    assert "2.7 GiB more" in share.why


def test_a_card_that_was_empty_before_an_engine_loads_hides_nothing() -> None:
    found = told(ON_A_FULL_CARD.format(free="78.60"))
    assert found.room is not None
    assert found.room.enough
    assert found.room.unseen == 0
