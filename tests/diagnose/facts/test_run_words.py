"""Settings in sentences, and whether a paste holds the whole run."""

import pytest


@pytest.mark.parametrize(
    "text",
    [
        "Should I use ZeRO-3?",
        "I tried micro batch size 1.",
        "ZeRO-2 OOMs and ZeRO-3 OOMs",
        "LoRA rank 16 or LoRA rank 32",
        "We need a micro batch of 4",
    ],
)
def test_what_is_tried_asked_or_open_is_no_setting(values, text):
    found = values(f"{text} CUDA OOM")
    assert not {"zero_stage", "micro_batch", "lora_rank"} & set(found)


@pytest.mark.parametrize(
    ("text", "id", "value"),
    [
        ("we run ZeRO-3", "zero_stage", 3),
        ("verl 8xA100, prompt 4k response 16k", "prompt_length", 4096),
        ("verl 8xA100, prompt 4k response 16k", "response_length", 16384),
        ("verl, max_prompt 2048, max_response 4096", "prompt_length", 2048),
        ("verl, max_prompt 2048, max_response=4096", "response_length", 4096),
        ("verl 8xA100, tp 1, utilization 0.3", "gpu_memory_utilization", 0.3),
        ("verl 8xA100, train bs 256, mini bs 64", "train_batch_size", 256),
        ("verl 8xA100, train bs 256, mini bs 64", "mini_batch_size", 64),
        ("verl 8xA100, all offload false", "optimizer_offload", False),
        ("verl 8xA100, all offload options are off", "param_offload", False),
        ("verl 8xA100, 所有offload都关了", "param_offload", False),
        ("TRL PPO, LoRA no, zero3", "full_or_lora", "full"),
        ("TRL PPO, lora: off", "full_or_lora", "full"),
        ("TRL GRPO lora 没开", "full_or_lora", "full"),
        ("TRL GRPO, LoRA no longer fits", "full_or_lora", "lora"),
        ("TRL PPO, host has 512GB", "host_ram_gb", 512),
        ("vllm serve Qwen/Qwen2.5-32B-Instruct --tensor-parallel-size 2 on 2x L40S", "n_gpus", 2),
        ("verl, response 20480, prompt 2048", "response_length", 20480),
        ("verl, response 20480, prompt 2048", "prompt_length", 2048),
        ("TRL, 1024 prompt 7168 completion", "prompt_length", 1024),
        ("TRL, 1024 prompt 7168 completion", "response_length", 7168),
        ("verl, 2048 tokens prompt and 8192 tokens response", "response_length", 8192),
        ("LLaMA-Factory DPO, cutoff 4096", "max_length", 4096),
        ("TRL GRPO, 8 generations, batch 8 per device", "rollout_n", 8),
        ("TRL GRPO with vLLM colocate 0.3", "gpu_memory_utilization", 0.3),
        ("TRL GRPO, liger loss on", "logits_chunked", True),
        ("TRL SFT, accelerate fsdp, 4 gpus", "strategy", "fsdp"),
        ("axolotl, 70B, seq 2048, bs 1", "max_length", 2048),
        ("verl Qwen2.5-7B, 16xH100, sp 8", "sp", 8),
        ("verl, ulysses 4, 64xH100", "sp", 4),
        ("verl, micro batch 8→2", "micro_batch", 2),
        ("verl grpo 32B, gen tp=4", "rollout_tp", 4),
        ("verl grpo 7B with 8-bit Adam", "optimizer", "adamw_8bit"),
        ("verl grpo 7B, paged adamw 8bit", "optimizer", "paged_adamw_8bit"),
        ("verl grpo 7B with KL loss", "has_ref", True),
        ("verl grpo 7B without a reference model", "has_ref", False),
        ("verl grpo 7B 不用参考模型", "has_ref", False),
        ("verl grpo 7B, micro bs 4", "micro_batch", 4),
        ("openrlhf ppo 8B, zero3, adam offload, micro batch 2", "optimizer_on_cpu", True),
        ("verl grpo 7B, param offload, optimizer offload, ref offload", "ref_offload", True),
        ("openrlhf ppo 8B, vllm 4 engines tp 2 util 0.5", "rollout_tp", 2),
        ("openrlhf ppo 8B, vllm 4 engines tp 2 util 0.5", "gpu_memory_utilization", 0.5),
        ("openrlhf ppo 8B, prompt 2048 gen 1536", "response_length", 1536),
        ("ms-swift grpo 3B, 2张4090, vllm server用另外一张卡", "rollout_mode", "server"),
        ("areal 7B async on 32 GPUs: it fails", "n_gpus", 32),
        ("nemo-rl grpo llama3.1-8b 2n8g", "n_gpus", 16),
        ("verl 32B，推理 TP 8", "rollout_tp", 8),
        ("deepspeed zero2", "zero_stage", 2),
        ("accelerate FSDP full_shard", "zero_stage", 3),
        ("accelerate FSDP (full shard)", "strategy", "fsdp"),
        ("the other node runs vllm-serve", "rollout_mode", "server"),
        ("deepspeed z2", "zero_stage", 2),
        ("with deepspeed stage 2 on one node", "zero_stage", 2),
        ("LoRA rank 16", "lora_rank", 16),
        ("LoRA (r=32)", "lora_rank", 32),
        ("micro batch size is 2", "micro_batch", 2),
        ("max_len 8192 micro 1 gradient checkpointing flash attn", "micro_batch", 1),
        ("batch size per GPU 1", "micro_batch", 1),
        ("每卡 batch 1", "micro_batch", 1),
        ("max response length 8k", "response_length", 8192),
        ("最大输出长度 4096", "max_length", None),
        ("输出长度 4096", "response_length", 4096),
        ("8 samples per prompt", "rollout_n", 8),
        ("每个 prompt 采样 16 个", "rollout_n", 16),
        ("梯度累积 8", "gradient_accumulation", 8),
        ("QLoRA with double quantization", "double_quant", True),
        ("nf4, double-quant", "double_quant", True),
        ("QLoRA without double quantization", "double_quant", None),
        ("gradient checkpointing is on", "gradient_checkpointing", True),
        ("without gradient checkpointing", "gradient_checkpointing", False),
        ("verl 0.4 + sglang rollout", "rollout_engine", "sglang"),
        ("verl + sglang multi-turn, CUDA OOM", "rollout_engine", "sglang"),
        ("verl sglang 多轮", "rollout_engine", "sglang"),
        ("verl/sglang_rollout.py", "rollout_engine", "vllm"),
        ("verl，rollout用sglang，megatron后端", "rollout_engine", "sglang"),
        ("verl，rollout用sglang，megatron后端", "strategy", "megatron"),
        ("trl with FSDP", "strategy", "fsdp"),
        ("verl 0.5，FSDP2，GRPO", "strategy", "fsdp2"),
        ("try FSDP2 instead", "strategy", None),
        ("unsloth GRPO, Qwen2.5-3B 4bit, LoRA", "quantization", "nf4"),
        ("trl GRPO, LoRA, 4-bit adam", "quantization", None),
        ("unsloth GRPO of Qwen2.5-3B, gpu_memory_utilization = 0.6", "rollout_engine", "vllm"),
        ("should I use the megatron backend?", "strategy", None),
        ("we tried sglang rollout too", "rollout_engine", None),
        ("batch size 已经是 1 了", "micro_batch", 1),
        ("bs=1", "micro_batch", 1),
        ("batch size 16", "micro_batch", None),
        ("train batch size 1", "micro_batch", None),
        ("eval batch size 8, train bs 1", "micro_batch", 1),
        ("train batch size 1, eval batch size 8", "micro_batch", 1),
        ("train batch size 1, eval batch size 8", "eval_micro_batch", 8),
        ("mini batch 是 256", "mini_batch_size", 256),
        ("1k prompt + 3k response", "prompt_length", 1024),
        ("verl 7B, 2k prompt 8k response", "prompt_length", 2048),
        ("verl 7B, 2k prompt 8k response", "response_length", 8192),
        ("prompt 2k response 6k", "prompt_length", 2048),
        ("prompt 2k response 6k", "response_length", 6144),
        ("we generate 4k tokens", "response_length", 4096),
        ("llamafactory qwen3-14b sft full zero3 8卡4090", "full_or_lora", "full"),
        ("trl 7B sft full, 8 GPUs", "full_or_lora", "full"),
        ("ms-swift 7B, full, bs 1", "full_or_lora", "full"),
        ("7B sft, the disk is full, 8 GPUs", "full_or_lora", None),
        ("7B sft full precision", "full_or_lora", None),
        ("1k prompt + 3k response", "response_length", 3072),
        ("512 prompts per step", "prompt_length", None),
        ("response 8k.", "response_length", 8192),
        ("completions about 1k tokens", "response_length", 1024),
        ("answers of 2 turns", "response_length", None),
        ("长度 8k 没事 16k 就炸", "response_length", 16384),
        ("lora? full.", "full_or_lora", None),
        ("megatron 后端，TP4 PP2 EP8", "tp", 4),
        ("megatron 后端，TP4 PP2 EP8", "pp", 2),
        ("megatron 后端，TP4 PP2 EP8", "ep", 8),
        ("megatron, tp 4, pp 8, ep 8", "ep", 8),
        ("megatron tp=4 pp=2 ep=16", "ep", 16),
        ("fsdp, tp 4", "tp", None),
        ("megatron 训练，推理 tp 4", "tp", None),
        ("16k responses", "response_length", 16384),
        ("4k responses per step", "response_length", None),
    ],
)
def test_it_reads_settings_in_sentences(values, text, id, value):
    assert values(f"GRPO, {text}, CUDA OOM").get(id) == value


