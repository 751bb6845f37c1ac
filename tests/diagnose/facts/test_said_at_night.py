"""What people type in a hurry, half in Chinese: who has which cards, where the engine stands, what is on, where it failed."""

import pytest


@pytest.mark.parametrize(
    ("said", "gpus", "train"),
    [
        ("areal 1.5B 单机8卡，4卡推理4卡训练 A800", 8, 4),
        ("trl grpo; 1 GPU for vllm serve (A100 80), 3 for training, 14b", 4, 3),
        ("trl grpo 7b, 2 GPUs for vllm and 6 for training", 8, 6),
        ("verl 7b 推理4卡，训练4卡，A100 80G", 8, 4),
        ("trl grpo 7b，2 卡跑 vllm，6 卡训练", 8, 6),
    ],
)
def test_cards_that_generate_are_named_before_those_that_train(values, said, gpus, train):
    found = values(f"{said} CUDA OOM")
    assert (found["n_gpus"], found["trainer_gpus"], found["rollout_mode"]) == (gpus, train, "server")


@pytest.mark.parametrize(
    ("said", "mode"),
    [
        ("verl grpo 32B 2机16卡H800 colocate，第1步正常", "colocated"),
        ("slime GLM4-9B 8xH100 colocate，", "colocated"),
        ("openrlhf ppo 8卡 8b vllm 2个engine tp1 不colocate", "server"),
        ("slime 非colocate 8xH100 9B", "server"),
        ("verl 7b 8xA100 not colocated", "server"),
        ("areal 7b 8xA100 训推分离", "server"),
    ],
)
def test_where_the_engine_stands_is_one_word(values, said, mode):
    assert values(f"{said} CUDA OOM")["rollout_mode"] == mode


@pytest.mark.parametrize(
    "said",
    [
        "critic colocate with actor",
        "the reward model is colocated",
        "should I colocate?",
        "tried server mode and colocate",
    ],
)
def test_a_role_a_question_and_a_try_tell_nothing_of_the_engine(facts, said):
    told = facts(f"openrlhf 7b 8xA100 80G, {said}, CUDA OOM").stated.get("rollout_mode")
    assert told is None or told.origin == "default"


_TORCH = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.03 GiB.\n"


@pytest.mark.parametrize(
    ("said", "phase"),
    [
        (f"easyr1 7b 8*4090 报错\n{_TORCH}在 update_actor", "actor_update"),
        (f"{_TORCH}卡在 compute_log_prob 这一步", "logprob"),
        ("verl 72b 刚开始load模型就OOM", "load"),
        ("crashing with CUDA OOM after eval starts, train steps fine", "eval"),
        ("CUDA OOM after the rollout begins", "rollout"),
        ("saving checkpoint → process gets Killed", "checkpoint"),
        ("async save 时候 node OOM", "checkpoint"),
        ("reference 计算 logp 的时候炸了", "ref_logprob"),
        ("compute_rm_score 那里OOM", "reward"),
        ("val before train 就 OOM 了，还没开始训", "eval"),
        ("dies on first generate call, CUDA OOM", "rollout"),
        ("CUDA OOM @ optimizer.step", "optimizer_step"),
        ("NeMo-RL 70B, refit 的时候 CUDA OOM", "weight_sync"),
        ("save ckpt host 内存被打满 1.8T", "checkpoint"),
        ("deepspeed-chat CUDA OOM at generate", "rollout"),
    ],
)
def test_where_it_failed(values, said, phase):
    assert values(said)["phase"] == phase


@pytest.mark.parametrize(
    "said", ["CUDA OOM after eval", "CUDA OOM after the rollout", "save 的显存不够, CUDA OOM", f"{_TORCH}在 8 张卡上跑"]
)
def test_what_was_over_is_no_phase(values, said):
    assert "phase" not in values(said)


@pytest.mark.parametrize(
    "said",
    [
        "saving checkpoint → process gets Killed. ram 128gb",
        "deepspeed.initialize hangs then Killed signal 9",
        "save 的时候 node OOM, 1TB ram",
    ],
)
def test_who_is_killed_lacked_host_ram(values, said):
    assert values(said)["oom_kind"] == "host_ram"


@pytest.mark.parametrize(
    ("said", "levers"),
    [
        ("rollout.n=8 跑到update_actor爆显存了，micro_batch已经改成1了还是OOM", {"batch.micro.down"}),
        (
            "sglang_mem_fraction_static 0.8 max_token_len 9216 试过降到0.7还是一样",
            {"rollout.gpu_memory_utilization.down"},
        ),
        ("rollout.n lowered to 4, still CUDA OOM", {"rollout.n.down"}),
        ("max response 从 8k 降到 4k 还是爆显存", {"length.response.down"}),
        ("ppo_micro_batch_size_per_gpu=1 还是爆显存", {"batch.micro.down"}),
    ],
)
def test_what_was_tried_is_what_was_changed(facts, said, levers):
    assert {one.lever for one in facts(f"verl grpo 7B 8卡A800，{said}").tried} == levers


