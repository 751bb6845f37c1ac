"""What trainers print when they start, held against the command or the file of the same run."""

from __future__ import annotations

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current

OOM = "\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB."


def values(text):
    return read_facts(read(text + OOM), {}, current()).values


@pytest.mark.parametrize(
    ("line", "cards", "each"),
    [
        ("[INFO:swift] rank: 0, local_rank: 0, world_size: 16, local_world_size: 8", 16, 8),
        ("rank: 3, local_rank: 3, world_size: 4, local_world_size: 4", 4, 4),
        ("[INFO|2025-07-01 12:00:01] llamafactory.hparams.parser:406 >> Process rank: 0, world size: 4, device: cuda:0, "
         "distributed training: True, compute dtype: torch.bfloat16", 4, None),
    ],
)  # fmt: skip
def test_each_process_has_a_card(line, cards, each):
    found = values(f"{line}\nSFT of Qwen2.5-7B")
    assert (found["n_gpus"], found.get("gpus_per_node")) == (cards, each)


@pytest.mark.parametrize(
    "line",
    [
        "[INFO:swift] rank: -1, local_rank: -1, world_size: 1, local_world_size: 1",
        "llamafactory.hparams.parser:406 >> Process rank: 0, world size: 1, device: cuda:0, distributed training: False",
    ],
)
def test_a_process_alone_may_have_several(line):
    assert "n_gpus" not in values(f"{line}\nSFT of Qwen2.5-7B")


def test_words_outrank_the_processes():
    line = "[INFO:swift] rank: 0, local_rank: 0, world_size: 4, local_world_size: 4"
    assert values(f"{line}\nSFT of Qwen2.5-7B on 8 x A100 80GB")["n_gpus"] == 8


@pytest.mark.parametrize(
    "text",
    [
        "[INFO|2025-07-01] llamafactory.model.adapter:143 >> Fine-tuning method: LoRA\nQuantizing model to 4 bit with bitsandbytes.",
        "[INFO|2025-07-01] llamafactory.model.adapter:143 >> Fine-tuning method: LoRA\nQuantizing model to 8 bit with bitsandbytes.",
        "axolotl\nload_in_8bit: true\nadapter: lora\nlora_r: 16",
        "axolotl\nadapter: lora\nload_in_8bit: true\nlora_r: 16",
    ],
)
def test_adapters_on_a_base_of_few_bits_are_qlora_in_whatever_order(text):
    assert values(text)["full_or_lora"] == "qlora"


@pytest.mark.parametrize(
    ("written", "place"), [("auto", "server"), ("['auto']", "server"), ("['cuda:0']", "colocated")]
)
def test_a_list_of_one_says_what_that_one_does(written, place):
    text = f"ms-swift==3.4.0\nRLHFArguments(rlhf_type='grpo', model='Qwen/Qwen2.5-7B', use_vllm=True, vllm_device={written})"
    assert values(text)["rollout_mode"] == place


def test_the_place_of_an_engine_that_is_off_is_none():
    line = "[INFO:swift] rank: 0, local_rank: 0, world_size: 4, local_world_size: 4"
    off = f"ms-swift==3.4.0\n{line}\nRLHFArguments(rlhf_type='dpo', model='Qwen/Qwen2.5-7B', use_vllm=False, vllm_device=['auto'])"
    assert values(off)["rollout_mode"] == "colocated"


SWIFT_2 = "ms-swift==2.6.1\n[INFO:swift] args: SftArguments(model_type='{}', sft_type='{}', target_modules={})"


@pytest.mark.parametrize(
    ("modules", "layers"),
    [
        ("['DEFAULT']", "query_key_value"),
        ("['ALL']", "all_linear"),
        ("['down_proj', 'gate_proj', 'k_proj', 'o_proj', 'q_proj', 'up_proj', 'v_proj']", "all_linear"),
    ],
)
def test_the_second_version_of_ms_swift_prints_its_modules_as_a_list(modules, layers):
    assert values(SWIFT_2.format("qwen2-7b-instruct", "lora", modules))["lora_layers"] == layers


def test_the_second_version_of_ms_swift_trains_the_tower_as_well():
    assert values(SWIFT_2.format("qwen2-vl-7b-instruct", "full", "['DEFAULT']"))["freeze_vision"] is False
    assert (
        values("ms-swift==3.4.0\nswift sft --model Qwen/Qwen2.5-VL-7B-Instruct --train_type full")["freeze_vision"]
        is True
    )


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("[INFO|2025-07-01 12:00:01] llamafactory.model.loader:143 >> a", "0.9.2"),
        ("07/01/2024 12:00:01 - INFO - llamafactory.model.loader - a", "0.8"),
    ],
)
def test_the_form_of_the_log_bounds_the_version(line, version):
    assert str(values(f"llamafactory-cli train a.yaml\n{line}")["framework_version"]).startswith(version)


AXOLOTL = """[2025-06-30 12:00:00,123] [DEBUG] [axolotl.cli.config.load_cfg:248] [PID:1234] [RANK:0] config:
{
  "adapter": "lora",
  "base_model": "NousResearch/Meta-Llama-3-8B",
  "load_in_4bit": false,
  "lora_r": 32,
  "micro_batch_size": 2,
  "sequence_len": 4096,
  "world_size": 4
}"""


