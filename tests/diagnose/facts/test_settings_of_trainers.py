"""What the settings of single trainers mean: which of two blocks is on, adapters, precision, and what a name among them tells."""

from __future__ import annotations

import pytest

from diagnose.vocabulary import Value
from tests.diagnose.facts.conftest import OOM, told

# --- both trainers of NeMo-RL stand in one file, as its own examples have them
NEMO = """policy:
  model_name: meta-llama/Llama-3.1-8B
  dtensor_cfg:
    enabled: {dtensor}
    tensor_parallel_size: 2
    lora_cfg: {{enabled: {lora}, dim: 8}}
  megatron_cfg:
    enabled: {megatron}
    tensor_model_parallel_size: 4
    peft: {{enabled: {peft}, dim: 16}}
grpo:
  num_prompts_per_step: 32
"""


@pytest.mark.parametrize(
    ("dtensor", "lora", "megatron", "peft", "facts"),
    [
        ("true", "false", "false", "true", {"strategy": "fsdp2", "tp": 2, "full_or_lora": "full"}),
        ("true", "true", "false", "false", {"strategy": "fsdp2", "tp": 2, "full_or_lora": "lora", "lora_rank": 8}),
        ("false", "false", "true", "true", {"strategy": "megatron", "tp": 4, "full_or_lora": "lora", "lora_rank": 16}),
        ("false", "true", "true", "false", {"strategy": "megatron", "tp": 4, "full_or_lora": "full"}),
    ],
)
@pytest.mark.parametrize("kind", ["", "dpo: {reference_policy_kl_penalty: 0.05}\n"])
def test_of_two_trainers_in_one_file_the_settings_of_the_one_that_is_on_count(
    dtensor: str, lora: str, megatron: str, peft: str, facts: dict[str, Value], kind: str
) -> None:
    text = NEMO.format(dtensor=dtensor, lora=lora, megatron=megatron, peft=peft) + kind
    found = told(text).facts.values
    assert {id: found[id] for id in facts} == facts
    assert ("lora_rank" in found) == ("lora_rank" in facts)


@pytest.mark.parametrize(
    ("name", "bits"), [("Qwen3-30B-A3B-FP8", "fp8"), ("DeepSeek-R1", "fp8"), ("Qwen3-30B-A3B", None)]
)
def test_an_engine_of_slime_keeps_the_bits_of_its_checkpoint(name: str, bits: str | None) -> None:
    text = f"python3 train.py --hf-checkpoint /root/{name} --rollout-max-response-len 8192 --sglang-mem-fraction-static 0.7 --colocate"
    assert told(text).facts.values.get("engine_quantization") == bits


@pytest.mark.parametrize(
    ("modules", "layers"),
    [
        ('["gate_proj", "up_proj", "down_proj"]', "mlp"),
        ('["q_proj", "gate_proj", "up_proj", "down_proj"]', "all_linear"),
        ('["q_proj", "k_proj", "v_proj", "o_proj"]', "attention"),
        ('"all-linear"', "all_linear"),
    ],
)
@pytest.mark.parametrize(
    "trainer", ["from trl import SFTTrainer\nLoraConfig(r=16, target_modules={})", "lora_target_modules: {}"]
)
def test_adapters_are_on_the_layers_of_the_list(modules: str, layers: str, trainer: str) -> None:
    assert told(trainer.format(modules)).facts.values["lora_layers"] == layers


@pytest.mark.parametrize(
    ("version", "more", "precision"),
    [
        ("0.17.0", "", "fp32"),
        ("0.17.0", "bf16=True", "mixed"),
        ("0.17.0", "model_init_kwargs={'torch_dtype': 'bfloat16'}", "bf16"),
        ("0.19.1", "", "mixed"),
    ],
)
def test_before_its_default_was_bf16_trl_computes_in_fp32_unless_asked_otherwise(
    version: str, more: str, precision: str
) -> None:
    text = f"trl=={version}\nfrom trl import GRPOConfig\nargs = GRPOConfig(per_device_train_batch_size=8, {more})\none A100 80GB\n"
    assert told(text + OOM).facts.values["precision"] == precision


