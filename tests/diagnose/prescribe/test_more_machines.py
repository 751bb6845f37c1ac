"""More cards are those of further machines: no node has more of them, or parks more, than before."""

import pytest

from diagnose.batch import whole
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.pipeline import diagnose, facts_and_estimate
from diagnose.prescribe.follows import followed
from diagnose.prescribe.situation import Situation
from diagnose.types import Fact

RUN = (
    "torch.OutOfMemoryError: CUDA out of memory. in actor update\n"
    "deepspeed --module openrlhf.cli.train_sft --pretrain Qwen/Qwen2.5-72B-Instruct --zero_stage 3 --adam_offload "
    "--micro_train_batch_size 2 --max_len 8192\n{machine}"
)


@pytest.mark.parametrize(
    ("machine", "cards", "nodes"),
    [
        ("one node with 8x H100 80G, 1TB RAM", 16, 2),
        ("one node with 8x H100 80G, 1TB RAM", 64, 8),
        ("one node with 4x H100 80G, 1TB RAM", 8, 1),
        ("2 nodes x 8 H100", 24, 3),
        ("one node with 16x V100 32G", 32, 2),
    ],
)
def test_they_stand_on_as_many_machines_as_they_need(machine, cards, nodes):
    paste = read(RUN.format(machine=machine))
    facts, before = facts_and_estimate(paste, {}, current())
    situation = Situation(facts, before, "gpu_oom", "actor_update", "gpu", paste)
    after = followed(situation, facts.with_fact(Fact("n_gpus", cards, "answered")))
    assert whole(after.values, "n_nodes") == nodes


def test_host_ram_is_not_said_to_run_out_for_them():
    said = diagnose(RUN.format(machine="one node with 8x H100 80G, 1TB RAM"), {}, current(), ())
    refused = [one.why for one in said.not_advised if one.lever.slug == "hardware.more_gpus"]
    assert not any("host RAM runs out" in why for why in refused)
