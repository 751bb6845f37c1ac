"""Settings in so few words as people use in a chat: what they mean, and what they leave open."""

import pytest

from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    ("said", "mode"),
    [
        ("LoRA OOMs too, same as full", None),
        ("LoRA also OOMs", None),
        ("LoRA 也爆", None),
        ("both LoRA and full run out", None),
        ("with full, LoRA and QLoRA", None),
        ("LoRA 和全参都 OOM", None),
        ("无论lora还是全参都爆", None),
        ("regardless of LoRA", None),
        ("LoRA would fit but I can not use it", None),
        ("LoRA also OOMs, full finetune", "full"),
        ("previously LoRA, now full", "full"),
        ("换成 LoRA 也爆", "lora"),
        ("even LoRA OOMs", "lora"),
    ],
)
def test_two_ways_of_training_that_fail_alike_leave_open_which_one_is_meant(facts, said, mode):
    told = facts(f"trl grpo Qwen2.5-7B 8*A100 80G. {said}. CUDA out of memory").stated.get("full_or_lora")
    assert (told.value if told is not None and told.origin == "read" else None) == mode


def test_what_fails_too_was_tried(knowledge):
    said = "trl grpo Qwen2.5-7B on 8xA100 80GB OOM in loss.backward. LoRA OOMs too, same as full."
    assert "peft.lora" in {one.lever for one in diagnose(said, {}, knowledge, ()).facts.tried}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("开了 param offload 没开 optimizer offload", {"param_offload": True, "optimizer_offload": False}),
        ("param_offload 开 optimizer_offload 关", {"param_offload": True, "optimizer_offload": False}),
        ("param offload 关, optimizer offload 开", {"param_offload": False, "optimizer_offload": True}),
        ("内存不够不能开offload", {"param_offload": False, "optimizer_offload": False}),
        ("开不开 offload 都一样", {}),
        ("both offloads on", {"param_offload": True, "optimizer_offload": True}),
        ("(micro 4, param_offload/optimizer_offload True)", {"param_offload": True, "optimizer_offload": True}),
        ("both offloads off", {"param_offload": False, "optimizer_offload": False}),
        ("optimizer offload only", {"optimizer_offload": True}),
        ("ref param offload on", {}),
        ("with param offload on it works but slow", {}),
    ],
)
def test_an_offload_belongs_to_the_word_beside_it(facts, said, told):
    stated = facts(f"verl grpo Qwen2.5-7B 8*A100 80G CUDA out of memory, {said}").stated
    ids = ("param_offload", "optimizer_offload")
    assert {id: stated[id].value for id in ids if id in stated and stated[id].origin == "read"} == told


def test_an_offload_of_the_optimizer_alone_leaves_the_weights_on_the_card(facts):
    stated = facts("trl grpo Qwen2.5-7B 8*A100 80G CUDA out of memory, zero3 offload optimizer only").stated
    assert "param_on_cpu" not in stated or stated["param_on_cpu"].value is False


