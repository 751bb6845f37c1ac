"""A trainer that carries the engine's own files, and takes no newer engine."""

from __future__ import annotations

import pytest

SEARCH_R1 = (
    "python3 -m verl.trainer.main_ppo data.train_files=data/nq_search/train.parquet data.max_start_length=2048 data.max_obs_length=500 "
    "actor_rollout_ref.rollout.n_agent=5 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8\n{more}\n8 x A100 40GB\n"
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
)
TINYZERO = (
    "bash scripts/train_tiny_zero.sh\npython3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-3B "
    "trainer.n_gpus_per_node=2\n2 x A100 40GB\n"
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
)
OPEN = TINYZERO.replace("bash scripts/train_tiny_zero.sh", "pip install verl==0.5.0 vllm==0.8.2")


@pytest.mark.parametrize(("text", "advised"), [(SEARCH_R1.format(more=""), False), (TINYZERO, False), (OPEN, True)])
def test_a_newer_engine_is_no_advice_where_the_trainer_takes_none(advise, text, advised):
    """PeterGriffinJin/Search-R1@a14dc3a and verl v0.1 verl/third_party/vllm/__init__.py"""
    advice = advise(text)
    moves = [one.lever.slug for one in advice.prescriptions]
    assert ("upgrade.vllm" in moves) is advised
    assert all(check.advisory.lever != "upgrade.vllm" for check in advice.checks) or advised


def test_an_index_on_the_cards_takes_what_the_engine_counts_as_free(advise):
    """PeterGriffinJin/Search-R1@a14dc3a verl/third_party/vllm/vllm_v_0_6_3/worker.py: determine_num_available_blocks"""
    advice = advise(
        SEARCH_R1.format(more="python search_r1/search/retrieval_server.py --index_path e5_Flat.index --faiss_gpu")
    )
    assert advice.prescriptions[0].lever.slug == "retriever.cpu"
