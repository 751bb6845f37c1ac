"""Whose memory it is that fills a card: the process's own, another's, an engine's on other cards."""

from __future__ import annotations

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

MESSAGE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which "
    "1.90 GiB is free. Including non-PyTorch memory, this process has {held} GiB memory in use.\n"
)
UPDATE = '  File "/opt/verl/workers/actor/dp_actor.py", line 512, in update_policy\n    loss.backward()\n'
RUN = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-0.5B-Instruct "
    "data.max_response_length=256 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 trainer.n_gpus_per_node=8 trainer.nnodes=1\n"
)
ASYNC = (
    "python -m verl.experimental.fully_async_policy.fully_async_main algorithm.adv_estimator=grpo "
    "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.hybrid_engine=False actor_rollout_ref.actor.use_dynamic_bsz=True "
    "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=32768 actor_rollout_ref.rollout.gpu_memory_utilization=0.8 "
    "data.max_prompt_length=1024 data.max_response_length=15360 trainer.nnodes=1 trainer.n_gpus_per_node=8 "
    "rollout.nnodes=1 rollout.n_gpus_per_node=8\n8 H100 80GB train and 8 sample\n"
)
SEARCH = (
    "Search-R1, 8 A100 80GB, the retriever is up with --faiss_gpu\n"
    '  File "/opt/Search-R1/verl/workers/sharding_manager/fsdp_vllm.py", line 85, in __enter__\n'
)


def levers(text: str) -> list[str]:
    knowledge = current()
    return [one.lever.slug for one in diagnose(text, {}, knowledge, ()).prescriptions]


def test_nothing_is_left_on_a_card_that_the_process_fills():
    assert "hardware.kill_stale" not in levers(RUN + UPDATE + MESSAGE.format(held="77.18"))


def test_without_the_figures_it_may_be():
    short = MESSAGE.partition(" Including")[0] + "\n"
    assert "hardware.kill_stale" in levers(RUN + UPDATE + short)


def test_an_engine_on_cards_of_its_own_is_left_alone_where_only_passes_of_the_trainer_can_have_failed():
    text = (
        ASYNC
        + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.56 GiB. GPU 3 has a total capacity of 79.10 GiB\n"
    )
    assert "rollout.gpu_memory_utilization.down" not in levers(text)


def test_what_others_hold_beside_search_is_first_the_retrievers():
    assert levers(SEARCH + MESSAGE.format(held="60.00"))[0] == "retriever.cpu"


def test_padded_rows_of_the_supervised_trainer_are_split_and_unpadded_together():
    knowledge = current()
    text = (
        "torchrun --standalone --nnodes=1 --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.train_files=a.parquet "
        "data.max_length=32768 data.train_batch_size=64 data.micro_batch_size_per_gpu=1 model.partial_pretrain=Qwen/Qwen2.5-7B-Instruct\n"
        "8 H100 80GB, torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.55 GiB.\n"
    )
    found = diagnose(text, {}, knowledge, ()).prescriptions
    split = next(one for one in found if one.lever.slug == "shard.sequence_parallel.rows")
    written = {change.key: str(change.after) for change in split.changes}
    assert written["ulysses_sequence_parallel_size"] == "2"
    assert written["use_remove_padding"].lower() == "true"


def test_more_cards_stand_behind_what_is_there_where_most_of_it_is_in_no_estimate(advise):
    """Loading takes a shard and one layer of each card, 19 GiB of the 79 that are in use: as many more halve the shard alone."""
    found = advise(
        '  File "verl/workers/fsdp_workers.py", line 330, in _build_model_optimizer\n    actor_module_fsdp = FSDP(\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 17.25"
        " MiB is free.\nverl 0.5, 8 * A100 80G\nactor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B-Base trainer.nnodes=1\n"
    )
    assert found.facts.values["phase"] == "load"
    assert found.levers.index("hardware.kill_stale") < found.levers.index("hardware.more_gpus")