@pytest.mark.parametrize(
    ("said", "gib"),
    [
        ("retriever 也在同样的卡上占了 6G 左右每卡, rollout 阶段 CUDA OOM", 6),
        ("the retriever takes about 6GB on each card, CUDA OOM in rollout", 6),
        ("每张卡上别的进程占了 12G, rollout 阶段 CUDA OOM", 12),
        ("the retriever takes about 60GB RAM, CUDA OOM in rollout", None),
    ],
)
def test_what_others_hold_beside_a_failing_rollout(values, said, gib):
    assert values(f"search-r1 ppo 3b 8xA100 80G, {said}").get("others_gib") == gib


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("verl 7b 8xH100, 1TB RAM, OOM in update_actor", "other"),
        ("verl 7b 8xH100, 1TB host memory, CUDA OOM in backward", "gpu_oom"),
        ("the retriever takes about 60GB RAM, CUDA OOM in rollout", "gpu_oom"),
        ("verl 7b 8xH100, 1TB RAM fills up", "host_ram"),
    ],
)
def test_ram_that_a_machine_has_did_not_run_out(values, said, kind):
    assert values(said)["oom_kind"] == kind


@pytest.mark.parametrize(
    ("said", "id", "value"),
    [
        ("activation checkpointing already on", "gradient_checkpointing", True),
        ("gradient checkpointing is already enabled", "gradient_checkpointing", True),
        ("num_generations=8 per_device 1", "micro_batch", 1),
        ("zero2 not zero3", "zero_stage", 2),
    ],
)
def test_what_is_on_already(values, said, id, value):
    assert values(f"trl grpo 3b 8xA100 80G, {said}, CUDA OOM in backward")[id] == value


def test_what_fails_before_the_first_step_was_set(values):
    found = values("trl GRPO 3b, A10G 24GB x4, vllm colocate util 0.9 → CUDA OOM before step 1")
    assert (found["gpu_memory_utilization"], found["rollout_mode"]) == (0.9, "colocated")


@pytest.mark.parametrize(
    ("said", "trainer"),
    [
        ("unsloth 跑 qwen3-4b grpo 爆显存", "trl"),
        ("unsloth 显存 16G 的卡 qwen3-4b grpo CUDA OOM", "trl"),
        ("ROLL qwen2.5 7B 8 卡 H20 CUDA OOM", "roll"),
    ],
)
def test_a_trainer_is_named_by_its_name_before_what_it_trains(values, said, trainer):
    assert values(said)["framework"] == trainer


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("verl0.4", "0.4"),
        ("verl (0.4.1)", "0.4.1"),
        ("verl（v0.4.1）", "0.4.1"),
        ("verl release v0.4.1", "0.4.1"),
        ("verl_0.4.1", "0.4.1"),
        ("verl 用的 0.4.1", "0.4.1"),
        ("框架verl0.5 vllm0.9.1", "0.5"),
        ("verl 0.4.1 (0.3 works fine)", "0.4.1"),
        ("verl 0.6 gpu util", None),
        ("verl 0.5 显存占比", None),
        ("verl 2.5 hours", None),
        ("verl 1.5B test runs", None),
        ("verl的0.4版", "0.4"),
        ("moved from OpenRLHF to verl", None),
    ],
)
def test_a_version_stands_beside_the_trainers_name(values, said, version):
    found = values(f"grpo Qwen2.5-7B on 8xA100 80G, {said}, CUDA out of memory in update_actor")
    assert (found["framework"], found.get("framework_version")) == ("verl", version)


@pytest.mark.parametrize(
    ("said", "framework", "version"),
    [
        ("swift 3.5", "ms-swift", "3.5"),
        ("ms swift 3.6", "ms-swift", "3.6"),
        ("swift3.4.0", "ms-swift", "3.4.0"),
        ("trl0.19.0", "trl", "0.19.0"),
        ("LLaMaFactory0.9.1", "llamafactory", "0.9.1"),
        ("EasyR1 (v0.3)", "easyr1", "0.3"),
        ("swift版本3.6", "ms-swift", "3.6"),
        ("trl main (0.20.0.dev0)", "trl", "0.20.0.dev0"),
    ],
)
def test_a_trainers_name_may_be_joined_with_its_version(values, said, framework, version):
    found = values(f"grpo Qwen2.5-7B on 8xA100 80G, {said}, CUDA out of memory")
    assert (found["framework"], found["framework_version"]) == (framework, version)


