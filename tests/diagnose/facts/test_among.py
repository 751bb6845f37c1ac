"""Which phases a traceback leaves where no frame of the trainer settles one."""

from __future__ import annotations

import pytest

from diagnose.knowledge import Knowledge, current
from diagnose.pipeline import diagnose
from diagnose.report import to_markdown

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.94 GiB. GPU 6 has a total capacity of 79.11 GiB.\n"
)
SLIME = (
    "python3 train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 --colocate --tensor-model-parallel-size 4 --sequence-parallel "
    "--expert-model-parallel-size 8 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 "
    "--use-dynamic-batch-size --max-tokens-per-gpu 20480 --hf-checkpoint Qwen/Qwen3-30B-A3B --rollout-batch-size 32 "
    "--n-samples-per-prompt 8 --rollout-max-response-len 20480 --global-batch-size 256 --sglang-mem-fraction-static 0.8 "
    "--rollout-num-gpus-per-engine 8 --advantage-estimator grpo --use-kl-loss\nH800\n"
)
MEGATRON = '  File "/root/Megatron-LM/megatron/core/tensor_parallel/cross_entropy.py", line 77, in calculate_predicted_logits\n'
MODEL = (
    '  File "/opt/lib/python3.11/site-packages/transformers/models/qwen2/modeling_qwen2.py", line 1480, in forward\n'
)
BACKWARD = (
    '  File "/opt/lib/python3.11/site-packages/torch/_tensor.py", line 648, in backward\n'
    '  File "/opt/lib/python3.11/site-packages/torch/autograd/graph.py", line 823, in _engine_run_backward\n'
)
APPLIED = '  File "/opt/lib/python3.11/site-packages/torch/autograd/function.py", line 575, in apply\n'
BUILT = MODEL.replace("in forward", "in __init__")
SAMPLED = '  File "/opt/lib/python3.11/site-packages/transformers/generation/utils.py", line 2465, in generate\n'
ENGINE = '  File "/opt/lib/python3.11/site-packages/vllm/model_executor/models/transformers.py", line 400, in forward\n'


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return current()


@pytest.mark.parametrize(
    ("frames", "first"),
    [
        (MEGATRON, "rollout"),
        (MODEL, "rollout"),
        (BACKWARD, "critic"),
        (MODEL + BACKWARD, "critic"),
        (APPLIED + MODEL, "rollout"),  # a function of one's own is applied in the forward pass as well
        (SAMPLED + MODEL, "rollout"),
        (BUILT, None),
        (ENGINE + MODEL, "init"),
        ("", None),
    ],
)
def test_the_libraries_of_a_traceback_leave_some_phases(knowledge: Knowledge, frames: str, first: str | None) -> None:
    found = diagnose(f"Traceback (most recent call last):\n{frames}{OOM}", {}, knowledge, ())
    assert (found.facts.among[0] if found.facts.among else None) == first


def test_an_earlier_traceback_says_nothing_of_the_failure(knowledge: Knowledge) -> None:
    own = '  File "/work/train.py", line 3, in main\n'
    text = (
        f"Traceback (most recent call last):\n{MODEL}ValueError: no\n\nTraceback (most recent call last):\n{own}{OOM}"
    )
    assert diagnose(text, {}, knowledge, ()).facts.among == ()


def test_the_highest_phase_is_looked_for_among_those_alone(knowledge: Knowledge) -> None:
    found = diagnose(SLIME + MEGATRON + OOM, {}, knowledge, ())
    gpu = found.estimate.gpu
    assert gpu is not None
    assert gpu.peak.phase in ("init", "rollout")  # the engine, by whose models no file of Megatron's is run
    assert found.phase is None
    told = to_markdown(found)
    assert "The actor update needs about" in told
    assert (
        "Its traceback is that of a pass of the model, in the old log-prob or the reference log-prob or the actor update"
        in told
    )
    assert "rollout.gpu_memory_utilization.down" not in [one.lever.slug for one in found.prescriptions]
    assert "shard.pipeline.up" in [one.lever.slug for one in found.prescriptions][:4]


