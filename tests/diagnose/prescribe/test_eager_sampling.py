"""Attention that is told to be eager, where the trainer's own model runs out over the images of a prompt."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

RUN = (
    "torchrun --nproc_per_node=4 src/open_r1/grpo_rec.py --deepspeed local_scripts/zero3.json "
    "--model_name_or_path Qwen/Qwen2-VL-7B-Instruct --per_device_train_batch_size 1 --bf16 "
    "--gradient_checkpointing true --attn_implementation {kind} --max_pixels 2000000\n"
    "4 x H100 80GB\n"
    '  File "/x/open-r1-multimodal/src/open_r1/trainer/grpo_trainer.py", line 423, in compute_loss\n'
    "    prompt_completion_ids = unwrapped_model.generate(**prompt_inputs, generation_config=self.generation_config)\n"
    '  File "/x/transformers/models/qwen2_vl/modeling_qwen2_vl.py", line 308, in forward\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 39.56 GiB. GPU 3 has a total capacity of 79.11 GiB "
    "of which 24.80 GiB is free.\n"
)


@pytest.mark.parametrize(("kind", "lever"), [("eager", "attention.flash"), ("flash_attention_2", "image.pixels.down")])
def test_what_makes_the_images_of_a_prompt_smaller_is_advised(kind, lever):
    found = diagnose(RUN.format(kind=kind), {}, current(), ())
    said = {one.lever.slug for one in found.prescriptions}
    assert found.phase == "rollout"
    assert lever in said
    assert kind == "eager" or "attention.flash" not in said
