"""A process that holds an engine alone, on cards of its own, runs out there: what the trainer holds is on other cards."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_text

ENGINE = "(SGLangEngine pid=4521, ip=10.2.2.5)"
RUN = f"""
{{before}}
{ENGINE}   File "/sgl/python/sglang/srt/model_executor/model_runner.py", line 950, in update_weights_from_distributed
{ENGINE}     weight = torch.empty(shape, dtype=target_dtype, device=self.device)
{ENGINE} torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 594.00 MiB. GPU 1 has a total capacity of 79.11 GiB
python3 train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 {{place}} --rollout-num-gpus-per-engine 8 \\
    --sglang-mem-fraction-static 0.9 --hf-checkpoint /root/Qwen3-30B-A3B --tensor-model-parallel-size 4 \\
    --expert-model-parallel-size 8 --rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 16384
"""
APART = "--rollout-num-gpus 16"


def found(place, before="H100"):
    knowledge = current()
    return diagnose(RUN.format(place=place, before=before), {}, knowledge, tuple(knowledge.cases.values()))


def test_nothing_of_the_trainer_is_advised_for_a_card_of_the_engine():
    diagnosis = found(APART)
    levers = [one.lever.slug for one in diagnosis.prescriptions]
    assert diagnosis.phase == "weight_sync"
    assert levers[0] == "rollout.gpu_memory_utilization.down"
    assert not {"offload.optimizer.on", "shard.pipeline.up", "hardware.more_gpus"} & set(levers)
    assert all(one.after is None for one in diagnosis.prescriptions)


@pytest.mark.parametrize(
    ("before", "said"), [("H100", "engine has cards of its own"), ("训练跑到一半显存爆了", "引擎独占它的卡")]
)
def test_the_answer_says_whose_card_it_is(before, said):
    assert said in to_text(found(APART, before))


def test_on_shared_cards_what_the_trainer_holds_counts():
    assert "engine has cards of its own, and" not in to_text(found("--colocate")).partition("NOT ADVISED")[0]
