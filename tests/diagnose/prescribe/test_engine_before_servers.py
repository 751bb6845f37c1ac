"""TRL before it had a server for its engine: the engine stands on one card, whatever is written."""

RUN = """
R1-V, 4x3090
cd src/r1-v
CUDA_VISIBLE_DEVICES="0,1,2,3" torchrun --nproc_per_node="3" --nnodes="1" src/open_r1/grpo.py --use_vllm True --output_dir out \\
    --model_name_or_path Qwen/Qwen2-VL-2B-Instruct --max_prompt_length 1024 --max_completion_length 1024 --num_generations 6 \\
    --per_device_train_batch_size 1 --bf16 true --gradient_checkpointing true --max_pixels 400000 --deepspeed local_scripts/zero3.json
ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
"""


def test_it_is_not_split_over_cards(advise):
    """huggingface/trl v0.15.2 trainer/grpo_trainer.py: vllm_device; v0.16.0 scripts/vllm_serve.py"""
    assert "rollout.tensor_parallel.up" not in advise(RUN).levers