def test_a_key_outranks_a_sentence(values):
    assert values("We use ZeRO-2.\n\nopenrlhf.cli.train_ppo --zero_stage 3 --pretrain a/b")["zero_stage"] == 3


def test_a_stage_in_a_sentence_is_shown_as_the_key_that_sets_it(facts):
    assert facts("swift 训 grpo，deepspeed 也是 zero3，爆显存").config["deepspeed"] == "zero3"


def test_a_switch_below_its_name_is_a_setting_about_memory(facts):
    assert (
        facts("policy:\n  dynamic_batching:\n    enabled: False\n").config["policy.dynamic_batching.enabled"] == "False"
    )


def test_an_argument_that_hands_on_a_variable_has_the_variables_value(facts):
    text = "from trl import GRPOTrainer\nresume_from_checkpoint = True\ntrainer.train(resume_from_checkpoint=resume_from_checkpoint)"
    assert facts(text).config["resume_from_checkpoint"] == "True"


VERL = "python3 -m verl.trainer.main_ppo \\\n  algorithm.adv_estimator=grpo \\\n  data.train_batch_size=64"
MODEL = " \\\n  actor_rollout_ref.model.path=Qwen/Qwen2.5-7B"


@pytest.mark.parametrize(
    "text",
    [
        VERL,
        f"{VERL}{MODEL} \\",
        f"Script (the rest is unchanged):\n\n{VERL}{MODEL}",
        f"脚本（其余没动）：\n\n{VERL}{MODEL}",
    ],
)
def test_a_part_of_a_command_does_not_say_that_all_parameters_are_trained(facts, text):
    assert facts(text).stated["full_or_lora"].origin == "default"


