"""What vLLM runs through a vision tower as it starts, by v0.11.0 v1/worker/utils.py (MultiModalBudget) and models/qwen2_vl.py."""

from __future__ import annotations

import pytest

from diagnose.estimate import plan_of
from diagnose.estimate.encoder import tower_bytes, tried_tokens
from diagnose.estimate.engine import engine_activations
from diagnose.estimate.engine_weights import weight_bytes
from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.units import GIB

QWEN = "vllm serve Qwen/Qwen2.5-VL-7B-Instruct --max-model-len 8192 "
VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name={} data.max_prompt_length=1024 "
    "data.max_response_length=2048 actor_rollout_ref.model.path=Qwen/Qwen2.5-VL-7B-Instruct trainer.n_gpus_per_node=8 "
)


def plan(text: str):
    knowledge = current()
    found = plan_of(read_facts(read(text + "\n8 x A100 80GB"), {}, knowledge), knowledge.fallback)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("command", "tokens"),
    [
        (QWEN, 16384),  # one image, though a step holds fewer tokens
        (QWEN + "--max-num-batched-tokens 32768", 32768),
        (QWEN + """--mm-processor-kwargs '{"max_pixels": 1003520}'""", 6 * 1280),
        (QWEN + "--skip-mm-profiling", 0),
        (QWEN.replace("8192", "65536"), 4 * 16384),  # a video of as many images as the length holds
        (QWEN.replace("8192", "65536") + "--limit-mm-per-prompt image=2,video=0", 16384),
        (QWEN.replace("8192", "65536") + """--limit-mm-per-prompt '{"image": 2, "video": 0}'""", 16384),
        ("vllm serve Qwen/Qwen2.5-VL-7B-Instruct --max-num-seqs 64", 7 * 16384),  # 128,000 tokens, 14 frames at most
        ("vllm serve Qwen/Qwen3-VL-8B-Instruct --max-model-len 65536", 16384),
        ("vllm serve OpenGVLab/InternVL3-8B --max-model-len 8192", 3328),
        ("vllm serve google/gemma-3-12b-it --max-model-len 8192 --max-num-batched-tokens 8192", 8192),
        ("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192", 0),
        (VERL.format("vllm") + "verl 0.6.1", 16384),
        (VERL.format("vllm") + "verl 0.7.0", 7 * 16384),
        (VERL.format("vllm") + "verl 0.7.0 +actor_rollout_ref.rollout.engine_kwargs.vllm.limit_mm_per_prompt.video=0", 16384),
        (VERL.format("sglang") + "verl 0.7.0", 0),
    ],
)  # fmt: skip
def test_it_tries_the_longest_item_that_a_prompt_may_hold(command: str, tokens: int) -> None:
    assert tried_tokens(plan(command)) == tokens


def test_the_tower_takes_one_layer_of_all_patches_and_their_pixels() -> None:
    """28,200 bytes a patch of a layer of Qwen2.5-VL's tower, and 1,176 numbers of its pixels in fp32 and in bf16"""
    assert tower_bytes(plan(QWEN), 16384) == 65536 * (28200 + 1176 * 6)


@pytest.mark.parametrize(("length", "by_tower"), [("8192 --max-num-batched-tokens 16384", False), ("65536", True)])
def test_the_larger_of_both_passes_counts(length: str, by_tower: bool) -> None:
    term = engine_activations(plan(QWEN.replace("8192", length)))
    assert ("through the vision tower" in term.how) is by_tower
    assert (term.bytes > 6 * GIB) is by_tower


def test_an_engine_leaves_out_what_speaks() -> None:
    """v0.11.0 models/qwen2_5_omni_thinker.py: skip_prefixes"""
    served = plan("vllm serve Qwen/Qwen2.5-Omni-7B --max-model-len 8192 --max-num-seqs 64")
    assert weight_bytes(served) == 2 * (served.shape.parameters - 1_800_000_000)