@pytest.mark.parametrize(
    ("said", "framework"), [("huggingface/open-r1", "trl"), ("open-r1 recipe", "trl"), ("alibaba ROLL", "roll")]
)
def test_a_trainer_goes_by_the_name_of_its_recipe_or_owner(values, said, framework):
    assert values(f"grpo Qwen2.5-7B on 8xA100 80G, {said}, CUDA out of memory")["framework"] == framework


def test_a_key_of_no_known_trainer_is_not_read_as_words(facts):
    assert "logprob_micro_batch" not in facts("grpo 7b 8xA100 80G, log_prob_micro_batch_size=16, CUDA OOM").stated


def test_the_only_engine_whose_version_is_told_is_the_runs(values):
    found = values("verl grpo Qwen2.5-7B on 8xA100 80G, sglang 0.4.6.post5, torch2.6, CUDA out of memory")
    assert (found["rollout_engine"], found["engine_version"], found["torch_version"]) == (
        "sglang",
        "0.4.6.post5",
        "2.6",
    )
    both = values("verl grpo Qwen2.5-7B on 8xA100 80G, sglang 0.4.6, vllm 0.8.5, CUDA out of memory")
    assert both["rollout_engine"] == "vllm"


@pytest.mark.parametrize(
    ("said", "mode"),
    [
        ("w/o lora", "full"),
        ("LoRA off", "full"),
        ("not using lora", "full"),
        ("no PEFT", "full"),
        ("没开lora", "full"),
        ("未使用LoRA", "full"),
        ("不用lora", "full"),
        ("全量", "full"),
        ("full OOMs but LoRA is fine", "full"),
        ("lora works, full fails", "full"),
        ("LoRA instead of full parameter", "lora"),
        ("不是全参，是lora", "lora"),
        ("全参跑不动，换成lora还是爆", "lora"),
        ("全参爆，换成lora就能跑", "full"),
        ("lora + 4bit", "qlora"),
        ("4bit量化lora", "qlora"),
        ("would LoRA help?", None),
        ("should I use lora?", None),
        ("will try lora next", None),
        ("thinking of QLoRA", None),
        ("if I use LoRA it works", None),
        ("I don't want LoRA", None),
        ("LoRA isn't an option", None),
        ("打算换lora", None),
        ("tried everything except LoRA", None),
        ("why not LoRA?", None),
        ("not QLoRA but LoRA", "lora"),
        ("没用qlora，就是lora", "lora"),
        ("this is not a LoRA run", "full"),
        ("it isn't LoRA", "full"),
        ("never used LoRA", "full"),
        ("LoRA is not supported", None),
        ("no OOM without lora, OOM with lora", "lora"),
        ("we moved from LoRA r=64 to full", "full"),
        ("不想用lora", None),
        ("I want to train with LoRA", "lora"),
        ("want to use lora on this", "lora"),
        ("想用lora训", "lora"),
        ("tried LoRA as well", "lora"),
        ("no critic and LoRA", "lora"),
        ("can't train LoRA", "lora"),
    ],
)
def test_adapters_that_are_off_or_only_thought_of_are_none(facts, said, mode):
    told = facts(f"ms-swift grpo Qwen2.5-7B 8*A100 80G, {said}, CUDA out of memory").stated.get("full_or_lora")
    assert (told.value if told is not None and told.origin == "read" else None) == mode


_VERL = "verl grpo Qwen2.5-7B on 8xA100 80G, {}. CUDA out of memory in update_actor"