def test_deepspeeds_own_setting_is_read_with_its_device(values):
    loop = "my own GRPO loop 7B on 2x4090, zero 2 {}, exits with return code = -9"
    assert values(loop.format("offload_optimizer cpu"))["optimizer_on_cpu"] is True
    assert not values(loop.format("should I set offload_optimizer cpu?")).get("optimizer_on_cpu")


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("swift 2.5 s/it then OOM, Qwen2.5-7B sft", None),
        ("swift 3.5 s per step, Qwen2.5-7B sft OOM", None),
        ("trl 0.5 it/s grpo OOM", None),
        ("trl 0.16 TFLOPs grpo OOM", None),
        ("verl 0.5 gmu grpo OOM", None),
        ("verl 0.5, grpo OOM", "0.5"),
        ("swift 3.5 sft OOM", "3.5"),
    ],
)
def test_a_speed_or_a_share_behind_a_name_is_no_version(facts, said, version):
    told = facts(said).stated.get("framework_version")
    assert (told.value if told is not None and told.origin == "read" else None) == version


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("actor 7B, critic 7B, reward 1.5B", {"params_b": 7, "critic_b": 7, "reward_b": 1.5}),
        ("actor 14B critic 7B", {"params_b": 14, "critic_b": 7}),
        ("14B actor 7B critic", {"params_b": 14, "critic_b": 7}),
        ("actor 7B, reward 1.5B, judge 72B by API", {"params_b": 7, "reward_b": 1.5}),
        ("7B, reward 1.2B tokens seen", {"params_b": 7}),
    ],
)
def test_the_size_beside_a_role_is_its_models(facts, said, told):
    stated = facts(f"verl ppo CUDA out of memory, {said}").stated
    ids = ("params_b", "critic_b", "reward_b")
    assert {id: stated[id].value for id in ids if id in stated and stated[id].origin == "read"} == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("verl GRPO OOM, 8张A100服务器，2台", {"n_gpus": 16, "n_nodes": 2}),
        ("verl GRPO OOM, host 256G A100 80G x4", {"gpu_mem_gib": 80, "n_gpus": 4}),
        ("verl GRPO OOM, host 256G A100 x4", {"n_gpus": 4}),
        ("verl GRPO OOM，内存1T，显存80G，8卡", {"gpu_mem_gib": 80, "n_gpus": 8}),
        ("verl GRPO OOM，显存 80G 不够", {}),
        ("A100 80GB single, trl grpo OOM", {"gpu_mem_gib": 80, "n_gpus": 1}),
        ("trl sft OOM, A100 40GB, single node", {"gpu_mem_gib": 40}),
        ("4卡能跑8卡反而OOM verl grpo", {"n_gpus": 8}),
        ("verl grpo OOM: 8 GPUs works, 4 GPUs OOM", {"n_gpus": 4}),
        ("trl grpo OOM with bs=1, would 2 GPUs help?", {}),
        ("use 4 of the 8 GPUs for vLLM, rest train, trl grpo OOM", {"n_gpus": 8, "trainer_gpus": 4}),
        ("6 training cards of 8, vllm server on the other 2, trl grpo OOM", {"n_gpus": 8, "trainer_gpus": 6}),
    ],
)
def test_cards_are_counted_as_they_are_said_in_short(facts, said, told):
    stated = facts(said).stated
    ids = ("gpu_mem_gib", "n_gpus", "trainer_gpus")
    read = {id: stated[id].value for id in ids if id in stated and stated[id].origin == "read"}
    assert read == {id: value for id, value in told.items() if id in ids}
    assert "n_nodes" not in told or stated["n_nodes"].value == told["n_nodes"]


@pytest.mark.parametrize(
    ("said", "engine"),
    [
        ("trl 0.17 vllm 0.8.5 grpo", ("vllm", "0.8.5")),
        ("TRL 0.19 with vLLM 0.9.1 grpo", ("vllm", "0.9.1")),
        ("verl v0.5.0 sglang 0.4.9 grpo", ("sglang", "0.4.9")),
        ("6卡训练2卡vllm trl grpo", ("vllm", None)),
        ("trl grpo, not using vllm 0.8.5", ("hf", None)),
        ("trl sft, vllm 0.9.2 torch 2.7", ("hf", None)),
    ],
)
def test_an_engine_with_a_version_in_the_line_of_a_run_is_its_engine(facts, said, engine):
    values = facts(f"{said} Qwen2.5-7B, CUDA out of memory").values
    assert (values.get("rollout_engine"), values.get("engine_version")) == engine


@pytest.mark.parametrize(
    ("said", "id", "value"),
    [
        ("gmu 0.6", "gpu_memory_utilization", 0.6),
        ("util 0.85", "gpu_memory_utilization", 0.85),
        ("vllm mem 0.6", "gpu_memory_utilization", 0.6),
        ("vllm 0.6 util", "gpu_memory_utilization", 0.6),
        ("util 0.8改成0.4还是不行", "gpu_memory_utilization", 0.4),
        ("cpu util 0.9", "gpu_memory_utilization", None),
        ("gpu util drops to 0.3 while generating", "gpu_memory_utilization", None),
        ("vllm gpu 0.6 s per request", "gpu_memory_utilization", None),
        ("gmu 0.4 or 0.5?", "gpu_memory_utilization", None),
        ("gpu_memory_utilization 0.5, 0.3 both OOM", "gpu_memory_utilization", None),
        ("micro batch 8/4/2 all OOM", "micro_batch", None),
        ("micro batch 2 和 1 都爆", "micro_batch", None),
        ("micro batch is already 1", "micro_batch", 1),
        ("微批=1", "micro_batch", 1),
        ("would ppo_micro_batch_size_per_gpu 1 help?", "micro_batch", None),
        ("enforce eager", "enforce_eager", True),
        ("no cuda graphs", "enforce_eager", True),
        ("is enforce eager needed?", "enforce_eager", None),
        ("while capturing cuda graphs", "enforce_eager", None),
        ("fp8 kv cache", "kv_cache_dtype", "fp8"),
        ("no fp8 kv cache", "kv_cache_dtype", None),
        ("n 16, 8xH100", "rollout_n", 16),
        ("edit: n is 16, not 8", "rollout_n", 16),
        ("top n 16", "rollout_n", None),
        ("prompt长度1k 回复长度8k", "response_length", 8192),
        ("提示词1024 回复8192", "prompt_length", 1024),
        ("生成 1024 条之后", "response_length", None),
        ("max_new_tokens 4096", "response_length", 4096),
    ],
)
def test_a_setting_in_few_words(facts, said, id, value):
    told = facts(f"verl grpo Qwen2.5-7B CUDA out of memory, {said}").stated.get(id)
    assert (told.value if told is not None and told.origin == "read" else None) == value


