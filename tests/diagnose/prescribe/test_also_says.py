"""What one written key comes to where several entries read it, or another key goes along: told as the changed command is estimated."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

_SWIFT = (
    "NPROC_PER_NODE=6 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-VL-7B-Instruct --use_vllm true --vllm_mode server "
    "--vllm_server_host 127.0.0.1 --train_type full --per_device_train_batch_size 16 --gradient_accumulation_steps 2 "
    "--num_generations 8 --max_completion_length 2048 --deepspeed zero2 --gradient_checkpointing true"
)
_SLIME = (
    "python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --tensor-model-parallel-size 2 --sequence-parallel "
    "--use-dynamic-batch-size --max-tokens-per-gpu 16384 --rollout-num-gpus-per-engine 2 --sglang-mem-fraction-static 0.8 "
    "--rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 8192 --hf-checkpoint Qwen/Qwen3-8B "
    "--advantage-estimator grpo"
)


@pytest.mark.parametrize(
    ("command", "behind", "key", "written"),
    [
        (_SWIFT, "8xA100 80G CUDA OOM in backward", "use_liger_kernel", "--use_liger_kernel true"),
        (
            _SLIME,
            "slime on 8xH100. CUDA OOM in train_actor backward",
            "optimizer-cpu-offload",
            "--optimizer-cpu-offload --use-precision-aware-optimizer",
        ),
    ],
)
def test_the_memory_after_is_that_of_the_changed_command(command, behind, key, written):
    told = diagnose(f"{command}\n{behind}", {}, current(), ())
    change = next(one for one in told.prescriptions if key in {change.key for change in one.changes})
    done = diagnose(f"{command} {written}\n{behind}", {}, current(), ())
    assert change.after.shown == done.estimate.gpu.phase(change.after.phase).shown