@pytest.mark.parametrize(
    ("said", "id", "value"),
    [
        ("ulysses sp=8", "sp", 8),
        ("序列并行4", "sp", 4),
        ("mbs 2", "micro_batch", 2),
        ("G=8", "rollout_n", 8),
        ("fsdp2", "strategy", "fsdp2"),
        ("tp=2", "rollout_tp", 2),
        ("tp改成4", "rollout_tp", 4),
        ("rollout n 16", "rollout_n", 16),
        ("rollout.n 8", "rollout_n", 8),
        ("train bsz 128", "train_batch_size", 128),
        ("I lowered micro batch to 1 and response to 2k, same", "response_length", 2048),
        ("rollout log prob micro batch size per gpu 16", "micro_batch", None),
        ("prompt + response = 16384", "response_length", None),
        ("real responses are around 2k", "response_length", None),
        ("输出长度限制8192", "response_length", 8192),
        ("没用megatron", "strategy", None),
        ("no vllm sleep mode", "rollout_engine", None),
        ("micro batch 从 8 一路降到 1 都爆", "micro_batch", 1),
        ("组大小16", "rollout_n", 16),
        ("rollout次数8", "rollout_n", 8),
        ("train bsz 256 mini bsz 64", "mini_batch_size", 64),
        ("log prob micro batch 8", "logprob_micro_batch", 8),
        ("log prob micro batch 8", "micro_batch", None),
        ("ref micro batch 4", "ref_logprob_micro_batch", 4),
        ("ref micro batch 4", "micro_batch", None),
        ("critic 的 micro batch 4", "micro_batch", None),
        ("logprob micro bsz 8, actor micro bsz 2", "micro_batch", 2),
        ("prompt/response 1k/8k", "prompt_length", 1024),
        ("prompt/response 1k/8k", "response_length", 8192),
        ("prompt/response length 512/2048", "response_length", 2048),
        ("max prompt len 1024 max resp len 4096", "response_length", 4096),
        ("resp len 16k", "response_length", 16384),
        ("输入2k输出6k", "prompt_length", 2048),
        ("输入2k输出6k", "response_length", 6144),
        ("response长度16k", "response_length", 16384),
        ("max response reduced from 16k to 8k", "response_length", 8192),
        ("mean response length 3000, max 8192", "response_length", None),
        ("平均回复长度3000", "response_length", None),
        ("response length 3000 on average", "response_length", None),
        ("0.6 gpu util", "gpu_memory_utilization", 0.6),
        # what it was, and what it is
        ("gpu_memory_utilization 0.5 still OOM, now 0.3", "gpu_memory_utilization", 0.3),
        ("显存利用率0.6改0.4", "gpu_memory_utilization", 0.4),
        ("之前micro batch是8，现在4", "micro_batch", 4),
        ("micro batch原来8现在4", "micro_batch", 4),
        ("works with micro batch 1 but not with 2", "micro_batch", 2),
        ("works with response 4k but OOM with 8k", "response_length", 8192),
        ("planned response 16k, currently 8k", "response_length", 8192),
        ("tp 2不行换成4", "rollout_tp", 4),
        ("rollout n 从8改成4", "rollout_n", 4),
    ],
)
def test_a_setting_is_read_as_people_shorten_and_correct_it(facts, said, id, value):
    told = facts(_VERL.format(said)).stated.get(id)
    assert (told.value if told is not None and told.certain else None) == value


@pytest.mark.parametrize(
    ("said", "id", "value"),
    [
        ("trl grpo 7b, bs=4 ga=8", "gradient_accumulation", 8),
        ("trl grpo 7b, batch 2 x accum 16", "gradient_accumulation", 16),
        ("trl grpo 7b, rank-64 LoRA", "lora_rank", 64),
        ("trl grpo 7b, lora秩64", "lora_rank", 64),
        ("trl grpo 7b, gradient checkpointing was off, turned it on", "gradient_checkpointing", True),
        ("trl grpo 7b, without 4-bit quantization, lora r=8", "full_or_lora", "lora"),
        ("trl grpo 7b, without vllm", "rollout_engine", "hf"),
        ("openrlhf ppo 7b, micro train bs 2, micro rollout bs 8", "micro_batch", 2),
        ("openrlhf ppo 7b, micro train bs 2, micro rollout bs 8", "logprob_micro_batch", 8),
        ("ms-swift sft 7b, max len 16384", "max_length", 16384),
        ("llamafactory sft 7b, seqlen=4096", "max_length", 4096),
        ("llamafactory sft 7b, context 4k", "max_length", 4096),
        ("trl grpo 7b, ZeRO-2 OOMs, moved to ZeRO-3 and still OOM", "zero_stage", 3),
        ("ms-swift grpo 7b, zero2爆，换zero3还是爆", "zero_stage", 3),
        ("ms-swift grpo Qwen2.5-VL-7B, freeze vit", "freeze_vision", True),
        ("ms-swift grpo Qwen2.5-VL-7B, vision tower frozen", "freeze_vision", True),
        ("verl megatron 72B, TP8PP4", "tp", 8),
        ("verl megatron 72B, TP8PP4", "pp", 4),
        ("verl megatron 72B, tensor parallel 8 pipeline parallel 4", "pp", 4),
    ],
)
def test_a_trainers_setting_is_read_as_people_shorten_it(values, said, id, value):
    assert values(f"{said}. 8xA100 80G CUDA out of memory").get(id) == value


@pytest.mark.parametrize("said", ["vit not frozen", "unfreeze vit", "没冻结vit"])
def test_a_tower_that_is_not_frozen_is_not_read_as_frozen(facts, said):
    told = facts(f"ms-swift grpo Qwen2.5-VL-7B, {said}. 8xA100 80G CUDA out of memory").stated.get("freeze_vision")
    assert told is None or told.origin != "read"