def test_of_several_cards_nobody_says_that_the_launcher_asks_for_no_bf16() -> None:
    text = "trl==0.17.0\nfrom trl import GRPOConfig\nargs = GRPOConfig(per_device_train_batch_size=8)\n8x A100 80GB\n"
    assert told(text + OOM).facts.values["precision"] == "mixed"


def test_a_recipe_and_its_configuration_are_known_by_their_names() -> None:
    values = told("tune run full_finetune_single_device --config llama3_1/8B_full_single_device\n" + OOM).facts.values
    expected = {
        "algo": "sft",
        "optimizer": "paged_adamw_8bit",
        "gradients_by_layer": True,
        "precision": "bf16",
        "micro_batch": 2,
    }
    assert {id: values.get(id) for id in expected} == expected


FRAMES = {
    "eval": """  File "/x/trl/trainer/grpo_trainer.py", line 1255, in prediction_step
    loss = self.compute_loss(model, inputs)
  File "/x/trl/trainer/grpo_trainer.py", line 1210, in _compute_loss
""",
    "optimizer_step": """  File "/x/transformers/trainer.py", line 2560, in _inner_training_loop
    self.optimizer.step()
  File "/x/torch/optim/adam.py", line 168, in _init_group
    state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
""",
    "load": """  File "/x/accelerate/accelerator.py", line 1704, in prepare_model
    model = model.to(self.device)
""",
    "rollout": """  File "ppo.py", line 133, in <module>
    response_tensors = ppo_trainer.generate(query_tensors, return_prompt=False)
  File "/x/trl/trainer/ppo_trainer.py", line 466, in generate
""",
}


@pytest.mark.parametrize("phase", FRAMES)
def test_a_frame_tells_the_phase(phase: str) -> None:
    assert told("trl Qwen2.5-7B\n" + FRAMES[phase] + OOM).phase == phase


def test_a_state_that_is_read_back_fails_before_the_first_step() -> None:
    text = """SFTTrainer Qwen2.5-7B
  File "/x/transformers/trainer.py", line 3301, in _load_optimizer_and_scheduler
    self.optimizer.load_state_dict(torch.load(path, map_location=map_location))
"""
    assert told(text + OOM).phase == "load"


def test_the_teacher_of_a_distillation_stands_beside_the_student() -> None:
    text = 'GKDTrainer(model="Qwen/Qwen2-0.5B-Instruct", teacher_model="Qwen/Qwen2-7B-Instruct", args=GKDConfig(bf16=True))\n'
    found = told(text + "one A100 80GB\n" + OOM)
    assert found.estimate.gpu
    update = next(one for one in found.estimate.gpu.phases if one.phase == "actor_update")
    assert next(term for term in update.terms if term.id == "ref_weights").bytes == pytest.approx(4 * 7.6e9, rel=0.1)


@pytest.mark.parametrize(
    ("launch", "strategy"), [("torchrun --nproc_per_node=4 train_sft.py", "ddp"), ("python train_sft.py", "none")]
)
def test_layers_are_spread_where_one_process_sees_all_cards(launch: str, strategy: str) -> None:
    text = f"""{launch}
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-14B-Instruct", device_map="auto")
trainer = SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=1))
4x A100 80GB
"""
    assert told(text + OOM).facts.values["strategy"] == strategy


def test_a_model_is_named_by_its_checkpoint_of_megatron() -> None:
    text = "NPROC_PER_NODE=8 megatron sft --load Qwen3-30B-A3B-Base-mcore --micro_batch_size 8 --max_length 8192\n"
    found = told(text + OOM)
    assert found.facts.model
    assert found.facts.model.moe


@pytest.mark.parametrize(
    ("recipe", "algo", "training"),
    [
        ("lora_dpo_single_device --config llama3_1/8B_lora_dpo_single_device", "dpo", "lora"),
        ("lora_finetune_single_device --config llama3_1/8B_qlora_single_device", "sft", "qlora"),
        ("full_finetune_distributed --config llama3_1/8B_full", "sft", "full"),
    ],
)
def test_a_recipe_says_what_it_trains(recipe: str, algo: str, training: str) -> None:
    values = told(f"tune run {recipe}\none RTX 4090\n{OOM}").facts.values
    assert (values["algo"], values["full_or_lora"]) == (algo, training)