def test_a_backward_pass_without_a_critic_is_the_actors(knowledge: Knowledge) -> None:
    found = diagnose(f"{SLIME}Traceback (most recent call last):\n{BACKWARD}{OOM}", {}, knowledge, ())
    assert found.phase == "actor_update"
    assert found.facts.stated["phase"].origin == "derived"


def test_a_reader_of_chinese_is_told_what_the_traceback_leaves(knowledge: Knowledge) -> None:
    found = diagnose(f"{SLIME}训练的时候显存不够了，请问怎么调整参数\n{MEGATRON}{OOM}", {}, knowledge, ())
    assert "按报错的调用栈，应在" in to_markdown(found)


def test_an_engines_traceback_asks_for_no_change_of_the_trainers_passes(knowledge: Knowledge) -> None:
    scheduler = (
        '  File "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", line 2012, in run_scheduler_process\n'
    )
    found = diagnose(f"Traceback (most recent call last):\n{scheduler}{OOM}", {}, knowledge, ())
    assert found.facts.among == ("init", "weight_sync", "rollout")
    levers = [one.lever.slug for one in found.prescriptions]
    assert levers[0] == "rollout.gpu_memory_utilization.down"
    assert "batch.micro.down" not in levers
    assert "Its traceback is an engine’s" in to_markdown(diagnose(f"{SLIME}{scheduler}{OOM}", {}, knowledge, ()))


TOLD = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB.\n"
)
LOSS = '  File "/opt/lib/python3.11/site-packages/torch/nn/functional.py", line 3494, in cross_entropy\n'


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("(EngineCore_0 pid=12) " + TOLD, "init"),
        ("(VllmWorker rank=0 pid=12) ERROR " + TOLD, "init"),
        ("(SGLangEngine pid=12) " + TOLD, "init"),
        ("OOM in the vLLM engine process", "init"),
        ("CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62", "init"),
        ("(WorkerDict pid=12) " + TOLD, None),
        ("(EngineCore_0 pid=12) " + TOLD + "(WorkerDict pid=13) " + TOLD, None),
        ("Traceback (most recent call last):\n" + LOSS + TOLD, "logprob"),
        ("OOM in the log_softmax of the logits", "logprob"),
        ("use cross_entropy: true\nOOM", None),
    ],
)
def test_a_process_that_holds_an_engine_and_what_is_taken_of_logits_leave_some_phases(
    knowledge: Knowledge, text: str, first: str | None
) -> None:
    found = diagnose(text, {}, knowledge, ()).facts.among
    assert (found[0] if found else None) == first


def test_what_is_taken_of_logits_is_the_update_where_rows_are_not_sampled(knowledge: Knowledge) -> None:
    text = "accelerate launch sft.py --per_device_train_batch_size 4 --max_length 4096\nfrom trl import SFTTrainer\n"
    found = diagnose(f"{text}Traceback (most recent call last):\n{LOSS}{TOLD}", {}, knowledge, ())
    assert [one.lever.slug for one in found.prescriptions][:2] == ["batch.micro.down", "length.row.down"]


def test_a_remote_method_in_a_sentence_of_what_ran_out_names_its_phase(knowledge: Knowledge) -> None:
    assert diagnose("OOM at ray::WorkerDict.ref_compute_ref_log_prob", {}, knowledge, ()).phase == "ref_logprob"
    assert (
        diagnose("| 0 N/A 123 C ray::WorkerDict.ref_compute_ref_log_prob 9000MiB |\nOOM", {}, knowledge, ()).phase
        is None
    )


OWN = """
my own loop, Qwen2.5-1.5B on one A100 80GB
  File "/w/loop.py", line 88, in main
    {code}
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB.
"""


@pytest.mark.parametrize(
    ("code", "phase", "among"),
    [
        ("optimizer.step()", "optimizer_step", ()),
        ("self.actor_optim.step()", "optimizer_step", ()),
        ("env.step(actions)", None, ()),
        ("scheduler.step()", None, ()),
        ("loss.backward()", None, ()),
        ("loss = loss_of(model, batch)", None, ()),
    ],
)
def test_the_line_of_code_of_a_loop_tells_where_the_frames_below_were_cut_off(facts, code, phase, among):
    told = facts(OWN.format(code=code))
    assert told.values.get("phase") == phase
    assert set(told.among) == set(among)