def test_a_whole_command_without_adapters_trains_all_parameters(facts):
    fact = facts(f"{VERL}{MODEL}\n\nCUDA OOM").stated["full_or_lora"]
    assert (fact.value, fact.origin) == ("full", "derived")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("DoRA with trl GRPO", "lora"),
        ("python train_grpo_lora.py with trl", "lora"),
        ('  File "/x/site-packages/peft/peft_model.py", line 849, in forward\n    return x', "lora"),
        ("llama3-8b (SFT LoRA already merged), PPO", None),
        ("WARNING Methods add_lora,add_prompt not implemented", None),
    ],
)
def test_it_reads_adapters_and_not_their_traces(values, text, value):
    assert values(f"{text}\nCUDA OOM").get("full_or_lora") == value


@pytest.mark.parametrize(
    ("text", "algo"),
    [
        ("bash examples/qwen2_5_vl_3b_geo3k_grpo.sh", "grpo"),
        ("stage: dpo\npref_loss: orpo\nfinetuning_type: full", "orpo"),
        ("python examples/scripts/ppo/ppo.py --model_name_or_path a/b", "ppo"),
        ("python examples/scripts/dpo_online.py --model_name_or_path a/b", "online_dpo"),
        ('  File "/x/trl/trainer/online_dpo_trainer.py", line 512, in training_step\n    x', "online_dpo"),
        ("TRL，在线 DPO，Qwen2.5-7B", "online_dpo"),
        ("my online_dpo.py with trl dies", "online_dpo"),
        ("OnlineDPOTrainer with a judge", "online_dpo"),
        ("verl, dr_grpo", "dr_grpo"),
        ("verl, Reinforce plus plus", "reinforce++"),
        ("verl, switched from PPO to GRPO", "grpo"),
        ("verl, not PPO but GRPO", "grpo"),
        ("verl 从ppo换成grpo", "grpo"),
        ("DPOTrainer on my pairs", "dpo"),
        ("RewardTrainer on my pairs", "rm"),
        ("python examples/scripts/reward_modeling.py --model_name_or_path a/b", "rm"),
        ("sentence-transformers with MultipleNegativesRankingLoss", "embedding"),
        ('  File "/x/unsloth_compiled_cache/UnslothKTOTrainer.py", line 12, in train\n    UnslothKTOTrainer()', "kto"),
        ("    ray.get(main_task.remote(ppo_config))", None),
        ('"ppo_epochs": 1,', None),
    ],
)
def test_it_reads_the_algorithm_and_no_key_that_bears_its_name(values, text, algo):
    assert values(text).get("algo") == algo


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("verl GRPO，offload 都开了", {"param_offload": True, "optimizer_offload": True, "ref_offload": True}),
        ("verl GRPO, offload all true", {"param_offload": True, "optimizer_offload": True, "ref_offload": True}),
        ("verl GRPO, I turned on every offload there is", {"param_offload": True, "optimizer_offload": True}),
        ("EasyR1，所有 offload 都打开了", {"param_offload": True, "optimizer_offload": True}),
        ("OpenRLHF，开了 zero3、adam_offload", {"optimizer_on_cpu": True}),
        ("OpenRLHF, everything offloaded to CPU", {"optimizer_on_cpu": True, "ref_offload": True}),
        ("verl GRPO，没开 offload", {"param_offload": False, "optimizer_offload": False}),
        ("verl GRPO，optimizer offload 开了", {"optimizer_offload": True, "param_offload": None}),
        ("verl GRPO，要不要开 optimizer offload？", {"optimizer_offload": None}),
        ("verl GRPO, should I turn on all offloads?", {"param_offload": None}),
        ("TRL GRPO, zero3 with cpu offload", {"param_on_cpu": True, "optimizer_on_cpu": True}),
        (
            "verl GRPO，param_offload 和 optimizer_offload 都设为 True 了",
            {"optimizer_offload": True, "ref_offload": None},
        ),
        ("verl GRPO，ref 也 offload 了", {"ref_offload": True, "param_offload": None}),
        ("offload 都开了", {"param_offload": None, "optimizer_on_cpu": None}),
        ("zero3 offload, 7B", {"param_on_cpu": True, "optimizer_on_cpu": True, "param_offload": None}),
        ("ms-swift GRPO, zero3_offload", {"param_on_cpu": True, "optimizer_on_cpu": True, "param_offload": None}),
        ("用 zero2_offload 训 7B", {"param_on_cpu": None, "optimizer_on_cpu": True}),
        ("TRL GRPO, zero3 + optimizer offload", {"param_on_cpu": None, "optimizer_on_cpu": True}),
        # one thing's offload is not all of them
        ("verl GRPO，ref offload没开", {"ref_offload": False, "param_offload": None, "optimizer_offload": None}),
        (
            "verl GRPO，param offload和optimizer offload都开了",
            {"param_offload": True, "optimizer_offload": True, "ref_offload": None},
        ),
        (
            "verl GRPO，optimizer offload开了，param offload没开",
            {"optimizer_offload": True, "param_offload": False, "ref_offload": None},
        ),
        (
            "verl GRPO, param offload on, optimizer offload off",
            {"param_offload": True, "optimizer_offload": False, "ref_offload": None},
        ),
        ("verl GRPO, optimizer offload disabled", {"optimizer_offload": False, "param_offload": None}),
        ("verl GRPO, without optimizer offload", {"optimizer_offload": False, "param_offload": None}),
        ("verl GRPO, with param and optimizer offload", {"param_offload": True, "optimizer_offload": True}),
        ("verl GRPO, param/optimizer offload enabled", {"param_offload": True, "optimizer_offload": True}),
        ("verl GRPO, offload off for ref, on for actor", {"param_offload": None, "optimizer_offload": None}),
        ("verl GRPO，除了ref offload都开了", {"param_offload": True, "ref_offload": False}),
        ("verl GRPO，offload没开全", {"param_offload": None, "optimizer_offload": None}),
        (
            "verl GRPO, param offload: true, optimizer offload: false",
            {"param_offload": True, "optimizer_offload": False},
        ),
        ("verl GRPO, all offloads on except ref", {"param_offload": True, "ref_offload": False}),
        ("ms-swift GRPO, zero3没开offload", {"zero_stage": 3, "optimizer_offload": False}),
        ("see https://example.org/configs/zero3_offload.json, 7B", {"param_on_cpu": None, "optimizer_on_cpu": None}),
        ("should I use zero3 offload?", {"param_on_cpu": None, "optimizer_on_cpu": None}),
    ],
)
def test_offloads_in_a_sentence_are_those_of_the_framework(facts, text, found):
    stated = facts(f"{text}，CUDA OOM").stated
    read = {id: stated[id].value if id in stated and stated[id].origin == "read" else None for id in found}
    assert read == found


