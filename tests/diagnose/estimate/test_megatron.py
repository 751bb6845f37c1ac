"""Runs on Megatron-Core as the shipped records describe them: a command in, the bytes of its terms out."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.types import Term
from diagnose.units import GIB
from tests.runs import Run, run_of

GPUS = {"n_gpus": 8, "gpu_mem_gib": 80}
PACKED = "--packing true --max_length 8192 --micro_batch_size 1 --recompute_granularity full"
SFT = f"megatron sft --model Qwen/Qwen2.5-7B-Instruct {PACKED} --sequence_parallel true"


def _run(command: str, **answers: Any) -> Run:
    return run_of(command, {**GPUS, **answers})


def _terms(run: Run, phase: str = "actor_update") -> dict[str, Term]:
    assert run.estimate.gpu is not None
    found = run.estimate.gpu.phase(phase)
    assert found is not None
    return {term.id: term for term in found.terms}


@pytest.mark.parametrize(
    ("flags", "each"),
    [("--cross_entropy_loss_fusion true", 10), ("--cross_entropy_loss_fusion false", 6), ("", 10)],
)
def test_the_compiled_loss_keeps_a_copy_of_the_softmax(flags: str, each: int) -> None:
    """fp32 softmax, the copy into which the labels are written, and the gradient in bf16; without it the copy is not made."""
    assert _terms(_run(f"{SFT} {flags}"))["logits"].bytes == each * 8192 * 152_064


def test_the_loss_was_not_compiled_by_default_before_version_4() -> None:
    assert _terms(_run(SFT, framework_version="3.9.0"))["logits"].bytes == 6 * 8192 * 152_064


OFFLOAD = f"{SFT} --optimizer_cpu_offload true --use_precision_aware_optimizer true"


def _bytes_of(run: Run, pool: str, term: str) -> int:
    found = run.estimate.pool(pool).phase("actor_update")
    return sum(one.bytes for one in found.terms if one.id == term)


def test_a_part_of_the_optimizer_may_stay_on_the_card() -> None:
    whole, part = (_run(f"{OFFLOAD} --optimizer_offload_fraction {share}") for share in (1, 0.25))
    stays = 0.75 * 12 * 7_615_616_512 / 8
    assert _bytes_of(whole, "gpu", "actor_optimizer") == 0
    assert _bytes_of(part, "gpu", "actor_optimizer") == pytest.approx(stays)
    assert _bytes_of(part, "host", "actor_optimizer") < _bytes_of(whole, "host", "actor_optimizer") / 2


def test_all_of_it_leaves_the_card_where_nothing_says_how_much() -> None:
    assert _bytes_of(_run(OFFLOAD), "gpu", "actor_optimizer") == 0


def test_a_share_without_the_switch_moves_nothing() -> None:
    run = _run(f"{SFT} --optimizer_offload_fraction 0.25")
    assert _bytes_of(run, "gpu", "actor_optimizer") == pytest.approx(12 * 7_615_616_512 / 8)


VISION = "megatron sft --model Qwen/Qwen2.5-VL-7B-Instruct --tensor_model_parallel_size 2 --sequence_parallel true"
TEXT, TOWER = 7_615_616_512, 676_550_144


def test_a_frozen_tower_has_no_gradient_and_stands_whole_on_every_rank() -> None:
    terms = _terms(_run(VISION, n_gpus=2))
    assert terms["actor_weights"].bytes == 2 * (TEXT // 2 + TOWER)
    assert terms["actor_gradients"].bytes == 4 * TEXT // 2
    assert terms["actor_optimizer"].bytes == 12 * TEXT // 2


def test_a_tower_that_is_trained_has_its_gradients_on_every_rank_too() -> None:
    terms = _terms(_run(f"{VISION} --freeze_vit false", n_gpus=2))
    assert terms["actor_gradients"].bytes == 4 * (TEXT // 2 + TOWER)


def test_a_frozen_tower_is_split_where_the_sharding_knows_no_modules() -> None:
    run = "swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --tuner_type full --deepspeed zero3 --freeze_vit true"
    terms = _terms(_run(run))
    assert terms["actor_weights"].bytes == pytest.approx(2 * (TEXT + TOWER) / 8)
    assert terms["actor_optimizer"].bytes == pytest.approx(12 * TEXT / 8)


def test_a_reward_model_has_no_vocabulary_behind_its_last_layer() -> None:
    run = "megatron rlhf --rlhf_type rm --model Qwen/Qwen2.5-7B-Instruct"
    assert _terms(_run(run, n_gpus=1))["actor_weights"].bytes == 2 * (TEXT - 152_064 * 3584)


SPARSE = "megatron sft --model Qwen/Qwen3-30B-A3B --tuner_type lora --lora_rank 8"


def test_adapters_of_experts_stand_with_their_experts() -> None:
    """Each of 128 experts in 48 layers has a pair of rank 8 for gate and up together and one for down; attention is on every rank."""
    experts = 48 * 128 * 8 * (2048 + 2 * 768 + 768 + 2048)
    attention = 48 * 8 * (2048 + 4096 + 2 * 512 + 4096 + 2048)
    two = _terms(_run(f"{SPARSE} --expert_model_parallel_size 2", n_gpus=2))
    assert two["actor_gradients"].bytes == 4 * (experts // 2 + attention)
    assert two["actor_optimizer"].bytes == 12 * (experts // 2 + attention // 2)


PAIRS = f"megatron rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct {PACKED}"


def test_a_pair_longer_than_the_pack_goes_alone() -> None:
    short, long = (_terms(_run(PAIRS, longest_response_length=rows))["logits"].bytes for rows in (4000, 6000))
    assert short == 10 * 8192 * 152_064
    assert long == 10 * 2 * 6000 * 152_064


def test_no_row_of_a_pair_is_longer_than_the_limit() -> None:
    assert _terms(_run(PAIRS, longest_response_length=100_000))["logits"].bytes == 10 * 2 * 8192 * 152_064


def test_a_single_row_never_fills_more_than_the_pack() -> None:
    assert _terms(_run(SFT, longest_response_length=100_000))["logits"].bytes == 10 * 8192 * 152_064


def test_buffers_for_weights_and_gradients_stand_beside_the_weights_while_it_loads() -> None:
    terms = _terms(_run(OFFLOAD, n_gpus=1), "load")
    assert terms["actor_weights"].bytes + terms["load_transient"].bytes == 8 * TEXT


def test_the_reference_is_loaded_into_the_room_that_the_first_weights_leave() -> None:
    terms = _terms(_run(f"{PAIRS} --optimizer_cpu_offload true", n_gpus=1), "load")
    assert sum(terms[id].bytes for id in ("actor_weights", "load_transient", "ref_weights")) == 8 * TEXT


@pytest.mark.parametrize(("version", "each"), [("3.8.0", 6), ("3.9.0", 2), ("4.5.0", 2)])
def test_a_reference_that_was_wrapped_like_the_model_held_gradients_too(version: str, each: int) -> None:
    assert _terms(_run(PAIRS, n_gpus=1, framework_version=version))["ref_weights"].bytes == each * TEXT


def test_checkpoints_are_whole_on_every_rank_unless_the_sequence_is_split_too() -> None:
    flags = f"megatron sft --model Qwen/Qwen2.5-7B-Instruct {PACKED} --tensor_model_parallel_size 4"
    rotary = 4 * 128
    whole, split = (_terms(_run(f"{flags} {more}")) for more in ("", "--sequence_parallel true"))
    assert whole["checkpoints"].bytes == 8192 * (2 * 3584 * 28 + rotary)
    assert split["checkpoints"].bytes == whole["checkpoints"].bytes // 4


def test_attention_and_mlp_are_split_in_any_case() -> None:
    flags = f"megatron rlhf --rlhf_type rm --model Qwen/Qwen2.5-7B-Instruct {PACKED} --tensor_model_parallel_size 4"
    whole, split = (_terms(_run(f"{flags} {more}")) for more in ("", "--sequence_parallel true"))
    assert split["activations"].bytes < whole["activations"].bytes < 2 * split["activations"].bytes


@pytest.mark.parametrize(("version", "each", "copies"), [("3.12.0", 4, 0), ("4.2.0", 2, 4), ("4.4.0", 4, 0)])
def test_gradients_were_in_16_bits_while_the_switch_did_not_reach_the_buffer(
    version: str, each: int, copies: int
) -> None:
    terms = _terms(_run(SFT, n_gpus=1, framework_version=version), "optimizer_step")
    assert terms["actor_gradients"].bytes == each * TEXT
    assert (terms["adam_temporaries"].bytes if copies else 0) == copies * TEXT
    assert ("adam_temporaries" in terms) is bool(copies)


def test_a_reranker_gathers_the_logits_of_all_ranks() -> None:
    run = f"{SFT} --task_type generative_reranker --tensor_model_parallel_size 4"
    assert _terms(_run(run, algo="sft_reranker"))["logits"].bytes == 4 * 8192 * 152_064


def test_a_reranker_with_a_narrow_head_makes_no_logits() -> None:
    run = "swift sft --model Qwen/Qwen2.5-7B-Instruct --task_type reranker --max_length 4096"
    assert "logits" not in _terms(_run(run, algo="sft_reranker"))


EXPERTS, REST = 48 * 128 * 3 * 2048 * 768, 30_532_122_624 - 48 * 128 * 3 * 2048 * 768
MOE = "--tensor_model_parallel_size 4 --expert_model_parallel_size 2"


@pytest.mark.parametrize(("flags", "over"), [("", 2), ("--expert_tensor_parallel_size 4", 8)])
def test_experts_are_cut_by_their_own_tensor_parallel_size(flags: str, over: int) -> None:
    weights = _terms(_run(f"megatron sft --model Qwen/Qwen3-30B-A3B {MOE} {flags}"))["actor_weights"].bytes
    assert weights == 2 * (REST // 4 + EXPERTS // over)


def test_each_expert_is_cut_like_the_dense_layers_where_the_framework_leaves_it_to_megatron() -> None:
    megatron = "actor_rollout_ref.actor.megatron"
    run = (
        f"python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \
        {megatron}.tensor_model_parallel_size=4 {megatron}.expert_model_parallel_size=2"
    )
    assert _terms(_run(run))["actor_weights"].bytes == 2 * (REST // 4 + EXPERTS // 8)


STAGES = f"{SFT} --pipeline_model_parallel_size 2"
TABLE, BODY = 152_064 * 3584, TEXT - 2 * 152_064 * 3584


def test_each_outer_stage_has_one_table_and_its_layers() -> None:
    """14 of 28 layers and one of both tables; the norm behind the last layer goes with the layers."""
    terms = _terms(_run(STAGES))
    assert terms["actor_weights"].bytes == pytest.approx(2 * (TABLE + BODY / 2), rel=1e-5)
    assert terms["logits"].bytes == 10 * 8192 * 152_064


def test_a_short_last_stage_holds_fewer_layers_beside_its_logits() -> None:
    terms = _terms(_run(f"{STAGES} --decoder_last_pipeline_num_layers 12 --max_length 32768"))
    assert terms["actor_weights"].bytes == pytest.approx(2 * (TABLE + BODY * 12 / 28), rel=1e-4)
    assert terms["checkpoints"].bytes == pytest.approx(32768 * 3584 * 12 * 2, rel=0.02)


def test_a_long_first_stage_needs_the_most_where_logits_are_few() -> None:
    terms = _terms(_run(f"{STAGES} --decoder_first_pipeline_num_layers 26 --max_length 512"))
    assert "logits" not in terms
    assert terms["actor_weights"].bytes == pytest.approx(2 * (TABLE + BODY * 26 / 28), rel=1e-4)


def test_a_layer_that_predicts_a_further_token_keeps_its_softmax() -> None:
    terms, without = _terms(_run(f"{SFT} --mtp_num_layers 1")), _terms(_run(SFT))
    assert terms["logits"].bytes - without["logits"].bytes == 4 * 8192 * 152_064
    layer = (terms["actor_weights"].bytes - without["actor_weights"].bytes) / 2
    assert layer == pytest.approx(BODY / 28, rel=1e-4)


def test_muon_has_one_moment_of_matrices_and_shares_no_state() -> None:
    muon, shared = _terms(_run(f"{SFT} --optimizer muon")), _terms(_run(f"{SFT} --optimizer dist_muon"))
    assert muon["actor_optimizer"].bytes == pytest.approx(8 * TEXT + 4 * 2 * TABLE, rel=1e-4)
    assert shared["actor_optimizer"].bytes == pytest.approx(muon["actor_optimizer"].bytes / 8, rel=1e-4)


@pytest.mark.parametrize(
    ("more", "low", "high"),
    [
        ("actor_rollout_ref.actor.megatron.use_mbridge=False", 430, 450),  # one rank holds 235 billion of 2 bytes
        ("actor_rollout_ref.actor.megatron.use_mbridge=True", 40, 80),  # eight parts of 32
        ("", 40, 80),
        (
            "actor_rollout_ref.actor.megatron.use_mbridge=False actor_rollout_ref.actor.megatron.use_dist_checkpointing=True",
            0,
            0,
        ),
    ],
)
def test_how_weights_come_to_the_ranks_tells_what_loading_takes(more: str, low: float, high: float) -> None:
    command = (
        "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer.yaml actor_rollout_ref.model.path=Qwen/Qwen3-235B-A22B "
        "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=8 actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 "
        "actor_rollout_ref.actor.megatron.expert_model_parallel_size=8 actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1 "
        f"trainer.nnodes=8 trainer.n_gpus_per_node=8 {more}"
    )
    host = _run(command, n_gpus=64).estimate.host
    assert host is not None
    found = host.phase("load")
    assert found is not None
    assert low <= sum(term.bytes for term in found.terms if term.id == "loading") / GIB <= high


def test_megatrons_weights_of_this_trainer_come_one_tensor_at_a_time() -> None:
    host = _run(f"{SFT} --tensor_model_parallel_size 2").estimate.host
    assert host is not None
    found = host.phase("load")
    assert found is not None
    assert "loading" not in {term.id for term in found.terms}


NEMO = (
    "uv run examples/run_grpo_math.py --config examples/configs/grpo_math_1B_megatron.yaml policy.model_name=Qwen/Qwen2.5-7B-Instruct "
    "cluster.gpus_per_node=8 cluster.num_nodes={nodes} policy.megatron_cfg.enabled=true policy.max_total_sequence_length=4096 {more}"
)
SKYRL = (
    "uv run -m skyrl.train.entrypoints.main_base trainer.strategy=megatron trainer.policy.model.path=Qwen/Qwen2.5-7B-Instruct "
    "trainer.placement.policy_num_gpus_per_node=8"
)
AREAL = "python3 train.py actor.path=Qwen/Qwen2.5-7B-Instruct cluster.n_gpus_per_node=8 actor.backend={backend} {more}"
# v0.3.0 with one stage: every rank reads the files of all layers
REALHF = (
    "python3 training/main_async_ppo.py allocation_mode=sglang.d4p1m1+d4p1m1 ppo.gen.max_new_tokens=1024 n_nodes=1 n_gpus_per_node=8 "
    "actor.path=Qwen/Qwen2.5-7B-Instruct areal==0.3.0"
)


@pytest.mark.parametrize(
    ("run", "nodes", "models"),
    [
        (NEMO.format(nodes=1, more=""), 1, 1),
        (NEMO.format(nodes=4, more=""), 4, 1 / 4),
        (NEMO.format(nodes=1, more="policy.pretrained_checkpoint.format=megatron_lm"), 1, 0),
        (f"{NEMO.format(nodes=4, more='')}\nNeMo-RL 0.3.1", 4, 1),
        (SKYRL, 1, 0),
        (AREAL.format(backend="megatron:d4", more=""), 1, 0),
        (AREAL.format(backend="fsdp:d4", more=""), 1, 0),
        (AREAL.format(backend="fsdp:d4", more="actor.fsdp.memory_efficient_load=true"), 1, 1),
        (REALHF, 1, 8),
    ],
)
def test_a_bridge_holds_no_model_on_the_host_but_a_conversion_that_is_written_does(
    run: str, nodes: int, models: float
) -> None:
    host = run_of(run, {"gpu_mem_gib": 80, "n_gpus": 8 * nodes}).estimate.host
    assert host is not None
    found = host.phase("load")
    assert found is not None
    loading = sum(term.bytes for term in found.terms if term.id == "loading")
    assert loading == pytest.approx(models * 2 * TEXT, rel=0.001)


@pytest.mark.parametrize("run", [NEMO.format(nodes=1, more=""), SKYRL, AREAL.format(backend="megatron:d8", more="")])
def test_buffers_stand_beside_the_weights_in_every_trainer_that_wraps_by_megatron(run: str) -> None:
    terms = _terms(run_of(run, GPUS), "load")
    assert terms["actor_weights"].bytes == 2 * TEXT
    assert terms["load_transient"].bytes >= 4 * TEXT
