"""A frozen base that was loaded in fp32: half of it goes without a change of results."""

from __future__ import annotations

RUN = (
    "from trl import GRPOConfig\nargs = GRPOConfig(per_device_train_batch_size=2, num_generations=8, max_prompt_length=512, "
    "max_completion_length=512, use_vllm=False, gradient_checkpointing=True, bf16=True)\n"
    'trainer = GRPOTrainer(model="Qwen/Qwen2.5-7B-Instruct", args=args, peft_config=LoraConfig(r=16))\n1 x A10 24GB\n'
)
FAILED = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 130.00 MiB. GPU 0 has a total capacity of 22.06 GiB.\n"


def test_an_adapters_base_in_fp32_is_advised_in_bf16(advise):
    found = advise(RUN + FAILED)
    given = found.advised("precision.base_bf16")
    assert given.before is not None
    assert given.after is not None
    assert given.before.bytes - given.after.bytes > 13 * 2**30  # half of 7.6 G × 4 B
    assert given.lever.results == "same"


def test_a_base_in_16_bits_needs_none(advise):
    found = advise(RUN.replace("bf16=True", 'bf16=True, model_init_kwargs={"torch_dtype": "bfloat16"}') + FAILED)
    assert "precision.base_bf16" not in found.levers


def test_neither_does_full_training(advise):
    assert "precision.base_bf16" not in advise(RUN.replace(", peft_config=LoraConfig(r=16)", "") + FAILED).levers
