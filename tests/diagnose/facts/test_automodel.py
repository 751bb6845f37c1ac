"""NeMo AutoModel: one YAML file whose keys stand in blocks by what they are of."""

from __future__ import annotations

from diagnose.units import GIB
from tests.diagnose.facts.conftest import told

LORA = """automodel examples/llm_finetune/qwen/qwen3_lora.yaml --nproc-per-node 8
step_scheduler:
  global_batch_size: 64
  local_batch_size: 2
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: Qwen/Qwen3-8B
peft:
  _target_: nemo_automodel.components._peft.lora.PeftConfig
  dim: 16
distributed:
  strategy: fsdp2
  tp_size: 2
  activation_checkpointing: true
loss_fn:
  _target_: nemo_automodel.components.loss.linear_ce.FusedLinearCrossEntropy
dataset:
  _target_: nemo_automodel.components.datasets.llm.squad.make_squad_dataset
  dataset_name: llamafactory/glaive_toolcall_en
  seq_length: 4096
"""
FULL = """automodel examples/llm_finetune/llama3_2/llama3_2_1b_squad.yaml --nproc-per-node 8
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: meta-llama/Llama-3.2-1B
distributed:
  strategy: fsdp2
"""


def test_batches_parallel_sizes_adapters_and_the_loss_are_read() -> None:
    values = told(LORA).facts.values
    assert values["framework"] == "nemo-automodel"
    expected = {"micro_batch": 2, "full_or_lora": "lora", "lora_rank": 16, "strategy": "fsdp2", "tp": 2}
    expected |= {"gradient_checkpointing": True, "logits_chunked": True, "max_length": 4096, "precision": "bf16"}
    assert {id: values.get(id) for id in expected} == expected


def test_all_parameters_are_fp32_where_no_type_is_asked_for() -> None:
    full = told(FULL)
    assert full.facts.values["precision"] == "mixed"
    halved = told(FULL.replace("Llama-3.2-1B", "Llama-3.2-1B\n  torch_dtype: bfloat16"))
    assert halved.facts.values["precision"] == "bf16"
    sizes = [
        next(term.bytes for term in one.estimate.gpu.phase("optimizer_step").terms if term.id == "actor_optimizer")
        for one in (full, halved)
        if one.estimate is not None and one.estimate.gpu is not None
    ]
    assert sizes[0] == 2 * sizes[1] > GIB


def test_a_trainer_inside_nemo_rl_stays_nemo_rl() -> None:
    text = "uv run examples/run_dpo.py\npolicy:\n  dtensor_cfg:\n    automodel_kwargs:\n      backend:\n"
    text += "        _target_: nemo_automodel.components.models.common.utils.BackendConfig\n"
    assert told(text).facts.values["framework"] == "nemo-rl"


def test_the_row_that_samples_are_packed_into_is_read() -> None:
    packed = FULL + "packed_sequence:\n  max_length: 4096\n  pack_size: 8192\n"
    assert told(packed).facts.values["max_length"] == 8192
    assert told(FULL + "packed_sequence:\n  packed_sequence_size: 4096\n").facts.values["max_length"] == 4096


def test_a_row_of_no_tokens_packs_none() -> None:
    assert "max_length" not in told(FULL + "packed_sequence:\n  packed_sequence_size: 0\n").facts.values