@pytest.mark.parametrize(
    ("said", "id", "value"),
    [
        ("bs 1 x 8 accum, 8 generations", "gradient_accumulation", 8),
        ("每卡batch 1，累积16步", "gradient_accumulation", 16),
        ("1 sample per device, 8 accumulation steps", "micro_batch", 1),
        ("at 累计100步", "gradient_accumulation", None),
        ("fsdp, bs 1", "strategy", "fsdp"),
        ("no fsdp", "strategy", None),
        ("pure bf16", "precision", "bf16"),
        ("要不要上zero3", "zero_stage", None),
        ("p=512 r=2048", "lora_rank", None),
        ("lora r=64", "lora_rank", 64),
    ],
)
def test_a_setting_of_a_trainer_by_device_in_few_words(facts, said, id, value):
    told = facts(f"trl grpo Qwen2.5-7B CUDA out of memory, {said}").stated.get(id)
    assert (told.value if told is not None and told.origin == "read" else None) == value


@pytest.mark.parametrize(
    ("said", "model"),
    [
        ("Qwen2.5-72B judge, Qwen2.5-7B policy, verl grpo", "Qwen2.5-7B"),
        ("policy Qwen2.5-7B judge Qwen2.5-72B verl grpo", "Qwen2.5-7B"),
        ("Qwen2.5-3B critic, Qwen2.5-7B actor, verl ppo", "Qwen2.5-7B"),
        ("facebook/opt-350m reward model, opt-1.3b actor, ppo", "OPT-1.3B"),
        ("Qwen2.5-32B裁判模型 Qwen2.5-7B verl grpo", "Qwen2.5-7B"),
        ("train a Qwen2.5-7B judge with trl sft", "Qwen2.5-7B"),
        ("training a Qwen2.5-7B reward model with trl", "Qwen2.5-7B"),
    ],
)
def test_a_model_before_the_role_of_another_is_not_the_trained_one(facts, said, model):
    found = facts(f"{said}, CUDA out of memory").model
    assert found is not None
    assert found.title == model


@pytest.mark.parametrize(
    ("said", "name", "size", "count"),
    [
        ("4x GTX 1080 Ti 11GB", "GTX 1080 Ti", 11, 4),
        ("2 x A16 16GB", "A16", 16, 2),
        ("RX 7900 XTX 24GB", "RX 7900 XTX", 24, None),
        ("8 x Gaudi2 96GB", "Gaudi2", 96, 8),
        ("海光 DCU K100 64G 8卡", "海光 DCU K100", 64, 8),
        ("DGX Spark 128GB", "DGX Spark", None, None),
        ("a Mac Studio M2 Ultra 192GB", "Mac Studio M2 Ultra", None, None),
        ("TPU v4-8", "TPU v4-8", None, None),
    ],
)
def test_a_card_that_the_catalogue_does_not_hold_is_said_to_be_such(facts, said, name, size, count):
    found = facts(f"trl sft Qwen2.5-0.5B on {said}, out of memory")
    assert "gpu_model" not in found.stated
    assert any(note.startswith(f"{name} is not in the catalogue") for note in found.notes)
    assert (found.values.get("gpu_mem_gib"), found.values.get("n_gpus")) == (size, count)


def test_no_card_of_the_catalogue_is_said_to_be_strange(facts, knowledge):
    for gpu in knowledge.gpus.values():
        assert not any("is not in the catalogue" in note for note in facts(f"verl grpo on 8 x {gpu.title}, OOM").notes)