def test_a_default_number_of_nodes_gives_way_to_the_cards_that_are_told(values):
    text = "slime --colocate --actor-num-gpus-per-node 8 --hf-checkpoint Qwen/Qwen3-4B OOM"
    assert values(text)["n_gpus"] == 8
    assert values(f"{text}\n16 x H100").get("n_nodes") != 1


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("It ran fine with actor_rollout_ref.rollout.name=vllm, we switched to sglang and it OOMs", "sglang"),
        ("actor_rollout_ref.rollout.name=vllm was fine last week.\nThen we moved to SGLang and get CUDA OOM", "sglang"),
        ("verl with vllm rollout worked, after switching to sglang: CUDA OOM", "sglang"),
        ("we changed the rollout engine from sglang to vllm, CUDA OOM", "vllm"),
        ("从 vllm 换成 sglang 之后 OOM", "sglang"),
        ("CUDA OOM with actor_rollout_ref.rollout.name=vllm; switched to sglang and it works", "vllm"),
        ("actor_rollout_ref.rollout.name=vllm OOM，建议换成 sglang", "vllm"),
        ("CUDA OOM with actor_rollout_ref.rollout.name=vllm. Should I switch to sglang?", "vllm"),
        ("python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.name=vllm\nwe switched to sglang once", "vllm"),
    ],
)
def test_the_engine_that_a_text_says_the_run_moved_to_is_the_runs(values, text, engine):
    assert values(text)["rollout_engine"] == engine


