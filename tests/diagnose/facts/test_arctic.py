"""ArcticTraining's one file: snowflakedb/ArcticTraining b28638e."""

from __future__ import annotations

from tests.diagnose.facts.conftest import told

FILE = """arctic_training run-h100-sp8-llama-8b.yml
type: sft
micro_batch_size: 1
activation_checkpoint_cpu_offload: true
tiled_mlp_compute: true
sequence_parallel_size: 8
deepspeed:
  zero_optimization:
    stage: 3
    offload_optimizer:
      device: cpu
optimizer:
  type: cpu_adam
model:
  type: "liger"
  name_or_path: meta-llama/Llama-3.1-8B-Instruct
data:
  max_length: 3_800_000
"""


def test_its_keys_are_read() -> None:
    values = told(FILE).facts.values
    expected = {
        "framework": "arctic-training",
        "zero_stage": 3,
        "optimizer_on_cpu": True,
        "sp": 8,
        "max_length": 3_800_000,
        "activation_offload": True,
        "mlp_parts_by_width": True,
        "logits_chunked": True,
        "fused_layers": "norms_and_mlp",
        "gradient_checkpointing": True,
        "precision": "mixed",
    }
    assert {id: values.get(id) for id in expected} == expected


def test_it_recomputes_unless_its_file_says_otherwise() -> None:
    text = FILE.replace('type: "liger"', "disable_activation_checkpoint: true")
    assert str(told(text).facts.values["gradient_checkpointing"]).lower() == "false"