@pytest.mark.parametrize(
    ("said", "id", "value"),
    [
        ("zero3 works but is slow; zero2 OOMs", "zero_stage", 2),
        ("zero2爆，zero3能跑但慢", "zero_stage", 2),
        ("zero2 and zero3 both OOM", "zero_stage", None),
        ("之前 A100 现在 H100", "gpu_model", "H100"),
        ("moved from A100 to H100", "gpu_model", "H100"),
        ("was on A100s, now on H100s", "gpu_model", "H100"),
        ("A100 or H100, both", "gpu_model", None),
    ],
)
def test_of_two_values_the_one_that_fails_or_that_came_last_is_the_runs(facts, said, id, value):
    told = facts(f"trl grpo Qwen2.5-7B CUDA out of memory: {said}").stated.get(id)
    assert (told.value if told is not None and told.origin == "read" else None) == value


@pytest.mark.parametrize(
    ("said", "id", "value"),
    [
        ("TRL GRPO bs 2 OOM, bs 1 fine", "micro_batch", 2),
        ("TRL GRPO works with bs 1, OOM with bs 2", "micro_batch", 2),
        ("TRL GRPO OOM with bs 1", "micro_batch", 1),
        ("TRL GRPO OOM, 8 gens", "rollout_n", 8),
        ("verl GRPO OOM: gmu .8→.4 no help", "gpu_memory_utilization", 0.4),
        ("verl GRPO OOM, response 从 8k 降到 4k 才行", "response_length", None),
        ("verl grpo OOM tensor_model_parallel_size 4 gpu_memory_utilization .5", "n_gpus", None),
        ("verl grpo OOM, cluster of 64 H800, this job uses 16", "n_gpus", 16),
        ("verl GRPO 32B 4机H800 OOM", "n_nodes", 4),
        ("verl grpo OOM 没开remove padding", "remove_padding", False),
        ("verl grpo OOM，KL loss开了", "has_ref", True),
        ("verl grpo oom. 7b. sglang. tp4.", "rollout_engine", "sglang"),
        ("llamafactory sft full 7B 4xA100 z2 bs 2 OOM", "full_or_lora", "full"),
        ("llamafactory sft full 7B 4xA100 z2 bs 2 OOM", "zero_stage", 2),
        ("unsloth grpo qwen3-4b oom max_seq_length 2048 r=32", "lora_rank", 32),
    ],
)
def test_a_run_in_one_short_line(facts, said, id, value):
    told = facts(said).stated.get(id)
    assert (told.value if told is not None and told.origin != "default" else None) == value


@pytest.mark.parametrize(
    ("said", "framework"),
    [
        ("verl grpo: 7B works, 32B OOM", "verl"),
        ("verl GRPO worked on H100 but OOM on A100", "verl"),
        ("verl grpo 8 GPUs works, 4 GPUs OOM", "verl"),
        ("verl H100 上没问题，A100 上 OOM", "verl"),
        ("TRL GRPO 7B works fine, verl 7B OOMs", "verl"),
        ("I use verl. EasyR1 works fine with it. OOM", "verl"),
    ],
)
def test_what_goes_well_beside_what_fails_is_of_the_same_trainer(facts, said, framework):
    told = facts(said).stated.get("framework")
    assert (told.value if told else None) == framework


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("verl, train batch 256, 7B OOM", {"train_batch_size": 256}),
        ("verl OOM at train batch 5, 7B", {"train_batch_size": 1024}),
        ("verl: train batch 5 of 40 then OOM", {"train_batch_size": 1024}),
        ("openrlhf 7B micro train batch 4, micro rollout batch 8 OOM", {"micro_batch": 4, "logprob_micro_batch": 8}),
        ("verl grpo 64 prompts x 8 samples 3B OOM", {"train_batch_size": 64, "rollout_n": 8}),
        ("verl grpo 7B, ppo_max_token_len 18k, OOM update_actor", {"micro_tokens": 18432}),
        ("verl ppo max token len per gpu 16384 OOM update_actor", {"micro_tokens": 16384}),
        ("vllm gpu mem 0.4 openrlhf 7B OOM", {"gpu_memory_utilization": 0.4}),
        ("微调 8B 序列 8k OOM", {"max_length": 8192}),
        ("sft 13B max_seq_len=4096 3090 OOM", {"max_length": 4096}),
        ("GRPO, Qwen2.5-VL-7B, 16 frames, 8 generations, OOM", {"video_frames": 16}),
        ("Qwen2.5-VL sft，视频 32 帧，ms-swift OOM", {"video_frames": 32}),
        ("... 12 frames omitted ... OOM", {"video_frames": None}),
        ("30 frames per second video, OOM qwen vl", {"video_frames": None}),
    ],
)
def test_settings_in_fewest_words(values, text, told):
    found = values(text)
    assert {id: found.get(id) for id in told} == told
