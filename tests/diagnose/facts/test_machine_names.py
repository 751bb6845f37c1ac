"""Machines by the names of clouds and makers: cards, their size and number, and what outranks them."""

import pytest


@pytest.mark.parametrize(
    ("text", "model", "size", "nodes", "count"),
    [
        ("we train on p4d.24xlarge", "A100", 40, None, 8),
        ("a p4de.24xlarge", "A100", 80, 1, 8),
        ("2 x p4d.24xlarge", "A100", 40, 2, 16),
        ("two p4de.24xlarge nodes", "A100", 80, 2, 16),
        ("ml.p5.48xlarge x 2", "H100", 80, 2, 16),
        ("4 x g5.xlarge", "A10G", 24, 4, 4),
        ("Standard_ND96amsr_A100_v4", "A100", 80, None, 8),
        ("standard_nc24ads_a100_v4", "A100", 80, None, 1),
        ("ecs.gn7e-c16g1.32xlarge", "A100", 80, None, 8),
        ("a3-ultragpu-8g", "H200", 141, None, 8),
        ("2 DGX H100 nodes", "H100", 80, 2, 16),
        ("a DGX A100", "A100", None, 1, 8),
        ("resources:\n  instance_type: p4d.24xlarge\nnum_nodes: 2\n", "A100", 40, 2, 16),
        ("Atlas 800T A2 (910B3)", "Ascend 910B3", 64, None, 8),
        ("2 x Atlas 800T A2", "Ascend 910B", None, 2, 16),
    ],
)
def test_a_name_tells_cards_their_size_and_their_number(values, text, model, size, nodes, count):
    found = values(text)
    assert (found.get("gpu_model"), found.get("gpu_mem_gib"), found.get("n_gpus")) == (model, size, count)
    assert nodes is None or found["n_nodes"] == nodes


@pytest.mark.parametrize(
    ("text", "id", "value"),
    [
        ("4x A100 40G of a p4d.24xlarge", "n_gpus", 4),
        ("16 H100 on p5.48xlarge", "n_gpus", 16),
        ("16 H100 on p5.48xlarge", "gpus_per_node", 8),
        ("2 x p4d.24xlarge, each with 8 A100", "n_gpus", 16),
        ("2x p4d.24xlarge (8x A100 40GB)", "n_gpus", 16),
        ("CUDA_VISIBLE_DEVICES=0,1 python train.py\non g5.12xlarge", "n_gpus", 2),
        ("8 x L40S, not a g6e.48xlarge but our own, 48 GB each", "n_gpus", 8),
        ("4 x RTX 4090 here, the p4d.24xlarge is for later", "gpu_model", "RTX 4090"),
        ("a DGX A100 with 8x A100 80GB", "gpu_mem_gib", 80),
        ("8 DGX A100 GPUs", "n_gpus", 8),
        ("trainer.n_gpus_per_node=4 trainer.nnodes=1 verl on p4d.24xlarge", "n_gpus", 4),
        ("it works on p4de.24xlarge, but OOM on p4d.24xlarge", "gpu_mem_gib", 40),
        (
            "p4d.24xlarge\nCUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 1 GiB is free",
            "gpu_mem_gib",
            80,
        ),
    ],
)
def test_what_is_told_outright_outranks_a_name(values, text, id, value):
    assert values(text)[id] == value


def test_one_machine_is_assumed_where_nothing_counts_them(facts):
    assert facts("on p4d.24xlarge").stated["n_gpus"].origin == "assumed"
    assert facts("on one p4d.24xlarge").stated["n_gpus"].origin == "derived"


@pytest.mark.parametrize("text", ["p4d.24xlarge and p5.48xlarge both OOM", "python p5.py", "dgx", "g5.12xlarger"])
def test_it_names_no_machine(values, text):
    assert "n_gpus" not in values(text)


def test_an_answer_may_name_a_machine(facts):
    assert facts("CUDA OOM", gpu_model="p5en.48xlarge").gpu.title == "H200"
