"""Cards that a run is given of what a machine holds: lists of devices, containers, pods, one actor of a cluster."""

from __future__ import annotations

import pytest

TRAINS = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B\n"
OOM = "\n8xA100 node, CUDA out of memory\n"
RESERVES = """services:
  trainer:
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              {}
              capabilities: [gpu]
"""


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("CUDA_VISIBLE_DEVICES=4-7 on an 8xA100 node, verl GRPO, CUDA OOM", 4),
        ("CUDA_VISIBLE_DEVICES=0,1 on an 8 card node (H100), OpenRLHF PPO, CUDA OOM", 2),
        ("CUDA_VISIBLE_DEVICES=0,2-4 bash grpo.sh\nthe machine has 8 H100, CUDA out of memory", 4),
        ("CUDA_VISIBLE_DEVICES=4,5,6,7 " + TRAINS + OOM, 4),
        ("export CUDA_VISIBLE_DEVICES=GPU-8932f937-d72c,GPU-0a1b2c3d-1111\n\n" + TRAINS + OOM, 2),
        ("deepspeed --include localhost:4,5,6,7 train.py --per_device_train_batch_size 1\n" + OOM, 4),
        ("accelerate launch --gpu_ids 2,3 train.py --per_device_train_batch_size 1\n" + OOM, 2),
    ],
)
def test_a_list_of_devices_tells_the_cards_of_the_run_and_the_machine_the_rest(values, text, cards):
    assert values(text)["n_gpus"] == cards


@pytest.mark.parametrize(
    "text", ["deepspeed --include a:0,1@b:0,1 train.py --bf16 true", "xtuner --include 0,1 --bf16 true"]
)
def test_a_list_of_several_hosts_or_of_another_tool_counts_no_cards(values, text):
    assert "n_gpus" not in values(text)


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        (RESERVES.format("device_ids: ['0','1']"), 2),
        (RESERVES.format("count: 4"), 4),
        (RESERVES.format("count: all"), 8),
        ("docker run --gpus 4 -it verlai/verl bash\n", 4),
        ("docker run --gpus '\"device=2,3\"' -it verlai/verl bash\n", 2),
        ("docker run --gpus all -it verlai/verl bash\n", 8),
        ("docker run -e NVIDIA_VISIBLE_DEVICES=0,1,2 -it verlai/verl bash\n", 3),
        ("resources:\n  limits:\n    nvidia.com/gpu: 4\n    memory: 256Gi\n", 4),
    ],
)
def test_a_container_gives_the_cards_of_a_node_whatever_the_machine_holds(values, text, cards):
    assert values(f"{text}\nverl GRPO, CUDA out of memory, the node has 8 H100\n")["gpus_per_node"] == cards


def test_cards_of_one_actor_are_not_those_of_the_run(values):
    text = "@ray.remote(num_gpus=1)\nclass Reward: ...\nw = Worker.options(num_cpus=2, num_gpus=1).remote()\n"
    assert values(text + "verl on 8xA100, CUDA out of memory")["n_gpus"] == 8
    assert values("ray.init(num_gpus=4)\nverl on our 8xA100 machine, CUDA out of memory")["n_gpus"] == 4


def test_cards_of_a_server_count_beside_a_list_without_the_first_ones(values):
    text = "CUDA_VISIBLE_DEVICES=1,2,3 NPROC_PER_NODE=3 swift rlhf --rlhf_type grpo --use_vllm true --vllm_mode {} --model a/b\n4 x A100"
    served = values(text.format("server"))
    assert (served["n_gpus"], served["trainer_gpus"]) == (4, 3)
    assert values(text.format("colocate"))["n_gpus"] == 3


def test_a_sentence_with_a_list_does_not_say_what_one_process_sees(values):
    assert "cards_per_process" not in values("I set CUDA_VISIBLE_DEVICES=0,1 for TRL GRPO, CUDA out of memory")
    assert values("CUDA_VISIBLE_DEVICES=0,1 python train.py --max_length 512")["cards_per_process"] == 2
