"""What a change of settings cannot do, since data or code are otherwise."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

RUN = (
    "verl 0.6.1, 4 x L40S 48GB\npython3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_files=/d/gsm8k/train.parquet "
    "data.max_prompt_length=1024 data.max_response_length=4096 actor_rollout_ref.model.path=Qwen/Qwen3-8B data.train_batch_size=64 "
    "actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.actor.strategy=fsdp2 "
    "actor_rollout_ref.actor.fsdp_config.offload_policy=True actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=16 "
    "actor_rollout_ref.rollout.n=5 trainer.n_gpus_per_node=4 trainer.nnodes=1\n"
    '  File "/x/verl/workers/fsdp_workers.py", line 826, in compute_ref_log_prob\n'
    '  File "/x/verl/workers/actor/dp_actor.py", line 188, in _forward_micro_batch\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.62 GiB. GPU 0 has a total capacity of 47.38 GiB "
    "of which 10 GiB is free.\n"
)


@pytest.mark.parametrize(("data", "advised"), [("gsm8k", False), ("own", True)])
def test_a_limit_that_no_prompt_reaches_is_no_remedy_where_rows_are_not_padded(data, advised):
    found = diagnose(RUN.replace("gsm8k", data), {}, current(), ())
    said = {one.lever.slug for one in found.prescriptions}
    assert ("length.prompt.down" in said) is advised
    assert advised or "length.filter_long" not in said


LOOP = (
    "PPO, my own loop, 2 x RTX 3090\n"
    'policy = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-3B-Instruct"{engine})\n'
    "opt = torch.optim.AdamW(policy.parameters(), lr=1e-5)\n"
    '  File "/x/torch/optim/adamw.py", line 127, in _init_group\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 198.00 MiB. GPU 0 has a total capacity of 23.69 GiB.\n"
)


@pytest.mark.parametrize(("made", "engine"), [(True, False), (False, True)])
def test_a_script_that_makes_its_optimizer_and_no_engine_has_none(made, engine):
    text = LOOP if made else LOOP.replace("opt = torch.optim.AdamW(policy.parameters(), lr=1e-5)\n", "")
    found = diagnose(text.format(engine=""), {}, current(), ())
    advised = {one.lever.slug for one in found.prescriptions}
    assert ("rollout.gpu_memory_utilization.down" in advised) is engine


ALONE = (
    "TRL GRPO, Qwen2.5-7B-Instruct, 4 x A100 40GB\nuse_vllm: true\n{device}vllm_gpu_memory_utilization: 0.3\nmax_completion_length: 1024\n"
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
)


@pytest.mark.parametrize("device", ["vllm_device: auto\n", "vllm_device: cuda:3\n"])
def test_an_engine_on_one_named_card_is_not_split(device):
    found = diagnose(ALONE.format(device=device), {}, current(), ())
    said = {one.lever.slug for one in found.prescriptions}
    assert "rollout.gpu_memory_utilization.up" in said
    assert "rollout.tensor_parallel.up" not in said
