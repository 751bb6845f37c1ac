"""The answer in short in Chinese."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from diagnose.ingest import read_stream
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_text
from diagnose.vocabulary import KINDS, PHASES
from diagnose.words import chinese_names
from diagnose.words.chinese import is_chinese, summary

VISION = Path(__file__).resolve().parents[2] / "pastes/ms-swift-vision-full/paste.txt"
TORCH = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free.\n"
)


RUN = (
    f"{TORCH}python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae critic.model.path=Qwen/Qwen2.5-7B data.train_batch_size=64 "
    "data.max_response_length=4096 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.rollout.n=8 trainer.nnodes=1 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 trainer.n_gpus_per_node=8\n"
)


def found(text, answers=None):
    knowledge = current()
    return diagnose(text, answers or {}, knowledge, tuple(knowledge.cases.values()))


def chinese(text):
    return any("\u4e00" <= letter <= "\u9fff" for letter in text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        TORCH,
        "loading /data/张三/run.sh",
        "GPUメモリが不足しています。学習が途中で停止します",
        "메모리가 부족합니다",
        "résumé naïve",
    ],
)
def test_a_text_without_chinese_words_is_not_answered_in_chinese(text):
    assert not is_chinese(text)
    assert "中文摘要" not in to_text(found(text))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("start", [b"", b"\xff\xfe", TORCH.encode() + b"\n"])
def test_bytes_that_are_no_text_are_not_answered_in_chinese(start, seed):
    assert not is_chinese(found(read_stream([start + random.Random(seed).randbytes(100_000)])).paste.text)


def test_chinese_words_beside_bytes_that_are_no_text_are_answered_in_chinese():
    assert is_chinese(
        found(read_stream([f"四卡训练显存不够\n{TORCH}\n".encode() + random.Random(1).randbytes(10_000)])).paste.text
    )


def test_a_text_with_chinese_words_is_answered_in_chinese_first_and_in_english_as_ever():
    said = to_text(found(f"四卡训练显存不够\n{TORCH}"))
    assert said.startswith("中文摘要：显存溢出\n")
    assert "\nGPU memory runs out\n" in said


def test_every_kind_and_phase_has_a_chinese_name():
    assert set(chinese_names.KINDS) == set(KINDS)
    assert set(chinese_names.PHASES) == set(PHASES)


def test_every_record_that_a_summary_names_has_a_chinese_title():
    knowledge = current()
    named = [*knowledge.levers.values(), *knowledge.questions.values()]
    named += [one for one in knowledge.signatures.values() if one.not_memory]
    assert [one.slug for one in named if not chinese(one.chinese)] == []


def test_a_failure_without_a_message_is_only_likely():
    assert summary(found("verl 训练到一半 ray worker died, exit code 137")).headline.startswith("很可能是")


def test_what_is_no_memory_failure_is_said_to_be_none_and_nothing_is_advised():
    told = summary(found("训练报错 RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"))
    assert (told.headline, told.advice) == ("这不是内存问题：概率里有 nan、inf 或负数", ())


def test_what_an_estimate_lacks_is_named_in_chinese():
    told = summary(found("显存爆了，怎么办，求助"))
    assert told.lead == "还不能估算，缺少：模型、总卡数。请补上启动命令，或者模型、显卡和长度。"


def test_an_engine_that_runs_alone_is_told_by_its_cache():
    told = summary(
        found(
            "vllm serve Qwen/Qwen2.5-72B-Instruct --tensor-parallel-size 2 --max-model-len 4096\n在 2 张 A100 80G 上够吗"
        )
    )
    assert told.headline.startswith("按估算，引擎可以启动")
    assert "KV cache 剩" in told.lead


def test_settings_that_do_not_explain_a_failure_are_said_not_to():
    assert "不能解释" in summary(found(VISION.read_text(encoding="utf-8"))).lead


def test_a_size_that_the_phase_does_not_take_is_no_guess_in_chinese_either():
    run = {"oom_kind": "gpu_oom", "framework": "nemo-rl", "model": "Qwen2.5-7B", "n_gpus": 8, "gpu_mem_gib": 80}
    told = [
        summary(diagnose("", {**run, "phase": phase}, current(), ())).lead for phase in ("weight_sync", "actor_update")
    ]
    assert ["micro batch" in lead for lead in told] == [False, True]
    assert all("没有读到任何配置" in lead for lead in told)


def test_a_phase_that_the_run_does_not_have_is_said_to_be_left_out():
    run = {
        "oom_kind": "gpu_oom",
        "framework": "verl",
        "model": "Qwen2.5-7B",
        "n_gpus": 8,
        "algo": "grpo",
        "phase": "critic",
    }
    assert "失败的阶段没有估算：critic 更新，请核对阶段和算法。" in summary(diagnose("", run, current(), ())).lead


def test_a_limit_of_a_job_is_called_what_the_job_may_use():
    text = "oom-kill:constraint=CONSTRAINT_MEMCG\nverl GRPO Qwen2.5-7B 8xA100 80G\n#SBATCH --mem=500G"
    assert "任务可用 500.0" in summary(found(text)).lead


def test_a_version_that_helps_in_one_phase_is_advised_for_that_phase_while_it_is_open():
    open_phase, settled = ("vllm 0.8.2, verl, CUDA out of memory" + more for more in ("", " when the engine wakes up"))
    titles = [[one.title for one in summary(found(text)).advice] for text in (open_phase, settled)]
    assert "若失败在权重同步：把 vllm 升级到 0.8.3 或更新" in titles[0]
    assert "把 vllm 升级到 0.8.3 或更新" in titles[1]


def test_it_names_the_phases_that_the_size_points_to_only_where_the_run_has_them():
    text = (
        "在A100 80G上用TRL跑GRPO，Qwen2.5-7B，per_device_train_batch_size=8，num_generations=8，max_completion_length=2048，"
        "报错 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB."
    )
    assert "应在旧策略 log-prob 或策略更新。" in summary(diagnose(text, {}, current(), ())).lead


def test_changes_without_a_key_are_named_in_chinese():
    text = to_text(found("两张3090跑Qwen2.5-7B的GRPO全参可以吗？还是只能LoRA"))
    assert "fused 优化器" in text
    assert "权重放在主机内存里" in text
    assert "Weights live on the host" not in text


def test_an_algorithm_without_a_critic_is_not_told_as_a_key_of_that_name():
    text = (
        "ms-swift PPO 爆显存，2 张 A100 40G\nNPROC_PER_NODE=2 swift rlhf --rlhf_type ppo --model Qwen/Qwen2.5-7B-Instruct "
        "--reward_model Qwen/Qwen2.5-7B-Instruct --train_type lora --deepspeed zero2\n" + TORCH
    )
    assert "   critic true" not in to_text(found(text))


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (("发生在", "critic 更新", "阶段"), "发生在 critic 更新阶段"),
        (("发生在", "保存 checkpoint", "阶段"), "发生在保存 checkpoint 阶段"),
        (("旧策略 log-prob", "约需 3 GiB"), "旧策略 log-prob 约需 3 GiB"),
        (("采样", "约需 3 GiB"), "采样约需 3 GiB"),
        (("采样", "，没有估算"), "采样，没有估算"),
    ],
)
def test_a_blank_stands_between_latin_letters_and_chinese_ones_alone(parts, whole):
    assert chinese_names.joined(*parts) == whole


@pytest.mark.parametrize("phase", PHASES)
def test_no_phase_runs_into_the_words_around_it(phase):
    told = summary(found(f"训练显存不够，求助\n{RUN}", {"phase": phase}))
    for sentence in (
        told.headline,
        told.lead,
        *(one.title for one in told.advice),
        *(one.effect for one in told.advice),
    ):
        assert not re.search(r"[A-Za-z0-9][\u4e00-\u9fff]|[\u4e00-\u9fff][A-Za-z0-9]", sentence), sentence


def test_where_no_limit_is_known_nothing_is_said_of_fitting():
    command = (
        "python3 -m openrlhf.cli.train_ppo_ray --actor_num_gpus_per_node 8 --critic_num_gpus_per_node 8 --ref_num_gpus_per_node 8"
        " --colocate_all_models --vllm_num_engines 8 --pretrain Qwen/Qwen2.5-14B --micro_train_batch_size 4 --zero_stage 3"
        " --n_samples_per_prompt 4 --prompt_max_len 1024 --generate_max_len 4096 --gradient_checkpointing"
    )
    diagnosis = found(f"训练 critic 的时候 OOM\n{command}")
    effects = [one.effect for one in summary(diagnosis).advice]
    assert any("→" in effect for effect in effects)
    assert not [effect for effect in effects if "缺少" in effect]
    assert "facts missing" not in to_text(diagnosis)


def test_what_no_key_holds_has_its_unit():
    text = "容器被 OOMKilled，k8s 限制 256Gi，verl GRPO，Qwen2.5-32B，16 卡 H800，param_offload=True optimizer_offload=True"
    changes = [change for one in summary(found(text)).advice for change in one.changes if not change.key]
    assert [(change.before, change.after) for change in changes] == [("256\u00a0GiB", "384\u00a0GiB")]


def test_an_answer_that_advises_nothing_promises_no_patch():
    timed_out = "NCCL 超时了\nWatchdog caught collective operation timeout: WorkNCCL(SeqNum=1422, OpType=ALLREDUCE) ran for 600012 ms"
    assert summary(found(timed_out)).details == "说明见下面的英文。"
    assert "补丁" in summary(found(f"训练显存不够，求助\n{RUN}")).details
