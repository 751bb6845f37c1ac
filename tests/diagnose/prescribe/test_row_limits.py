"""Which limit of a row is lowered where samples are drawn: of rows that are filled, or of prompt and answer together."""

from __future__ import annotations

import pytest

OPENRLHF = (
    "openrlhf=={version}\npython3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 8 --pretrain Qwen/Qwen2.5-7B "
    "--colocate_all_models --micro_train_batch_size 4 --advantage_estimator group_norm --packing_samples --zero_stage 3 {more}\n"
    "8 x A100 80GB torch.OutOfMemoryError: CUDA out of memory in the actor update"
)


@pytest.mark.parametrize(
    ("version", "more", "key"),
    [
        ("0.9.9", "--max_len 16384", "max_len"),
        ("0.9.7", "--prompt_max_len 1024 --generate_max_len 15360", "generate_max_len"),
    ],
)
def test_rows_that_nothing_fills_are_lowered_by_their_own_limits(advise, version, more, key):
    """OpenRLHF/OpenRLHF v0.9.7 and v0.9.8 openrlhf/cli/train_ppo_ray.py: --max_len"""
    advice = advise(OPENRLHF.format(version=version, more=more))
    lowered = {one.lever.slug: [change.key for change in one.changes] for one in advice.prescriptions}
    assert "length.packed.down" not in lowered
    assert [key] in [keys for slug, keys in lowered.items() if slug in ("length.total.down", "length.response.down")]
    assert ("max_length" in advice.facts.values) is (version == "0.9.9")


def test_a_limit_of_prompt_and_answer_is_not_told_as_one_of_packed_rows(advise):
    """NVIDIA-NeMo/RL 7ea279a examples/configs/grpo_math_1B.yaml: max_new_tokens is policy.max_total_sequence_length"""
    advice = advise(
        "uv run examples/run_grpo_math.py policy.model_name=Qwen/Qwen3-8B policy.max_total_sequence_length=16384 "
        "policy.train_micro_batch_size=1 cluster.gpus_per_node=8 cluster.num_nodes=1\n"
        "8 x H100 80GB torch.OutOfMemoryError: CUDA out of memory in the actor update"
    )
    lowered = {one.lever.slug: one for one in advice.prescriptions}
    assert "length.packed.down" not in lowered
    assert lowered["length.total.down"].changes[0].key == "policy.max_total_sequence_length"
    assert lowered["length.total.down"].lever.results == "may_change"
