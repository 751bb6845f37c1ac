"""A default that the run has outlived is left for what it must have been; what is said stays, and so does what it may have been."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.outlived import behind, told
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis
from diagnose.units import GIB

_TRL = """\
TRL 0.21 GRPO, full fine-tuning of Qwen2.5-32B on 2 nodes of 8xH100 80GB, per_device_train_batch_size=2, num_generations=8,
max_completion_length=2048, gradient_checkpointing=True, bf16=True, use_vllm=True vllm_mode="server"
  File "/venv/site-packages/trl/trainer/grpo_trainer.py", line 1401, in _compute_loss
    per_token_logps, entropies = self._get_per_token_logps_and_entropies(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 79.25 GiB of which 0.66 GiB is free.
"""
_VERL = """\
verl 0.5 GRPO qwen2.5-72b, 4 nodes x 8 H800 80G, OOM in update_actor:
  File "/workspace/verl/verl/workers/actor/dp_actor.py", line 412, in update_policy
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.41 GiB is free.
actor_rollout_ref.actor.fsdp_config.param_offload=True
actor_rollout_ref.rollout.gpu_memory_utilization=0.6
"""


def _read(paste: str) -> Diagnosis:
    return diagnose(paste, {}, current(), ())


def test_weights_that_no_card_holds_whole_were_shared_out() -> None:
    found = _read(_TRL)
    stage = found.facts.stated["zero_stage"]
    assert (stage.value, stage.origin) == (3, "assumed")
    assert stage.why.endswith("and the run came to the actor update")
    assert found.facts.values["strategy"] != "ddp"
    assert found.estimate.gpu is not None
    assert found.estimate.gpu.worst.need < 79 * GIB
    assert told(found) == ""
    assert "zero_stage" in found.estimate.missing
    assert "zero_stage" in [asked.question.fact for asked in found.questions]


@pytest.mark.parametrize(
    "changes",
    [
        {"Qwen2.5-32B": "Qwen2.5-7B"},  # each card holds 30 GiB in fp32, and nothing of Adam's before the first step
        {"2 nodes of 8xH100": "1xH100"},
        {'vllm_mode="server"': 'vllm_mode="server"\ndistributed_type: MULTI_GPU'},
    ],
)
def test_what_may_have_been_or_is_said_stays(changes: dict[str, str]) -> None:
    paste = _TRL
    for old, new in changes.items():
        paste = paste.replace(old, new)
    stage = _read(paste).facts.stated["zero_stage"]
    assert (stage.value, stage.origin == "assumed") == (0, False)


def test_a_state_that_stands_after_a_step_was_shared_out() -> None:
    paste = _TRL.replace("Qwen2.5-32B", "Qwen2.5-7B").replace("TRL 0.21", "After 40 steps, TRL 0.21")
    stage = _read(paste).facts.stated["zero_stage"]
    assert (stage.value, stage.origin) == (3, "assumed")
    assert stage.why.endswith("and steps went through")


def test_an_engine_that_generated_had_room_for_a_cache() -> None:
    found = _read(_VERL)
    spread = found.facts.stated["rollout_tp"]
    assert (spread.value, spread.origin) == (4, "assumed")
    assert "its weights leave no room for a cache" in spread.why


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("OOM in update_actor", "tensor_model_parallel_size=2, OOM in update_actor", 2),
        ("72b", "7b", 2),
        ("72b", "32b", 2),
        ("4 nodes x 8 H800 80G", "2 x H800 80G", 2),  # no more cards than the run has
    ],
)
def test_an_engine_that_is_told_or_has_room_stays_as_it_is(old: str, new: str, value: int) -> None:
    spread = _read(_VERL.replace(old, new)).facts.stated["rollout_tp"]
    assert (spread.value, spread.origin == "assumed") == (value, False)


def test_an_engine_that_failed_as_it_started_is_taken_as_the_default_is() -> None:
    paste = (
        _VERL[: _VERL.index("  File")].replace("update_actor", "the start of vLLM") + _VERL[_VERL.index("actor_roll") :]
    )
    paste += "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
    found = _read(paste)
    assert found.phase == "init"
    assert found.facts.stated["rollout_tp"].origin == "default"


_PASSED = """\
TRL 0.19 GRPO of qwen2.5-3b on 4x A100 40GB, deepspeed zero2, per_device_train_batch_size 8, num_generations 8,
max_completion_length 1024, use_vllm=True vllm_mode="colocate"
  File "/venv/site-packages/trl/trainer/grpo_trainer.py", line 1180, in training_step
  File "/venv/site-packages/torch/_tensor.py", line 648, in backward
  File "/venv/site-packages/torch/autograd/graph.py", line 823, in _engine_run_backward
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.64 GiB. GPU 2 has a total capacity of 39.38 GiB of which 3.11 GiB is free.
"""
_LAYERS = '  File "/venv/site-packages/transformers/models/qwen2/modeling_qwen2.py", line 46, in forward\n'


def test_layers_that_were_through_were_recomputed_where_a_card_cannot_have_kept_them() -> None:
    found = _read(_PASSED)
    checkpointing = found.facts.stated["gradient_checkpointing"]
    assert found.phase == "actor_update"
    assert (checkpointing.value, checkpointing.origin) == (True, "assumed")
    assert checkpointing.why.endswith("GiB when its layers are through, and they were")
    assert "checkpointing.activation.on" not in [one.lever.slug for one in found.prescriptions]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            _PASSED[_PASSED.index('  File "/venv/site-packages/torch/_t') : _PASSED.index("torch.Out")],
            _LAYERS,
        ),  # on its way
        ("size 8", "size 1"),  # one row's activations have room
        ("num_generations 8", "num_generations 8, gradient_checkpointing=False"),
    ],
)
def test_activations_that_may_have_stood_or_are_said_to_are_kept(old: str, new: str) -> None:
    assert old in _PASSED
    checkpointing = _read(_PASSED.replace(old, new).replace("4.64", "0.44")).facts.stated["gradient_checkpointing"]
    assert (checkpointing.value, checkpointing.origin == "assumed") == (False, False)


def test_what_is_said_and_cannot_have_been_is_told() -> None:
    found = _read(_PASSED.replace("num_generations 8", "num_generations 8, gradient_checkpointing=False"))
    assert "yet its layers were through when it failed" in told(found)


def test_a_request_of_the_size_of_logits_shows_that_the_layers_were_through_and_how_long_the_rows() -> None:
    frames = _PASSED[_PASSED.index('  File "/venv/site-packages/torch/_t') : _PASSED.index("torch.Out")]
    asked = _PASSED.replace(frames, "").replace("training_step", "_compute_loss")
    found = _read(asked)
    assert not found.facts.layers_through
    assert found.facts.stated["gradient_checkpointing"].origin == "assumed"
    row = found.facts.failed_row
    assert row is not None
    assert 1024 < row.shortest < row.likely < row.longest == 1536  # an answer at its limit, and a prompt
    assert _read(asked.replace("4.64", "3.11")).facts.stated["gradient_checkpointing"].origin == "default"


def test_a_run_that_must_have_shared_out_and_recomputed_is_taken_as_both() -> None:
    both = _PASSED.replace("qwen2.5-3b on 4x A100 40GB, deepspeed zero2", "Qwen2.5-32B on 2 nodes of 8xH100 80GB")
    both = both.replace('vllm_mode="colocate"', 'vllm_mode="server"')
    found = _read(both.replace("39.38", "79.25").replace("4.64", "0.44")).facts.stated
    assert (found["zero_stage"].value, found["zero_stage"].origin) == (3, "assumed")
    assert (found["gradient_checkpointing"].value, found["gradient_checkpointing"].origin) == (True, "assumed")


def test_of_two_that_would_do_the_one_that_costs_no_cards_is_taken() -> None:
    found = _read(
        _PASSED.replace(", deepspeed zero2", "").replace("40GB", "80GB").replace("39.38", "79.25")
    ).facts.stated
    assert found["zero_stage"].origin == "default"


def test_megatron_is_not_taken_to_shard_as_zero_does() -> None:
    paste = (
        "python3 train.py --use-kl-loss --kl-loss-coef 0.00 --sglang-mem-fraction-static 0.7 --rollout-num-gpus-per-engine 2\n"
        "slime, Qwen2.5-14B, 8 x H100 80GB\ntorch.OutOfMemoryError: CUDA out of memory."
    )
    found = diagnose(paste, {"phase": "actor_update"}, current(), ())
    assert found.facts.values["strategy"] == "megatron"
    assert found.facts.stated["zero_stage"].origin == "default"
    assert told(found)


_SLIME = """\
slime colocated GRPO of Qwen2.5-72B on two nodes with 8 H100 80GB each, 1 TB of RAM a node.
Rollout 0 is fine, when it goes on to train the pod is OOMKilled:
    Reason:       OOMKilled
    Exit Code:    137
"""


def test_tensors_that_no_card_holds_whole_were_split() -> None:
    found = _read(_SLIME)
    split = found.facts.stated["tp"]
    assert (split.value, split.origin) == (8, "assumed")
    assert "whole on each card the load takes" in split.why
    assert "tp" in found.estimate.missing
    load = found.estimate.gpu.phase("load") if found.estimate.gpu else None
    assert load is not None
    assert load.low < 80 * GIB


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("Qwen2.5-72B", "Qwen2.5-1.5B", 1),
        ("slime colocated", "slime --tensor-model-parallel-size 4, colocated", 4),
        ("    Reason:       OOMKilled\n    Exit Code:    137", "torch.OutOfMemoryError: CUDA out of memory.", 1),
    ],
)
def test_a_split_that_may_not_have_been_is_not_taken(old: str, new: str, value: int) -> None:
    assert _read(_SLIME.replace(old, new)).facts.values["tp"] == value


_ADAPTERS = "verl 0.5 GRPO, LoRA of Qwen2.5-7B on 8 x {}, {}: CUDA out of memory, ppo_micro_batch_size_per_gpu=1"


def test_adapters_for_which_no_card_gathers_the_whole_model_went_over_by_layers() -> None:
    found = _read(_ADAPTERS.format("RTX 4090", "in update_actor"))
    layered, gpu = found.facts.stated["layered_summon"], found.estimate.gpu
    assert (layered.value, layered.origin) == (True, "assumed")
    assert layered.why.endswith("and the run came to the actor update")
    assert gpu is not None
    assert gpu.limit is not None
    assert max(one.low for one in gpu.phases if one.phase == "weight_sync") < gpu.limit
    assert told(found) == ""


@pytest.mark.parametrize(
    ("card", "where"),
    [
        ("RTX 4090", "while syncing the weights to vLLM"),
        ("A100 80GB", "in update_actor"),  # there is room
    ],
)
def test_a_hand_over_that_may_have_been_whole_is_left_as_the_default_is(card: str, where: str) -> None:
    assert _read(_ADAPTERS.format(card, where)).facts.values["layered_summon"] is False


def test_a_hand_over_that_is_said_to_be_whole_and_cannot_have_been_is_told() -> None:
    said = "in update_actor, actor_rollout_ref.rollout.layered_summon=False"
    assert "By it the weight sync needs at least" in told(_read(_ADAPTERS.format("RTX 4090", said)))


@pytest.mark.parametrize(("algo", "alone"), [("GRPO", True), ("PPO", False)])
def test_an_optimizer_step_of_the_policy_alone_has_its_update_behind_it(algo: str, alone: bool) -> None:
    found = _read(f"verl 0.5 {algo} of Qwen2.5-7B on 8xH100 80GB: CUDA out of memory in optimizer.step()")
    assert found.phase == "optimizer_step"
    assert ("actor_update" in behind(found.facts, "optimizer_step")) is alone
    assert "logprob" in behind(found.facts, "optimizer_step")
