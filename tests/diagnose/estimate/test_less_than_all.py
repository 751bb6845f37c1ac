"""Training of less than every parameter with Adam: projected gradients, one block or a few layers at a time, and what is not modelled."""

from __future__ import annotations

import pytest

from diagnose.units import GIB
from tests.runs import Run, run_of

FILE = """llamafactory-cli train run.yaml
model_name_or_path: {model}
stage: sft
finetuning_type: {kind}
cutoff_len: 256
per_device_train_batch_size: 1
gradient_accumulation_steps: {steps}
{more}
"""


def told(more: str = "", kind: str = "full", model: str = "meta-llama/Meta-Llama-3-8B", steps: int = 1) -> Run:
    text = FILE.format(model=model, kind=kind, steps=steps, more=more)
    return run_of(text, {"gpu_model": "A100", "gpu_mem_gib": 80, "n_gpus": 1})


def size(run: Run, term: str, phase: str = "optimizer_step") -> float:
    assert run.estimate is not None
    assert run.estimate.gpu is not None
    found = next(one for one in run.estimate.gpu.phases if one.phase == phase)
    return sum(one.bytes for one in found.terms if one.id == term) / GIB


def test_projected_moments_follow_the_table_of_the_paper() -> None:
    """GaLore, arXiv:2403.03507, table 1: mr + 2nr of a matrix of m x n, m the shorter side."""
    h, f, keys, vocab, layers, rank = 4096, 14336, 1024, 128256, 32, 128
    sides = 2 * [(h, h)] + 2 * [(keys, h)] + 3 * [(h, f)]
    moments = layers * sum(2 * n * rank for _, n in sides)
    projections = layers * sum(m * rank for m, _ in sides)
    tables = 2 * vocab * h + h  # and the last norm
    run = told("use_galore: true\ngalore_rank: 128\npure_bf16: true")
    assert size(run, "actor_optimizer") == pytest.approx((2 * moments + 2 * projections + 4 * tables) / GIB, rel=0.001)


def test_a_projection_drawn_from_a_seed_is_not_kept() -> None:
    """APOLLO, arXiv:2412.05270, table 1: 2nr."""
    stored, drawn = (told(f"use_{name}: true\n{name}_rank: 128\npure_bf16: true") for name in ("galore", "apollo"))
    assert 0 < size(drawn, "actor_optimizer") < size(stored, "actor_optimizer")


def test_a_run_of_7b_with_8_bits_and_gradients_by_layer_stays_below_24_gb() -> None:
    """The paper trains LLaMA 7B so on a card of 24 GB (arXiv:2403.03507, section 5.5: 22.0 GB at 256 tokens a batch)."""
    more = "use_galore: true\ngalore_rank: 1024\ngalore_layerwise: true\noptim: adamw_8bit\npure_bf16: true"
    run = told(more, model="meta-llama/Llama-2-7b-hf")
    assert run.estimate is not None
    assert run.estimate.gpu is not None
    assert 16 < run.estimate.gpu.peak.bytes / GIB < 24


def test_gradients_that_are_used_at_once_leave_the_largest() -> None:
    run = told("use_galore: true\ngalore_layerwise: true\npure_bf16: true")
    assert size(run, "actor_gradients") == pytest.approx(2 * 128256 * 4096 / GIB, rel=0.01)


def test_one_block_has_state_at_a_time() -> None:
    """BAdam, arXiv:2404.02827, section 2.2: 2M + 16M/D, of M parameters in D blocks."""
    layer = 218_112_000
    run = told("use_badam: true", steps=8)
    assert size(run, "actor_weights") == pytest.approx(2 * 8.03e9 / GIB, rel=0.01)
    held = size(run, "actor_optimizer") + size(run, "actor_gradients")
    assert held == pytest.approx(16 * layer / GIB, rel=0.01)


def test_frozen_layers_have_no_state_and_stay_in_16_bits() -> None:
    two, eight = told("", kind="freeze"), told("freeze_trainable_layers: 8", kind="freeze")
    assert two.facts.values["trained_layers"] == 2
    assert size(eight, "actor_optimizer") == pytest.approx(4 * size(two, "actor_optimizer"), rel=0.01)
    assert size(two, "actor_weights") < 2.2 * 8.03e9 / GIB


def test_rotations_of_a_frozen_base_are_no_full_training() -> None:
    assert size(told(kind="oft"), "actor_optimizer") < 1


def test_what_is_not_modelled_is_said_and_never_said_to_run_out() -> None:
    run = told("use_badam: true\nbadam_mode: ratio")
    assert any("not modelled" in note for note in run.facts.notes)
    assert run.estimate is not None
    assert run.estimate.gpu is not None
    assert run.estimate.gpu.peak.low < 0.6 * run.estimate.gpu.peak.bytes
    assert run.estimate.gpu.verdict() != "out"


SWIFT = "swift sft --model Qwen/Qwen2.5-7B --tuner_type full --max_length 1024 {more}"
QWEN, TABLE = 7_615_616_512, 152_064 * 3584