def test_axolotl_prints_how_many_processes_train():
    found = values(AXOLOTL)
    assert (found["n_gpus"], found["full_or_lora"]) == (4, "lora")


TUNE = """INFO:torchtune.utils._logging:Running {} with resolved config:

batch_size: 2
model:
  _component_: torchtune.models.llama3_1.{}
  apply_lora_to_mlp: {}
  lora_attn_modules:
  - q_proj
  - v_proj
  - output_proj
  lora_rank: 8
tokenizer:
  max_seq_len: 1024
"""


@pytest.mark.parametrize(
    ("recipe", "algo"),
    [
        ("LoRADPORecipeDistributed", "dpo"),
        ("LoRAFinetuneRecipeDistributed", "sft"),
        ("PPOFullFinetuneRecipeSingleDevice", "ppo"),
    ],
)
def test_torchtune_prints_its_recipe(recipe, algo):
    found = values(TUNE.format(recipe, "lora_llama3_1_8b", "true"))
    assert found["algo"] == algo
    assert (found.get("zero_stage"), found.get("gpus_per_node")) == (
        (3, None) if "Distributed" in recipe else (None, 1)
    )


@pytest.mark.parametrize(("mlp", "layers"), [("true", "all_linear"), ("false", "attention")])
def test_torchtune_prints_its_keys_in_alphabetical_order(mlp, layers):
    assert values(TUNE.format("LoRAFinetuneRecipeDistributed", "lora_llama3_1_8b", mlp))["lora_layers"] == layers


@pytest.mark.parametrize(
    ("builder", "training", "bits"), [("lora_llama3_1_8b", "lora", None), ("qlora_llama3_1_8b", "qlora", "nf4")]
)
def test_a_file_that_a_comment_names_is_not_the_runs(builder, training, bits):
    comment = (
        "# For single device LoRA finetuning please use 8B_lora_single_device.yaml\n# or 8B_qlora_single_device.yaml\n"
    )
    found = values(comment + TUNE.format("LoRAFinetuneRecipeDistributed", builder, "true"))
    assert (found["full_or_lora"], found.get("quantization")) == (training, bits)


@pytest.mark.parametrize(
    ("recipe", "recomputes"),
    [
        ("full_finetune_distributed", True),
        ("lora_finetune_single_device", True),
        ("lora_finetune_distributed", None),
        ("qat_lora_finetune_distributed", False),
    ],
)
def test_only_what_the_files_of_a_recipe_agree_on_is_taken_of_them(recipe, recomputes):
    found = values(f"tune run {recipe} --config llama3_1/8B_lora")
    assert found.get("gradient_checkpointing") is recomputes


AREAL = """actor:
  backend: {}
  path: Qwen/Qwen2.5-7B
  megatron:
    use_precision_aware_optimizer: true
    exp_avg_dtype: bfloat16
    recompute_granularity: selective
  mb_spec:
    max_tokens_per_mb: 10240
allocation_mode: null"""


@pytest.mark.parametrize(("backend", "moment"), [("megatron:d4", "bf16"), ("fsdp:d4", None)])
def test_areal_saves_the_settings_of_a_trainer_that_it_does_not_use(backend, moment):
    found = values(AREAL.format(backend))
    assert (found.get("first_moment"), found.get("precision_aware_optimizer")) == (moment, True if moment else None)


ROLL = """python examples/start_rlvr_pipeline.py --config_name rlvr_config
(actor_train-0 pid=21500, ip=10.0.0.12) [2026-06-01 10:01:22] [megatron_strategy.py (112)] [INFO] training_args: """
ARGUMENTS = "{{'per_device_train_batch_size': {}, 'gradient_accumulation_steps': {}, 'tensor_model_parallel_size': {}}}"


@pytest.mark.parametrize("other", ["reference-0", "critic-3", "reward-math_rule-0", "\x1b[36m(reference-0"])
def test_what_the_worker_of_another_role_prints_is_not_the_trained_ones(other):
    line = f"({other}" if other[0] != "\x1b" else other
    text = (
        ROLL
        + ARGUMENTS.format(1, 32, 2)
        + f"\n{line} pid=21611, ip=10.0.0.12) training_args: "
        + ARGUMENTS.format(8, 1, 4)
    )
    found = values(text)
    assert (found["micro_batch"], found["gradient_accumulation"], found["tp"]) == (1, 32, 2)


BOARD = """llamafactory webui
top.finetuning_type: lora
top.model_name: Qwen2.5-7B-Instruct
top.quantization_bit: {}
train.batch_size: 2
train.cutoff_len: 4096
train.ds_offload: true
train.ds_stage: {}
train.gradient_accumulation_steps: 16
train.lora_rank: 32"""


@pytest.mark.parametrize(
    ("bits", "stage", "told"),
    [
        ("none", "'3'", ("lora", 3, True, True)),
        ("'4'", "none", ("qlora", 0, False, False)),
        ("none", "'2'", ("lora", 2, False, True)),
    ],
)
def test_what_llama_factorys_web_interface_saves_is_read(bits, stage, told):
    found = values(BOARD.format(bits, stage))
    assert (found["micro_batch"], found["max_length"], found["gradient_accumulation"], found["lora_rank"]) == (
        2,
        4096,
        16,
        32,
    )
    assert tuple(found[id] for id in ("full_or_lora", "zero_stage", "param_on_cpu", "optimizer_on_cpu")) == told
