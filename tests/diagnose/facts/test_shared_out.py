"""Cards and machines that a sentence shares out between trainer and engine, in halves, rests, counts and numbers of cards."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

FAILED = "\nGRPO with Qwen2.5-7B-Instruct, CUDA out of memory in the backward pass"


def read(words):
    return diagnose(words + FAILED, {}, current(), []).facts.values


@pytest.mark.parametrize(
    ("words", "cards", "trains"),
    [
        ("half of the 8 gpus for rollout", 8, 4),
        ("一共 8 卡，一半卡做推理", 8, 4),
        ("4x A100 80GB, two cards for vllm and the rest train", 4, 2),
        ("8xH100, 4+4 split between trainer and vllm", 8, 4),
        ("3 nodes of 8 H100, 2 nodes train, 1 node rollout", 24, 16),
        ("trainer on GPUs 0-3, vllm on 4-7", 8, 4),
        ("8x A100 80GB, vLLM takes 2 GPUs, trainer takes 6", 8, 6),
        ("8x A100 80GB, 2 GPUs are dedicated to vLLM, the other 6 do training", 8, 6),
        ("8x A100 80GB, one GPU is reserved for the vllm server", 8, 7),
        ("8 卡 A100，留一张卡给 vllm", 8, 7),
        ("8 卡 A100，最后两张卡给 vllm，剩下的训练", 8, 6),
        ("8 张 A100，2 张推理，其余训练", 8, 6),
        ("8 卡 H100，vllm 单独用 2 张卡", 8, 6),
        ("8*A100，训练推理各一半", 8, 4),
        ("8*A100，训练和推理各用一半卡", 8, 4),
        ("8 卡 4 训 4 推", 8, 4),
        ("8xA100, 6:2 train:rollout split", 8, 6),
        ("split is 6 train / 2 rollout on 8xA100", 8, 6),
        ("8 H100s: 6 for the learner and 2 for vLLM engines", 8, 6),
        ("CUDA_VISIBLE_DEVICES=4,5,6,7 for vllm, CUDA_VISIBLE_DEVICES=0,1,2,3 for training", 8, 4),
        ("GPU 0-3 run the training, GPU 4-7 serve vllm", 8, 4),
        ("gpus 4-7 are for vllm serve, gpus 0-3 train", 8, 4),
        ("vLLM server occupies GPU 7, training runs on GPUs 0-6", 8, 7),
        ("the last gpu runs vllm, the other 7 train (8x A100)", 8, 7),
        ("first four GPUs train, last four generate (8xH100)", 8, 4),
        ("前 4 张卡训练，后 4 张卡推理", 8, 4),
        ("0-3 号卡训练，4-7 号卡推理", 8, 4),
        ("卡0-3训练，卡4-7跑vllm", 8, 4),
        ("16 GPUs on 2 nodes: one for training, one for inference", 16, 8),
        ("two machines with 8 A100 80G each, one trains, the other runs vllm", 16, 8),
        ("2 machines x 8 A100, one runs vllm, the other trains the policy", 16, 8),
        ("2 台 8 卡 A100，一台训练一台推理", 16, 8),
        ("4 台 8 卡 H800，3 台训练，1 台推理", 32, 24),
        ("4 nodes x 8 H100, half the nodes for rollout", 32, 16),
        ("4x L40S, 3 training ranks + 1 vllm rank", 4, 3),
        ("4x L40S, num_processes 3, vllm server on the remaining card", 4, 3),
        ("8x A100; rollout: 2 GPUs, actor: 6 GPUs", 8, 6),
        ("8xA100, half for vLLM half for training", 8, 4),
        ("2x 4090, one runs vllm and the other trains", 2, 1),
        ("2 张 4090，一张跑 vllm 一张训练", 2, 1),
        ("two 3090s, GPU 0 training, GPU 1 vllm", 2, 1),
        ("8 x A100, vLLM with TP=2 on its own 2 GPUs, rest ZeRO-3", 8, 6),
        ("8 卡 A800，4 卡训练 4 卡 rollout", 8, 4),
        ("8 卡 A800，训推分离，训练 4 卡", 8, 4),
        ("8 GPUs: 1 for reward model, 2 for vllm, 5 for training", 8, 5),
        ("OpenRLHF, 3 台 8 卡机器，两台训练，一台跑 vllm", 24, 16),
        ("4 nodes, each 8 A100. 3 for training, 1 for vllm", 32, 24),
        ("32 H100: trainer gets 16, the rest go to sglang", 32, 16),
        ("16x H800, 12 training GPUs, 4 inference GPUs", 16, 12),
        ("8 GPUs H100: 5 train / 3 gen", 8, 5),
        ("6x A100: 4 cards for the policy, 2 for vllm", 6, 4),
        ("4 张 4090，前两张训练，后两张推理", 4, 2),
        ("4 张 4090，最后一张给 vllm，前三张训练", 4, 3),
        ("8 卡 A800，0-6 训练，7 号卡 vllm", 8, 7),
        ("TRL: gpu 6 and 7 for vllm, gpu 0-5 for training", 8, 6),
        ("prime-rl: inference on 4 gpus, trainer on 4 gpus", 8, 4),
        ("8xH100; rollout workers get 2 GPUs and the learner gets the remaining 6", 8, 6),
        ("10 A100s, 8 for training, 2 for inference servers", 10, 8),
        ("H100*8, train:6 infer:2", 8, 6),
        ("H100*8 (6 train, 2 vllm)", 8, 6),
        ("H20*8，训练4卡，推理4卡", 8, 4),
        ("H20*8，4卡跑训练，4卡起vllm server", 8, 4),
        ("H20 16 卡，训推各 8 卡", 16, 8),
        ("8卡对半分，训练推理各4", 8, 4),
        ("8xH100 split evenly between trainer and inference", 8, 4),
        ("8xH100 evenly split: trainer / vllm", 8, 4),
        ("我用 4 张卡起 vllm，另外 4 张训练，A100 80G", 8, 4),
        ("其中一张卡单独跑 vllm，一共 8 张 A100", 8, 7),
    ],
)
def test_shares_that_make_up_the_whole_part_trainer_and_engine(words, cards, trains):
    found = read(words)
    assert (found["n_gpus"], found["trainer_gpus"]) == (cards, trains)


@pytest.mark.parametrize(
    ("words", "cards"),
    [
        ("8x A100 80GB, verl, rollout 8 samples per prompt, train batch 8", 8),
        ("8x A100 80GB, training with 4 gpus per node", 8),
        ("8xA100, vllm tensor parallel 2, train batch size 128, rollout n 8", 8),
        ("8x A100 80GB, tried 2 GPUs for vllm and 6 for training but it hangs, so colocate now", 8),
        ("8x H100, the rest of training is fine, vllm 0.8.5", 8),
        ("8x H100, one vllm engine, training with ZeRO-3", 8),
        ("8x H100, 4 vllm engines, train mbs 4", 8),
        ("8x H100, GPU 0 runs out during training, the other 7 are fine", 8),
        ("8x H100. On GPU 3 vllm OOMs. ", 8),
        ("8xH100, rank 0 on GPU 0 OOMs in training, vllm has 40 GB", 8),
        ("8xA100, train 2 epochs, generate 4 responses", 8),
        ("8 卡 A100，训练 2 个 epoch，推理 4 个样本", 8),
        ("8 卡 A100，训练到一半 OOM，vllm 0.8", 8),
        ("8 卡 A100，训练一半的时候 vllm 爆显存", 8),
        ("8xA100, halfway through training vllm OOMs", 8),
        ("8xA100, half of the training data, rollout OOM", 8),
        ("8 卡 A100，推理用 4 卡 tp，训练还是 8 卡", 8),
        ("8xA100, sglang tp 4 on 4 gpus each, FSDP training on all 8", 8),
        ("8xA100, first training step OK, the second rollout OOMs", 8),
        ("8xA100, 1 train step, 2 rollouts", 8),
        ("8 A100s, last time training was fine", 8),
        ("2 nodes x 8 H100: one for vllm, the rest train", 16),
        ("2 nodes of 8 H100, half of them fail in training", 16),
        ("2 nodes x 8 A100, one node OOMs while training, the other is fine", 16),
        ("8x H100, the other training run is on 4 gpus", 8),
        ("8x A100, only 4 gpus train well, then rollout OOM", 8),
        ("8 卡，其他训练任务没开", 8),
        ("8 卡 A100，其他训练参数默认", 8),
        ("8 卡 A100，剩下的显存给 vllm", 8),
        ("8xA100, vllm takes half of the memory, rest for training", 8),
        ("8xA100, half the memory for vllm", 8),
        ("8xA100, gpu_memory_utilization 0.5 so half of the GPU for vllm", 8),
        ("8xA100, vllm gets half of each card, the rest for training", 8),
        ("8x A100, colocated, actor and rollout share all 8 gpus", 8),
        ("8x A100, vllm colocate mode, tp 4", 8),
        ("8 卡 A100，训练和推理混部在同样 8 张卡上", 8),
        ("8x A100 80GB, is half of the cards for vllm a good idea?", 8),
        ("8x A100 80GB, should I use 2 cards for vllm and the rest for training?", 8),
    ],
)
def test_what_shares_no_cards_out_takes_none_away(words, cards):
    found = read(words)
    assert (found["n_gpus"], found["trainer_gpus"]) == (cards, cards)


SERVED = "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --use_vllm true --vllm_mode server --vllm_server_host 127.0.0.1"


@pytest.mark.parametrize(
    ("commands", "cards", "trains"),
    [
        (
            "CUDA_VISIBLE_DEVICES=3 trl vllm-serve --model Qwen/Qwen2.5-7B-Instruct\n"
            "CUDA_VISIBLE_DEVICES=0,1,2 accelerate launch --num_processes 3 train_grpo.py",
            4,
            3,
        ),
        (f"CUDA_VISIBLE_DEVICES=0,1,2,3,4,5 NPROC_PER_NODE=6 {SERVED}\n8 张 A100", 8, 6),
        (f"CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=4 {SERVED}\n4 张 A100", 4, 4),
        ("4x L40S, num_processes 3, vllm server on the remaining card", 4, 3),
    ],
)
def test_a_list_of_the_trainers_devices_leaves_the_engines_out(commands, cards, trains):
    found = read(commands)
    assert (found["n_gpus"], found["trainer_gpus"]) == (cards, trains)


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB.\n"
LAUNCH = "AReaL, A100 80GB\npython3 examples/math/gsm8k_rl.py --config examples/math/gsm8k_grpo.yaml {}\n"


@pytest.mark.parametrize(
    ("words", "cards", "trains"),
    [
        ("AReaL allocation sglang:d4+d4, Qwen2.5-7B, H100 80GB, CUDA OOM in training", 8, 4),
        ("AReaL OOM, 8xH100, allocation sglang:d6p1t1+d2p1t1, Qwen2.5-7B", 8, 2),
        ("AReaL OOM, 4xH100, allocation_mode sglang:d2+fsdp:d2, Qwen2.5-7B", 4, 2),
        ('AReaL, allocation_mode "vllm:d4t2+megatron:d4t2", 16 H100, Qwen2.5-7B OOM in backward', 16, 8),
        ("AReaL OOM, 8xH100, rollout backend sglang:d6, actor backend fsdp:d2, Qwen2.5-7B", 8, 2),
        ("AReaL 用 sglang:d4+megatron:(attn:d2t2|ffn:d2e2)，Qwen3-30B-A3B 训练 OOM", 8, 4),
        ("AReaL OOM, sglang.d4p1m1+d4p1m1, Qwen2.5-7B", 8, 4),
        ("AReaL OOM on 8xH100, should I use sglang:d4+fsdp:d4 ?", 8, 8),
    ],
)
def test_the_word_that_splits_engines_and_trainer_is_read_in_a_sentence(words, cards, trains):
    found = diagnose(words, {}, current(), []).facts.values
    assert (found["n_gpus"], found["trainer_gpus"]) == (cards, trains)


@pytest.mark.parametrize(
    ("settings", "cards", "trains"),
    [
        ("allocation_mode=vllm:d2+megatron:d2t2", 6, 4),
        ("allocation_mode=vllm:d2+megatron:d2t2 cluster.n_nodes=1 cluster.n_gpus_per_node=8", 8, 4),
        ("allocation_mode=sglang:d16t2+megatron:d8t4 cluster.n_gpus_per_node=8", 64, 32),
        ("rollout.backend=sglang:d6 actor.backend=fsdp:d2", 8, 2),
    ],
)
def test_an_allocation_counts_the_cards_of_both_parts(settings, cards, trains):
    found = diagnose(
        f"python3 train.py {settings} actor.path=Qwen/Qwen2.5-7B-Instruct\n{OOM}", {}, current(), []
    ).facts.values
    assert (found["n_gpus"], found["trainer_gpus"]) == (cards, trains)


@pytest.mark.parametrize(
    ("settings", "cards", "trains"),
    [
        ("cluster.n_gpus_per_node=4", 4, 2),
        ("cluster.n_nodes=2", 16, 8),
        ("", 8, 4),
        ("cluster.n_gpus_per_node=4 allocation_mode=sglang:d1+fsdp:d3", 4, 3),
    ],
)
def test_a_shipped_file_on_other_cards_parts_them_as_it_does(settings, cards, trains):
    found = diagnose(LAUNCH.format(settings) + OOM, {}, current(), []).facts
    assert (found.values["n_gpus"], found.values["trainer_gpus"]) == (cards, trains)
    assert (found.stated["trainer_gpus"].origin == "assumed") == (cards != 8 and trains * 2 == cards)


def test_a_part_that_is_no_whole_number_of_cards_is_none():
    assert "trainer_gpus" not in diagnose(LAUNCH.format("") + "3 x A100\n" + OOM, {}, current(), []).facts.stated
