"""Settings, engines, moments and models as people tell them in a sentence, and sentences that look alike and tell none."""

import pytest

from tests.diagnose.facts.conftest import told


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("8 per GPU is OK, 16 goes OOM. verl", 16),
        ("每卡 8 条没问题，16 就 OOM，verl", 16),
        ("16 per GPU OOMs, 8 per GPU is fine. trl sft", 16),
        ("mbs 2, CUDA OOM in the policy update, verl", 2),
        ("prompt 1k，response 4k，micro 4，actor 更新 oom", 4),
    ],
)
def test_the_rows_on_a_card_are_those_with_which_it_fails(values, text, rows):
    assert values(text)["micro_batch"] == rows


@pytest.mark.parametrize(
    "text",
    [
        "8 per node, 2 nodes OOM, verl H100",
        "uses 8 GB per GPU, then 16 and goes OOM, verl",
        "每张卡 40G 能跑，80G 就爆",
        "8 GPUs OK, 16 GPUs OOM with verl",
    ],
)
def test_other_numbers_are_no_rows(facts, text):
    found = facts(text).stated.get("micro_batch")
    assert found is None or not found.certain


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("sglang 爆显存，verl，8 卡", "sglang"),
        ("vllm 没事，换 sglang 就爆显存，verl", "sglang"),
        ("CUDA OOM in SGLang, verl", "sglang"),
        ("打算换 sglang，现在 vllm 爆显存，verl", "vllm"),
        ("更新权重到 sglang 的时候显存不足，slime", "sglang"),
    ],
)
def test_the_engine_that_fails_is_the_run_s(facts, text, engine):
    found = facts(text).stated["rollout_engine"]
    assert (found.value, found.origin) == (engine, "read")


def test_of_two_engines_that_fail_none_is_the_run_s(facts):
    found = facts("sglang 和 vllm 都爆显存，verl").stated.get("rollout_engine")
    assert found is None or found.origin != "read"


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("vllm tp=4，8 卡，util 0.7，生成时显存爆，verl", 0.7),
        ("sglang mem_fraction_static 0.85，verl，rollout 时 OOM", 0.85),
        (
            "verl died with gpu_memory_utilization=0.9. Set it to 0.5 and training started, now the actor update OOMs",
            0.5,
        ),
    ],
)
def test_the_share_is_the_one_in_force(values, text, share):
    assert values(text)["gpu_memory_utilization"] == share


def test_a_switch_that_was_turned_off_again_is_off(values):
    assert (
        values("param_offload=True was on, turned it off since it was too slow, now OOM. verl")["param_offload"]
        is False
    )


def test_what_made_it_work_is_not_the_run_that_failed(facts):
    found = facts("把 max_response_length 从 8192 降到 4096 就不 OOM 了，想跑 8192 怎么办，verl").stated[
        "response_length"
    ]
    assert not found.certain


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("sglang 起不来，报显存不够，slime", "init"),
        ("更新权重到 sglang 的时候显存不足", "weight_sync"),
        ("存 checkpoint 的时候进程被系统杀了", "checkpoint"),
        ("加载 Qwen2.5-72B 的时候显存就爆了", "load"),
        ("rollout 正常，logprob 也正常，到 update 就爆显存", "actor_update"),
        ("CUDA out of memory\n更新 actor 时报上面的错", "actor_update"),
    ],
)
def test_the_moment_is_read(text, phase):
    assert told(text).phase == phase


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("进程被系统杀了，verl", "host_ram"),
        ("跑着跑着终端就一句 Killed，openrlhf", "host_ram"),
        ("容器 shm 只有 64M，nccl 报错 No space left on device", "host_shm"),
    ],
)
def test_what_ran_out_is_read(text, kind):
    assert told(text).kind == kind


def test_an_engine_that_did_not_start_before_is_not_the_failure_of_now():
    before = "先是 vllm 报 No available memory for the cache blocks，把 gpu_memory_utilization 从 0.3 调到 0.7 之后，"
    found = told(f"{before}又变成更新 actor 的时候 CUDA out of memory")
    assert (found.kind, found.phase) == ("gpu_oom", "actor_update")


def test_a_mixture_of_experts_by_its_sizes_is_assumed_to_be_the_plain_one(facts):
    found = facts("30B-A3B GRPO on 16xH100 with verl megatron, OOM").stated
    assert (found["model"].value, found["model"].origin, found["params_b"].value) == ("Qwen3-30B-A3B", "assumed", 30)


@pytest.mark.parametrize("text", ["GLM 106B-A12B slime OOM", "Nemotron 30B-A3B CUDA OOM", "Qwen3.5-35B-A3B verl OOM"])
def test_a_family_that_is_named_is_not_exchanged(values, text):
    assert values(text).get("model") not in ("Qwen3-30B-A3B", "Qwen3-235B-A22B")


def test_a_model_whose_training_is_reproduced_is_not_the_one_that_is_trained(values):
    assert (
        values("trying to reproduce DeepSeek-R1-Zero with Qwen2.5-3B, OOM in the critic update")["model"]
        == "Qwen2.5-3B"
    )


def test_a_number_before_named_machines_counts_these(values):
    found = values("the 2 H200 nodes, 16 gpus. verl")
    assert (found["n_nodes"], found["n_gpus"]) == (2, 16)


@pytest.mark.parametrize(
    ("text", "cards", "trains"),
    [
        ("16 gpus (8 sglang, 8 train), areal", 16, 8),
        ("training uses 4 and vllm server the other 4, trl grpo, 8xA100", 8, 4),
        ("Training GPUs: 6x H100 80GB, 2 more H100 run vllm-serve, trl grpo", 8, 6),
    ],
)
def test_cards_that_train_are_told_beside_those_that_generate(values, text, cards, trains):
    found = values(text)
    assert (found["n_gpus"], found["trainer_gpus"]) == (cards, trains)


def test_a_step_of_no_prompts_is_not_the_default_of_the_trainer() -> None:
    """Prompts that come one by one: neither nought nor what the trainer takes without the key."""
    command = "python3 -m verl.trainer.main_ppo data.train_batch_size=0 data.gen_batch_size=1 trainer.n_gpus_per_node=8"
    facts = told(command).facts
    assert "train_batch_size" not in facts.values
    assert not any("variable" in note for note in facts.notes)