@pytest.mark.parametrize("text", ["seq len 4096, bs 2", "max_length 4096 bs 2", "batch size is 2", "batch_size=2"])
def test_a_small_batch_of_no_kind_is_taken_as_one_cards(facts, text):
    read = facts(f"{text} CUDA OOM").stated.get("micro_batch")
    assert read is None or (read.value, read.origin) in ((2, "assumed"), (2, "read"))
    if " bs " in text:
        assert read is not None


@pytest.mark.parametrize(
    "text", ["batch of 2 prompts", "batch of 1 prompt", "global batch size 4", "bs 512", "tried bs 2"]
)
def test_other_batches_are_not(values, text):
    assert "micro_batch" not in values(f"{text} CUDA OOM")


def test_the_place_of_an_engine_is_read_beside_its_name(values):
    assert values("8卡A100 GRPO，vllm colocate，num_generations 8，爆显存")["rollout_mode"] == "colocated"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("trl SFTTrainer + FSDP, QLoRA of a 70B", {"strategy": "fsdp", "zero_stage": 3}),
        ("QLoRA FSDP of a 70B with trl", {"strategy": "fsdp"}),
        ("trl grpo zero3 colocate vllm 0.4", {"rollout_mode": "colocated", "rollout_engine": "vllm"}),
        ("slime, Qwen3-4B, 8 H200, colocate, log_probs step, CUDA OOM", {"rollout_mode": "colocated"}),
        ("verl 0.7.1, qwen3-8b, async server mode, CUDA OOM", {"rollout_mode": "colocated"}),
        ("trl sft without FSDP", {"strategy": "ddp"}),
        ("trl sft, max_length=16384, flash_attention_2. Already tried liger", {"flash_attention": True}),
        ("trl sft without flash_attention_2", {"flash_attention": None}),
        ("unsloth GRPO OOMs at 23.9/24GB. Can I use deepspeed zero3 with unsloth?", {"zero_stage": 0, "planned": None}),
        (
            "can unsloth qlora llama 3.3 70b fit on one A6000 48GB with 8k context?",
            {"max_length": 8192},
        ),
        ("falcon-7b qlora trl max_seq_length 2048 batch 4 T4 16gb", {"n_gpus": None, "gpu_model": "T4"}),
        ("falcon-7b qlora trl, 4 T4 16gb", {"n_gpus": 4, "gpu_model": "T4"}),
        ("trl dpo zero 3 8 A100 80G full OOM: Tried to allocate 2.00 GiB", {"zero_stage": 3, "n_gpus": 8}),
        ("trl dpo on 8 A100, I tried zero 3", {"zero_stage": 0}),
        ("unsloth 微调 qwen3-14b 4bit, 4090 24G", {"framework": "trl", "n_gpus": 1}),
    ],
)
def test_it_reads_how_it_is_sharded_and_where_an_engine_stands(values, text, found):
    got = values(f"{text}\nCUDA OOM")
    assert {id: got.get(id) for id in found} == found