def swift(more: str) -> Run:
    return run_of(SWIFT.format(more=more), {"gpu_model": "A100", "gpu_mem_gib": 80, "n_gpus": 1})


def test_a_frozen_share_counts_from_the_first_tensor_and_cuts_no_table() -> None:
    """modelscope/ms-swift v4.6.0 swift/utils/transformers_utils.py: freeze_parameters."""
    half, below, above = (swift(f"--freeze_parameters_ratio {share}") for share in (0.5, 0.05, 0.95))
    assert size(half, "actor_optimizer") == pytest.approx(4 * QWEN / 2 / GIB, rel=0.001)
    assert size(below, "actor_optimizer") == pytest.approx(4 * QWEN / GIB, rel=0.001)
    assert size(above, "actor_optimizer") == pytest.approx(4 * TABLE / GIB, rel=0.001)


def test_a_backward_pass_ends_above_what_is_frozen_unless_checkpoints_ask_for_gradients_of_their_inputs() -> None:
    more = "--gradient_checkpointing false"
    whole, half = (swift(f"{more} {part}") for part in ("", "--freeze_parameters_ratio 0.5"))
    kept = [size(run, "activations", "actor_update") for run in (whole, half)]
    assert kept[1] == pytest.approx(14 / 28 * kept[0], rel=0.01)
    checkpoints = [size(swift(part), "checkpoints", "actor_update") for part in ("", "--freeze_parameters_ratio 0.5")]
    assert checkpoints[1] == checkpoints[0]


def test_layers_drawn_anew_have_gradients_alone_and_moments_with_all_others() -> None:
    """LISA, arXiv:2403.17919, as modelscope/ms-swift v4.6.0 swift/callbacks/lisa.py does it."""
    whole, two = swift(""), swift("--lisa_activated_layers 2")
    layers = 26 / 28 * (QWEN - 2 * TABLE - 3584)
    assert size(two, "actor_optimizer") == size(whole, "actor_optimizer")
    assert size(two, "actor_gradients") == pytest.approx(2 * (QWEN - layers) / GIB, rel=0.001)


def test_layers_that_are_not_drawn_keep_no_inputs_of_their_weights() -> None:
    more = "--gradient_checkpointing false"
    whole, two = (swift(f"{more} {part}") for part in ("", "--lisa_activated_layers 2"))
    assert size(two, "activations", "actor_update") < 0.9 * size(whole, "activations", "actor_update")


NAMED = """axolotl train run.yaml
base_model: Qwen/Qwen2.5-7B
sequence_len: 1024
micro_batch_size: 1
bf16: true
flash_attention: true
unfrozen_parameters:
{names}
"""


def by_name(*names: str) -> Run:
    text = NAMED.format(names="\n".join(f"  - {name}" for name in names))
    return run_of(text, {"gpu_model": "A100", "gpu_mem_gib": 80, "n_gpus": 1})


@pytest.mark.parametrize(
    ("names", "trained"),
    [
        (["^lm_head.weight$"], TABLE),
        (["^model.embed_tokens.weight$[:32000]", "^lm_head.weight$"], 2 * TABLE),
        (["model.layers.2[0-9]+.mlp"], 8 * 3 * 3584 * 18944),
        (["model.layers.(0|1).self_attn.[qk]_proj"], 2 * 3584 * (3584 + 512)),
        ([".+.mlp.down_proj.weight$"], 28 * 3584 * 18944),
    ],
)
def test_what_patterns_name_alone_is_trained(names: list[str], trained: int) -> None:
    """axolotl-ai-cloud/axolotl@067b021 src/axolotl/utils/freeze.py: freeze_layers_except."""
    run = by_name(*names)
    assert size(run, "actor_optimizer") == pytest.approx(4 * trained / GIB, rel=0.001)
    assert size(run, "actor_gradients") == pytest.approx(2 * trained / GIB, rel=0.001)
    assert size(run, "actor_weights") == pytest.approx(2 * QWEN / GIB, rel=0.001)


def test_a_backward_pass_ends_at_the_first_named_layer_unless_table_or_head_is_named() -> None:
    """axolotl-ai-cloud/axolotl@067b021 src/axolotl/train.py: setup_model_and_tokenizer."""
    some, beside = by_name("model.layers.2[0-9]+"), by_name("model.layers.2[0-9]+", "^lm_head")
    short, long = (size(run, "activations", "actor_update") for run in (some, beside))
    assert long > 2.5 * short


@pytest.mark.parametrize("name", ["(a+)+$", "model.blocks.3.attn", ".*.*.*.*x", "model.layers.[0-9]+.mlpx"])
def test_a_pattern_that_is_not_read_or_names_nothing_leaves_open_how_little_is_trained(name: str) -> None:
    run = by_name("^lm_head", name)
    assert run.estimate is not None
    assert run.estimate.gpu is not None
    step = next(one for one in run.estimate.gpu.phases if one.phase == "optimizer_step")
    adam = next(one for one in step.terms if one.id == "actor_optimizer")
    assert (adam.low, adam.bytes) == (0, pytest.approx(4 * QWEN, rel=0.001))
