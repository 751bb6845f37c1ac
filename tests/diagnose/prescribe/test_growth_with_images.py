"""Host RAM that grows where an engine keeps processed images."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

GROWS = (
    "verl GRPO, vllm 0.8.5, 8 x A100 80G, host memory keeps increasing, about 12GB every step, until ray kills it\n"
    "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/{model} actor_rollout_ref.rollout.name=vllm data.image_key=images"
)
OFF = " +actor_rollout_ref.rollout.engine_kwargs.vllm.{}"


def first(text: str) -> list[str]:
    return [one.lever.slug for one in diagnose(text, {}, current(), ()).prescriptions]


def test_the_cache_of_images_comes_first():
    assert first(GROWS.format(model="Qwen2.5-VL-7B-Instruct"))[0] == "rollout.mm_cache.down"


@pytest.mark.parametrize("key", ["disable_mm_preprocessor_cache=True", "mm_processor_cache_gb=0"])
def test_not_where_it_is_off(key: str):
    assert "rollout.mm_cache.down" not in first(GROWS.format(model="Qwen2.5-VL-7B-Instruct") + OFF.format(key))