def test_cards_that_somebody_asks_about_one_by_one_are_one_card_each(values):
    text = "Planning GRPO with TRL on Qwen2.5-7B. Can I do it on a 4090 or do I need an A100 40GB or an H100 80GB?"
    assert values(text)["n_gpus"] == 1


@pytest.mark.parametrize(
    ("text", "engine", "trainer"),
    [
        ("verl GRPO Qwen2.5-72B, 8xH100, tp=8", 8, None),
        ("easyr1 Qwen2.5-VL-7B 8卡 TP4", 4, None),
        ("trl grpo, vllm colocate, tensor parallel 4", 4, None),
        ("verl grpo，张量并行 2，8卡A100", 2, None),
        ("verl grpo, megatron, tp=4", None, 4),
        ("verl grpo tp=4\nthe actor runs on megatron", None, None),
        ("slime grpo, Qwen3-30B-A3B, tp=4", None, None),  # Megatron's, or that of its engines
        ("nemo-rl grpo tp=4", None, None),  # its DTensor splits layers as well
    ],
)
def test_a_plain_tp_is_the_engines_where_the_trainer_splits_no_layer(values, text, engine, trainer):
    found = values(f"{text}\ntorch.OutOfMemoryError: CUDA out of memory.")
    told = (found.get("rollout_tp") if engine else None, found.get("tp") if trainer else None)
    assert told == (engine, trainer)
    if engine is None:
        assert found.get("rollout_tp") != 4
