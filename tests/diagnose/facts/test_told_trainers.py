"""Cards that train beside an engine that is served from others, as people say it."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

TRL = (
    "{words}\ntrl 0.16.0, GRPO, Qwen2.5-1.5B-Instruct\nper_device_train_batch_size 8\nnum_generations 6\n"
    '  File "trl/trainer/grpo_trainer.py", line 1063, in compute_loss\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB.\n"
)


def read(words):
    return diagnose(TRL.format(words=words), {}, current(), []).facts.values


@pytest.mark.parametrize(
    ("words", "trains"),
    [
        ("4x L40S 48GB, server mode vllm on gpu 3 (so 3 training processes)", 3),
        ("8x A100 80GB, vllm server mode, 6 training ranks", 6),
        ("4x L40S 48GB, server mode, vLLM server runs on GPU 3", 3),
        ("8x A100 80GB, server mode, vllm on gpus 6,7", 6),
        ("8 卡 A100 80G，server 模式，vllm 放在 gpu 4-7", 4),
        ("4 卡 L40S 48G，server 模式，3 个训练进程", 3),
    ],
)
def test_the_cards_beside_the_engine_train(words, trains):
    assert read(words)["trainer_gpus"] == trains


@pytest.mark.parametrize(
    "words",
    [
        "4x L40S 48GB, server mode vllm on gpu 7 of the other machine",
        "4x L40S 48GB, vllm colocate, vllm on gpu 3 prints",
        "4x L40S 48GB, server mode, 4 training processes",
    ],
)
def test_what_is_no_part_of_the_runs_cards_takes_none_away(words):
    assert read(words)["trainer_gpus"] == 4


@pytest.mark.parametrize(
    ("words", "cards", "trains"),
    [
        ("verl OOM on A100: training on cuda 0-3, rollout on cuda 4-7", 8, 4),
        ("verl OOM, rollout cards are cuda 4-7, training on 0-3", 8, 4),
        ("OOM with the vllm server of TRL: vllm on gpu 3, training on gpus 0,1,2", 4, 3),
        ("verl 爆显存，训练用 0-3 卡，推理用 4-7 卡", 8, 4),
    ],
)
def test_cards_by_their_numbers_are_those_of_each(words, cards, trains):
    found = diagnose(words, {}, current(), []).facts.values
    assert (found["n_gpus"], found["trainer_gpus"]) == (cards, trains)


@pytest.mark.parametrize(
    ("words", "cards"),
    [
        ("OOM on 8 A100: training on gpu 0 and 1, rollout on gpu 1", 8),  # one card holds both
        ("OOM on 8 A100: training on gpus 4-7, rollout on gpus 0-1", 8),  # not all cards of a machine
        ("OOM on 2 nodes of 8 A100: training on gpus 0-3, rollout on gpus 4-7", 16),  # of each machine
    ],
)
def test_numbers_that_are_not_all_cards_once_part_nothing(words, cards):
    found = diagnose(words, {}, current(), []).facts.values
    assert found["trainer_gpus"] == cards


@pytest.mark.parametrize(
    ("words", "cards", "trains"),
    [
        ("verl OOM, H20 2机 16 卡，8 rollout 8 train", 16, 8),
        ("prime-rl OOM, RTX 4090 24GB x4 (2 infer 2 train)", 4, 2),
        ("AReaL OOM: 4 train + 4 rollout on 8 H100", 8, 4),
        ("slime OOM: 4 GPUs actor + 4 GPUs rollout", 8, 4),
        ("OOM on A100: 6 GPUs training, 2 GPUs inference", 8, 6),
        # what is no pair of roles, or no count of cards
        ("verl OOM 8xA100, 8 rollout 8 train samples in flight", 8, 8),
        ("verl OOM on A100 x16, 8 rollout 8 train steps", 16, 16),
        ("verl OOM on 4 H100 cards, 8 rollout 8 train", 4, 4),
        ("OOM on 8 GPUs training Qwen, also on 4 GPUs with inference", 8, 8),
    ],
)
def test_a_pair_of_counts_tells_who_has_how_many(words, cards, trains):
    found = diagnose(words, {}, current(), []).facts.values
    assert (found["n_gpus"], found["trainer_gpus"]) == (cards, trains)


@pytest.mark.parametrize(
    ("placed", "cards"), [("colocate_all=false", (8, 4)), ("colocate_all=true", (4, 4)), ("strategy=fsdp2", (4, 4))]
)
def test_engines_beside_a_policy_have_cards_of_their_own_by_either_name(placed, cards):
    run = f"SkyRL, OOM on H100 80GB\ntrainer.placement.{placed} trainer.placement.policy_num_gpus_per_node=4 "
    run += "generator.num_inference_engines=2 generator.inference_engine_tensor_parallel_size=2"
    found = diagnose(run, {}, current(), []).facts.values
    assert (found["n_gpus"], found["trainer_gpus"]) == cards


def test_prompts_rounded_down_leave_the_micro_batch_as_it_is_written():
    """4 × 8 rows hold five whole groups of 6 and a rest."""
    found = read("4x L40S 48GB, vllm colocate")
    assert (found["micro_batch"], found["train_batch_size"]) == (8, 5)


@pytest.mark.parametrize(
    ("text", "algo"),
    [
        ("Mixtral ppo oom\n\ntrain_dpo mixtral-8x7b-instruct, zero3, bs 1", "dpo"),
        ("openrlhf 0.9.1 train_sft llama3-8b zero3 4x4090 24g max_len 8192 → oom at first backward", "sft"),
        ("RLHF PPO 显存不足\n跑 train_sft.py 的时候爆显存", "sft"),
        ("PPO oom after the train_sft and train_dpo stages", "ppo"),
        ("PPO oom\nrunning train_sft first, then train_ppo_ray", "ppo"),
    ],
)
def test_a_trainer_that_is_named_as_what_runs_outranks_the_heading(text, algo):
    found = diagnose(f"{text}\ntorch.cuda.OutOfMemoryError: CUDA out of memory.\n8x A100 80GB\n", {}, current(), [])
    assert found.facts.values["algo"] == algo


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        ("TRL GRPO Qwen2.5-7B, 7 train + 1 vllm, A100 80G, OOM", (8, 7, "server")),
        ("trl grpo, 8xA100: 7 cards train, 1 card vllm, oom in backward", (8, 7, "server")),
        ("4 train gpus 4 gen gpus, AReaL, Qwen3-8B, CUDA OOM in train", (8, 4, "server")),
        ("open-r1 grpo, 8 H100, num_processes 7, vllm on the last gpu, OOM", (8, 7, "server")),
        ("vLLM server on 2 GPUs, training on the other 6 (H100), trl grpo Qwen2.5-14B OOM", (8, 6, "server")),
        ("openrlhf, 4 gpus actor 2 gpus critic 2 gpus vllm, 7B, A100-80G oom", (8, 4, "server")),
        ("ms-swift grpo, rollout server on gpu 7, training on 0-6, OOM", (8, 7, "server")),
        ("trl grpo, 8 H100, num_processes 8, OOM", (8, 8, "colocated")),
        ("verl 8 H100: actor 8 gpus, rollout 8 gpus colocated, OOM wake_up", (8, 8, "colocated")),
        ("train 8 GPUs, batch 4 gen 8 samples, verl OOM", (8, 8, "colocated")),
        ("8xA100, verl, train on 8 gpus and rollout on 8 gpus, OOM", (8, 8, "colocated")),
        ("2 nodes 8xH100: 8 GPUs train, 8 GPUs vllm, trl OOM", (16, 8, "server")),
    ],
)
def test_cards_are_counted_before_or_behind_what_they_do(words, counts):
    found = diagnose(words, {}, current(), []).facts.values
    assert tuple(found[id] for id in ("n_gpus", "trainer_gpus", "rollout_mode")) == counts


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        ("2 nodes of 8 H100: one node trains, the other runs vllm. trl grpo 32B OOM in backward", (16, 8, "server")),
        ("两台 8 卡 H20，一台训练，一台推理，ms-swift GRPO 32B，训练爆显存", (16, 8, "server")),
        ("2 台 8 卡 A800，一台训练另一台 vllm，swift grpo 72B OOM", (16, 8, "server")),
        ("4 nodes 8xH800: 3 nodes train 1 node rollout, slime GLM-4.5 OOM", (32, 24, "server")),
        ("2 nodes of 8 H100: one node OOMs, the other trains fine. verl", (16, 16, "colocated")),
    ],
)
def test_whole_machines_do_one_or_the_other(words, counts):
    found = diagnose(words, {}, current(), []).facts.values
    assert tuple(found[id] for id in ("n_gpus", "trainer_gpus", "rollout_mode")) == counts
